"""Merging runs: the order runs merge in, system columns, deletes, and rows that pass through."""

from collections.abc import Sequence

import pyarrow as pa
import pytest

from keyfold.merge import column_results, window
from keyfold.merge.buffer import fold_unsorted
from keyfold.merge.kinds import SEQUENCE_NUMBER, VALUE_KIND
from keyfold.merge.plan import plan_merge
from keyfold.merge.run import merge_runs
from keyfold.merge.sorted_run import SortedRun, sequences_overlap
from keyfold.testing.tables import batch, layout, parse, records, render
from keyfold.wire.layout import TableLayout

KV = layout({"k": "INT", "v": "STRING"}, ["k"])
SUM = layout(
    {"k": "INT", "v": "INT"},
    ["k"],
    {"merge-engine": "aggregation", "fields.v.aggregate-function": "sum"},
)
LATEST = layout({"k": "INT", "s": "INT", "v": "STRING"}, ["k"], {"sequence.field": "s"})


def merged(
    table: TableLayout,
    *texts: str,
    sequences: Sequence[tuple[int, int]] | None = None,
    numbers: Sequence[Sequence[int]] | None = None,
    drop_deletes: bool = True,
) -> str:
    """The merged rows of runs given as text, as text."""
    ranges = sequences or [(i, i) for i in range(len(texts))]
    parts = [batch(table, parse(table, text)) for text in texts]
    if numbers is not None:
        parts = [
            part.append_column(SEQUENCE_NUMBER, pa.array(own, pa.int64()))
            for part, own in zip(parts, numbers, strict=True)
        ]
    runs = [SortedRun(iter([part]), own) for part, own in zip(parts, ranges, strict=True)]
    merge = plan_merge(table, [column.name for column in table.columns])
    out = list(merge_runs(merge, runs, system_columns=not drop_deletes, drop_deletes=drop_deletes))
    return render(records(out))


def test_the_last_run_wins_wherever_it_stands_in_the_list() -> None:
    assert merged(KV, "+I 1 a | +I 2 b", "+I 1 c | +I 3 d") == "+I 1 c | +I 2 b | +I 3 d"
    swapped = merged(KV, "+I 1 a | +I 2 b", "+I 1 c | +I 3 d", sequences=[(5, 9), (1, 4)])
    assert swapped == "+I 1 a | +I 2 b | +I 3 d"


def test_sequence_numbers_decide_where_ranges_overlap() -> None:
    texts, ranges = ("+I 1 a | +I 2 b", "+I 1 c | +I 2 d"), [(3, 8), (4, 7)]
    assert sequences_overlap(ranges)
    assert merged(KV, *texts, sequences=ranges, numbers=[[3, 8], [4, 7]]) == "+I 1 c | +I 2 b"
    assert merged(KV, *texts, sequences=ranges) == "+I 1 a | +I 2 b", "else the greater range"
    assert not sequences_overlap([(5, 9), (1, 4)])
    assert sequences_overlap([(1, 4), (4, 9)])


def test_equal_numbers_merge_retractions_first_then_by_run() -> None:
    ranges, numbers = [(1, 2), (1, 2)], [[1, 2], [1, 2]]
    found = merged(KV, "+I 1 a | +I 2 b", "-D 1 a | +U 2 c", sequences=ranges, numbers=numbers)
    assert found == "+I 1 a | +I 2 c"


def test_sequence_field_wins_over_run_order_and_ties_go_to_the_later_run() -> None:
    texts = ("+I 1 5 a | +I 2 5 b | +I 3 null c", "+I 1 4 x | +I 2 5 y | +I 3 0 z")
    assert merged(LATEST, *texts) == "+I 1 5 a | +I 2 5 y | +I 3 0 z"


def test_deletes_hide_rows_or_stay_with_their_kind() -> None:
    texts = ("+I 1 a | +I 2 b | +I 3 c", "-D 1 a | -U 2 b | -D 4 d")
    assert merged(KV, *texts) == "+I 3 c"
    assert merged(KV, *texts, drop_deletes=False) == "-D 1 a | -U 2 b | +I 3 c | -D 4 d"


def test_a_lone_record_keeps_its_kind_and_several_become_an_insert() -> None:
    texts = ("+I 1 5 | -D 2 8 | +U 3 1", "-D 1 2 | +I 4 4")
    assert merged(SUM, *texts, drop_deletes=False) == "+I 1 3 | -D 2 8 | +U 3 1 | +I 4 4"
    assert merged(SUM, "-D 1 5", "-D 1 3") == "+I 1 -8"


def test_system_columns_tell_the_last_merged_record() -> None:
    first = batch(KV, parse(KV, "+I 1 a | +I 2 b"))
    second = batch(KV, parse(KV, "+U 2 c | +I 9 d")).drop_columns([VALUE_KIND])
    numbered = first.append_column(SEQUENCE_NUMBER, pa.array([3, 4], pa.int64()))
    runs = [SortedRun(iter([numbered]), (3, 4)), SortedRun(iter([second]), (7, 9))]
    out = pa.Table.from_batches(merge_runs(plan_merge(KV, ["v"]), runs, system_columns=True))
    assert out.to_pydict() == {
        "v": ["a", "c", "d"],
        SEQUENCE_NUMBER: [3, 9, 9],
        VALUE_KIND: [0, 0, 0],
    }


def test_ranges_that_do_not_meet_pass_through_without_a_copy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(window, "ROUND_ROWS", 2)
    low, high = (batch(KV, parse(KV, text)) for text in ("+I 1 a | +I 2 b", "+I 5 c | +I 6 d"))
    runs = [SortedRun(iter([high]), (1, 1)), SortedRun(iter([low]), (2, 2))]
    out = list(merge_runs(plan_merge(KV, ["k", "v"]), runs))
    assert [part.column("k").to_pylist() for part in out] == [[1, 2], [5, 6]]
    assert out[0].column("v").buffers()[2].address == low.column("v").buffers()[2].address


def test_no_output_columns_still_count_rows() -> None:
    parts = [batch(KV, parse(KV, text)) for text in ("+I 1 a | +I 2 b", "+I 2 c | +I 3 d")]
    runs = [SortedRun(iter([part]), (i, i)) for i, part in enumerate(parts)]
    assert sum(part.num_rows for part in merge_runs(plan_merge(KV, []), runs)) == 3
    single = [SortedRun(iter(parts[:1]), (0, 0))]
    assert sum(part.num_rows for part in merge_runs(plan_merge(KV, []), single)) == 2
    assert list(merge_runs(plan_merge(KV, []), [])) == []


def test_a_buffer_folds_in_order_of_arrival_or_of_its_ordinal() -> None:
    part = batch(KV, parse(KV, "+I 2 a | +I 1 b | +I 2 c | -D 3 d"))
    merge = plan_merge(KV, ["k", "v"])
    assert render(records(fold_unsorted(merge, [part]))) == "+I 1 b | +I 2 c | -D 3 d"
    ordered = part.append_column("_ORDINAL", pa.array([9, 2, 3, 4], pa.int64()))
    out = fold_unsorted(merge, [ordered.slice(0, 3), ordered.slice(3)], ordinal="_ORDINAL")
    assert render(records(out)) == "+I 1 b | +I 2 a | -D 3 d"
    assert out[0].column(SEQUENCE_NUMBER).to_pylist() == [2, 9, 4]
    assert out[0].schema.names == ["k", "v", SEQUENCE_NUMBER, VALUE_KIND]
    assert fold_unsorted(merge, []) == []


def test_text_beyond_32_bit_offsets_folds_into_batches_of_few_bytes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(column_results, "MOST_BYTES", 100)
    monkeypatch.setattr(column_results, "BATCH_BYTES", 400)
    rows = [(0, {"k": k % 50, "v": "x" * k}) for k in range(100)]
    out = fold_unsorted(plan_merge(KV, ["k", "v"]), [batch(KV, rows[:70]), batch(KV, rows[70:])])
    assert records(out) == rows[50:]
    assert {part.schema.field("v").type for part in out} == {pa.utf8()}
    assert max(part.num_rows for part in out) < 10


@pytest.mark.parametrize("function", ["listagg", "last_value", "max"])
def test_runs_with_text_beyond_32_bit_offsets_merge_as_others_do(
    monkeypatch: pytest.MonkeyPatch, function: str
) -> None:
    options = {"merge-engine": "aggregation", "fields.v.aggregate-function": function}
    table = layout({"k": "INT", "v": "STRING"}, ["k"], options)
    made = plan_merge(table, ["k", "v"])

    def out() -> list[pa.RecordBatch]:
        part = batch(table, [(0, {"k": k, "v": "x" * k}) for k in range(1, 50)])
        return list(merge_runs(made, [SortedRun(iter([part]), (i, i)) for i in range(3)]))

    expected = records(out())
    monkeypatch.setattr(column_results, "MOST_BYTES", 100)
    monkeypatch.setattr(column_results, "BATCH_BYTES", 400)
    found = out()
    assert records(found) == expected
    assert len(found) > 2
    assert all(part.schema.equals(made.schema) for part in found)


@pytest.mark.parametrize(
    ("option", "expected"),
    [("ignore-delete", "+I 1 a"), ("ignore-update-before", "-D 1 a"), ("bucket", "-U 1 a")],
)
def test_dropped_kinds_never_reach_a_file(option: str, expected: str) -> None:
    value = "1" if option == "bucket" else "true"
    table = layout({"k": "INT", "v": "STRING"}, ["k"], {option: value})
    text = "+I 1 a | -D 1 a | -U 1 a"
    out = fold_unsorted(plan_merge(table, ["k", "v"]), [batch(table, parse(table, text))])
    assert render(records(out)) == expected


def test_ignore_delete_also_covers_files_written_without_it() -> None:
    table = layout({"k": "INT", "v": "STRING"}, ["k"], {"ignore-delete": "true"})
    assert merged(table, "+I 1 a | -D 2 b", "-D 1 a | +I 3 c", "-U 1 a") == "+I 1 a | +I 3 c"
    assert merged(table, "-D 1 a", "-U 1 b", drop_deletes=False) == ""
