"""first-row as text, and Fluss' versioned engine, which is deduplicate by a version."""

import pyarrow as pa
import pytest

from keyfold.errors import TableError
from keyfold.merge.buffer import fold_unsorted
from keyfold.merge.kinds import SEQUENCE_NUMBER
from keyfold.merge.plan import check, plan_merge
from keyfold.merge.run import merge_runs
from keyfold.merge.sorted_run import SortedRun
from keyfold.options.names import normalize
from keyfold.testing.tables import batch, layout, parse, records, render
from keyfold.wire.layout import TableLayout

COLUMNS = {"k": "INT", "v": "INT", "s": "STRING"}
VERSIONED = {
    "table.merge-engine": "versioned",
    "table.merge-engine.versioned.ver-column": "v",
}


def table(options: dict[str, str]) -> TableLayout:
    return layout(COLUMNS, ["k"], normalize({"merge-engine": "first-row"} | options))


def read(found: TableLayout, *texts: str) -> str:
    """What a reader sees when each text was one job."""
    merge = plan_merge(found, list(COLUMNS))
    parts = [fold_unsorted(merge, [batch(found, parse(found, text))]) for text in texts]
    runs = [SortedRun(iter(part), (i, i)) for i, part in enumerate(parts)]
    return render(records(list(merge_runs(merge, runs))))


def test_the_first_record_stays_with_its_nulls() -> None:
    assert read(table({}), "+I 1 null a | +U 1 2 b", "+I 1 3 c | +U 2 4 d") == (
        "+I 1 null a | +I 2 4 d"
    )


def test_an_ordinal_of_the_winner_goes_with_it() -> None:
    found = table({})
    part = batch(found, parse(found, "+I 1 1 a | +I 1 2 b"))
    ordered = part.append_column("_ORDINAL", pa.array([7, 5]))
    (out,) = fold_unsorted(plan_merge(found, ["k", "s"]), [ordered], ordinal="_ORDINAL")
    assert out.column("s").to_pylist() == ["b"]
    assert out.column(SEQUENCE_NUMBER).to_pylist() == [5]


@pytest.mark.parametrize("text", ["+I 1 1 a | -D 1 1 a", "-U 2 1 a", "-D 2 1 a"])
def test_retractions_are_refused_even_alone(text: str) -> None:
    words = "First row merge engine can not accept DELETE/UPDATE_BEFORE records"
    with pytest.raises(TableError, match=words):
        read(table({}), text)


def test_ignored_retractions() -> None:
    texts = ("+I 1 1 a", "-U 1 1 a | +U 1 2 b | +I 2 3 c")
    assert read(table({"ignore-update-before": "true"}), *texts) == "+I 1 1 a | +I 2 3 c"
    assert read(table({"first-row.ignore-delete": "true"}), *texts, "-D 1 1 a") == (
        "+I 1 1 a | +I 2 3 c"
    )
    with pytest.raises(TableError, match="DELETE/UPDATE_BEFORE"):
        read(table({"ignore-update-before": "true"}), *texts, "-D 1 1 a")


def test_files_from_before_an_option_was_set() -> None:
    parts = ["-D 1 1 a | +I 2 1 b | -U 4 1 x", "+I 1 2 c | -D 2 2 d", "+I 3 3 e"]
    for option, result in (
        ({}, None),
        ({"ignore-delete": "true"}, "+I 1 2 c | +I 2 1 b | +I 3 3 e"),
    ):
        found = table(option)
        runs = [
            SortedRun(iter([batch(found, parse(found, text))]), (i, i))
            for i, text in enumerate(parts)
        ]
        merged = merge_runs(plan_merge(found, list(COLUMNS)), runs)
        if result is None:
            with pytest.raises(TableError, match="DELETE/UPDATE_BEFORE"):
                list(merged)
        else:
            assert render(records(list(merged))) == result


def test_no_sequence_field() -> None:
    with pytest.raises(TableError, match="use sequence field on FIRST_ROW merge engine"):
        check(table({"sequence.field": "v"}))


def test_a_null_version_is_the_least_and_equal_versions_replace() -> None:
    found = layout(COLUMNS, ["k"], normalize(VERSIONED))
    assert read(found, "+I 1 5 a", "+I 1 5 b", "+I 1 4 c", "+I 1 null d") == "+I 1 5 b"
    assert read(found, "+I 1 null a", "+I 1 null b") == "+I 1 null b"
    assert read(found, "+I 1 -2147483648 a", "+I 1 null b") == "+I 1 null b"
    assert read(found, "+I 1 null a", "+I 1 -2147483648 b", "-D 1 9 c") == "+I 1 -2147483648 b"


def test_a_disabled_delete_is_refused_and_update_before_dropped() -> None:
    for engine in ("first_row", "aggregation"):
        options = normalize({"table.merge-engine": engine, "table.delete.behavior": "disable"})
        found = layout(COLUMNS, ["k"], options)
        assert read(found, "+I 1 1 a", "-U 1 1 a") == "+I 1 1 a"
        with pytest.raises(TableError, match="Delete operations are disabled for this table"):
            read(found, "-D 1 1 a")
