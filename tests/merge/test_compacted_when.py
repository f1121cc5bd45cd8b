"""Results that depend on what was compacted when: the lines of the table in docs/engines.md.

Each case is read as it was written, a file a text, and with everything compacted after each write;
Paimon answers the same way in both.
"""

import re
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pytest

import keyfold
from keyfold.compact.kept_deletes import NONE, first_kept
from keyfold.errors import TableError
from keyfold.merge.buffer import fold_unsorted
from keyfold.merge.kinds import SEQUENCE_NUMBER
from keyfold.merge.plan import plan
from keyfold.merge.run import merge_runs
from keyfold.merge.sorted_run import SortedRun
from keyfold.testing.tables import batch, layout, parse, records, render
from keyfold.wire.layout import TableLayout

COLUMNS = {"k": "INT", "s": "INT", "v": "STRING"}
LATEST = {"sequence.field": "s"}
AGGREGATION = {"merge-engine": "aggregation"}
PARTIAL = {"merge-engine": "partial-update"}
REMOVING = PARTIAL | {"partial-update.remove-record-on-delete": "true"}
GROUP = PARTIAL | {"fields.s.sequence-group": "v"}


def function(name: str) -> dict[str, str]:
    return {"fields.v.aggregate-function": name}


def merged(
    found: TableLayout,
    runs: Sequence[list[pa.RecordBatch]],
    drop_deletes: bool = True,
    has_oldest: bool = True,
) -> list[pa.RecordBatch]:
    """One run of several, as a reader or a compaction of all files makes it, or of some."""
    sources = [SortedRun(iter(run), (i, i)) for i, run in enumerate(runs)]
    merge = plan(found, list(COLUMNS), marks=not has_oldest)
    flags = {"drop_deletes": drop_deletes, "has_oldest": has_oldest}
    out = list(merge_runs(merge, sources, system_columns=True, **flags))
    return [part.drop_columns([SEQUENCE_NUMBER]) for part in out]


def both(options: dict[str, str], *texts: str) -> tuple[str, str]:
    """What a reader sees without any compaction, and with one after each write."""
    found = layout(COLUMNS, ["k"], options)
    merge = plan(found, list(COLUMNS))
    runs = [fold_unsorted(merge, [batch(found, parse(found, text))]) for text in texts]
    stored: list[pa.RecordBatch] = []
    for run in runs:
        stored = merged(found, [stored, run], first_kept(merge.options) == NONE)
    return render(records(merged(found, runs))), render(records(merged(found, [stored])))


@pytest.mark.parametrize(
    ("name", "as_written", "compacted"),
    [
        ("first_value", "+I 1 6 a", "+I 1 6 b"),
        ("first_non_null_value", "+I 1 6 a", "+I 1 6 b"),
    ],
)
def test_a_late_record_under_sequence_field_with_first_value(
    name: str, as_written: str, compacted: str
) -> None:
    options = AGGREGATION | LATEST | function(name)
    assert both(options, "+I 1 4 a", "+I 1 6 c", "+I 1 5 b") == (as_written, compacted)


@pytest.mark.parametrize("engine", [AGGREGATION, PARTIAL])
def test_a_late_record_under_sequence_field_with_last_non_null_value(
    engine: dict[str, str],
) -> None:
    found = both(engine | LATEST, "+I 1 4 a", "+I 1 6 null", "+I 1 5 b")
    assert found == ("+I 1 6 b", "+I 1 6 a")


@pytest.mark.parametrize(
    "options",
    [
        REMOVING | LATEST,
        AGGREGATION | LATEST | {"aggregation.remove-record-on-delete": "true"},
    ],
)
def test_late_inserts_stay_hidden(options: dict[str, str]) -> None:
    found = both(options, "+I 1 4 a", "-D 1 6 a", "+I 1 5 b")
    assert found == ("", "")


def test_deletes_that_are_kept_hide_late_rows() -> None:
    assert both(LATEST, "+I 1 4 a", "-D 1 6 a", "+I 1 5 b") == ("", "")
    assert both(LATEST, "+I 1 4 a", "-D 1 6 a", "+I 1 6 b") == ("+I 1 6 b", "+I 1 6 b")


def test_late_inserts_stay_hidden_in_a_group() -> None:
    options = GROUP | {"partial-update.remove-record-on-sequence-group": "s"}
    found = both(options, "+I 1 4 a", "-D 1 6 d", "+I 1 5 b")
    assert found == ("+I 1 6 d", "+I 1 6 d")


def test_retractions_alone_in_their_file_stay() -> None:
    options = AGGREGATION | {"fields.s.aggregate-function": "sum"}
    assert both(options, "-D 1 5 a", "+I 1 3 b") == ("+I 1 -2 b", "+I 1 -2 b")
    refused = AGGREGATION | function("max")
    with pytest.raises(TableError, match="does not support retraction"):
        both(refused, "-D 1 5 a", "+I 1 3 b")
    found = layout(COLUMNS, ["k"], refused)
    run = fold_unsorted(plan(found, list(COLUMNS)), [batch(found, parse(found, "-D 1 5 a"))])
    assert records(merged(found, [run])) == []


def test_removed_rows_begin_anew_with_the_values_of_the_delete() -> None:
    found = both(REMOVING, "+I 1 1 old", "-D 1 1 old", "+I 1 2 null")
    assert found == ("+I 1 2 old", "+I 1 2 old")
    options = AGGREGATION | {"fields.s.aggregate-function": "sum"}
    options |= {"aggregation.remove-record-on-delete": "true"}
    assert both(options, "+I 1 5 a", "-D 1 5 a", "+I 1 3 b") == ("+I 1 8 b", "+I 1 8 b")


def test_a_retraction_that_a_row_begins_with() -> None:
    """Where newer files are merged it is not known whether a row is there."""
    found = layout(COLUMNS, ["k"], REMOVING)
    runs = [[batch(found, parse(found, text))] for text in ("-U 1 1 old", "+U 1 2 null")]
    assert render(records(merged(found, runs))) == "+I 1 2 old"
    minor = merged(found, runs, drop_deletes=False, has_oldest=False)
    assert render(records(minor)) == "+I 1 2 null"
    first = [batch(found, parse(found, "+I 1 1 first"))]
    assert render(records(merged(found, [first, *runs]))) == "+I 1 2 first"
    assert render(records(merged(found, [first, minor]))) == "+I 1 2 first"
    # Paimon's rule for the records of one job.
    assert both(REMOVING, "-U 1 1 old | +U 1 2 null")[0] == "+I 1 2 old"


def test_a_late_row_of_some_columns_of_a_group(tmp_path: Path) -> None:
    """A list of dictionaries is merged before it meets the stored row."""
    options = PARTIAL | {"fields.s.sequence-group": "v,w", "write-only": "true"}
    columns = {"k": "INT", "s": "INT", "v": "STRING", "w": "STRING"}
    catalog, found = keyfold.connect(tmp_path), []
    later = [{"k": 1, "s": 4, "v": "b"}, {"k": 1, "s": 6, "w": "c"}]
    for jobs in ([[row] for row in later], [later]):
        table = catalog.create_table(f"t{len(found)}", columns, ["k"], options=options)
        for job in ([{"k": 1, "s": 5, "v": "a"}], *jobs):
            table.upsert(job)
        found += [row["v"] for row in table.scan().to_pylist()]
    assert found == ["a", "b"]


def test_an_update_before_behind_a_delete() -> None:
    found = both(REMOVING, "+I 1 1 a", "-D 1 1 a", "-U 1 1 a")
    assert found == ("+I 1 1 a", "")


def test_an_update_before_that_comes_first_in_its_job() -> None:
    """It begins a row with its values, as in Paimon; alone, several of them remove the row."""
    assert both(REMOVING, "+I 1 1 a", "-U 1 2 b | +U 1 3 null")[0] == "+I 1 3 b"
    assert both(REMOVING, "+I 1 1 a", "-U 1 2 b", "+U 1 3 null")[0] == "+I 1 3 a"
    assert both(REMOVING, "+I 1 1 a", "-U 1 2 b | -U 1 3 b")[0] == ""
    assert both(REMOVING, "+I 1 1 a", "-U 1 2 b", "-U 1 3 b")[0] == "+I 1 1 a"


def test_an_older_null_of_a_group_with_first_non_null_value() -> None:
    options = GROUP | function("first_non_null_value")
    found = both(options, "+I 1 5 a", "+I 1 4 null", "+I 1 6 b")
    assert found == ("+I 1 6 null", "+I 1 6 b")


def test_an_update_pair_of_one_job_under_a_function_that_forgets_retractions() -> None:
    options = AGGREGATION | {"fields.s.aggregate-function": "product"}
    assert both(options, "+I 1 6 a", "-U 1 6 a", "+U 1 5 a")[0] == "+I 1 5 a"
    assert both(options, "+I 1 6 a", "-U 1 6 a | +U 1 5 a")[0] == "+I 1 30 a"


def test_records_in_sequence_order_give_one_result() -> None:
    for engine in ({}, PARTIAL, AGGREGATION, AGGREGATION | function("first_value")):
        as_written, compacted = both(engine | LATEST, "+I 1 4 a", "+I 1 5 null", "+I 1 6 c")
        assert as_written == compacted


# How the lines of the table begin, and the tests of each.
LINES = {
    "A late record under `sequence.field`, in a column with `first_value`": (
        test_a_late_record_under_sequence_field_with_first_value,
    ),
    "A late record under `sequence.field`, in a column with `last_non_null_value`": (
        test_a_late_record_under_sequence_field_with_last_non_null_value,
    ),
    "A late row that names some columns of a sequence group": (
        test_a_late_row_of_some_columns_of_a_group,
    ),
    "A row of partial-update that begins with a -U or -D": (
        test_a_retraction_that_a_row_begins_with,
    ),
    "A -U after a -D": (test_an_update_before_behind_a_delete,),
    "A -U that is the first record": (test_an_update_before_that_comes_first_in_its_job,),
    "An older NULL in a group": (test_an_older_null_of_a_group_with_first_non_null_value,),
    "-U and +U of one job": (
        test_an_update_pair_of_one_job_under_a_function_that_forgets_retractions,
    ),
}


def test_each_line_of_the_document_has_its_tests() -> None:
    document = Path(__file__).parents[2] / "docs" / "engines.md"
    table = document.read_text(encoding="utf-8").partition("| exception | example |")[2]
    rows = re.findall(r"^\| ([A-Z-][^|]+) \|", table, re.MULTILINE)
    assert len(rows) == len(LINES)
    assert all(row.startswith(line) for row, line in zip(rows, LINES, strict=True))
    tried = {test.__name__ for tests in LINES.values() for test in tests}
    assert tried == {name for name in globals() if name.startswith("test_a")}
