"""Results that depend on what was compacted when: the lines of the table in docs/engines.md.

Each case is read as it was written, a file a text, and with everything compacted after each write;
Paimon answers the same way in both.
"""

import re
from collections.abc import Sequence
from itertools import permutations
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import keyfold
from keyfold.compact.kept_deletes import NONE, first_kept
from keyfold.errors import TableError
from keyfold.kernels.ops import INSERT
from keyfold.merge.buffer import fold_unsorted
from keyfold.merge.kinds import SEQUENCE_NUMBER
from keyfold.merge.plan import plan_merge
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
    merge = plan_merge(found, found.arrow_schema.names, marks=not has_oldest)
    flags = {"drop_deletes": drop_deletes, "has_oldest": has_oldest}
    out = list(merge_runs(merge, sources, system_columns=True, **flags))
    return [part.drop_columns([SEQUENCE_NUMBER]) for part in out]


def both(options: dict[str, str], *texts: str) -> tuple[str, str]:
    """What a reader sees without any compaction, and with one after each write."""
    found = layout(COLUMNS, ["k"], options)
    merge = plan_merge(found, list(COLUMNS))
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
    run = fold_unsorted(plan_merge(found, list(COLUMNS)), [batch(found, parse(found, "-D 1 5 a"))])
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


def after_minor(found: TableLayout, values: Sequence[dict[str, Any]]) -> tuple[Any, Any]:
    """The column v of rows of one key as they were written, and if the newer ones merge first."""
    runs = [[batch(found, [(INSERT, {"k": 1, "s": None, **row})])] for row in values]
    minor = merged(found, runs[1:], drop_deletes=False, has_oldest=False)
    as_written, later = (records(merged(found, some)) for some in (runs, [runs[0], minor]))
    return as_written[0][1]["v"], later[0][1]["v"]


def struct(**fields: str) -> dict[str, Any]:
    numbered = enumerate(fields.items(), 10)
    return {"type": "ROW", "fields": [{"id": i, "name": n, "type": t} for i, (n, t) in numbered]}


TIMED = {"type": "MAP", "key": "STRING NOT NULL", "value": struct(n="INT", at="STRING")}
NESTED = {"type": "ARRAY", "element": struct(id="INT", n="INT")}
BY_TIME = function("merge_map_with_keytime")
LIMITED = function("nested_update") | {"fields.v.count-limit": "2"}


def test_a_null_that_removes_an_entry_by_time() -> None:
    found = layout({"k": "INT", "s": "INT", "v": TIMED}, ["k"], AGGREGATION | BY_TIME)
    a, b = ("a", {"n": 1, "at": "09:30"}), ("b", {"n": 2, "at": "09:20"})
    assert after_minor(found, [{"v": [a]}, {"v": [b]}, {"v": [("a", None)]}]) == ([b], [a, b])
    # Paimon's rule for the first map.
    assert after_minor(found, [{"v": [("a", None)]}, {"v": [b]}])[0] == [("a", None), b]


@pytest.mark.parametrize("options", [AGGREGATION, AGGREGATION | LATEST, GROUP])
def test_entries_without_a_null_are_those_of_the_greatest_times(options: dict[str, str]) -> None:
    found = layout({"k": "INT", "s": "INT", "v": TIMED}, ["k"], options | BY_TIME)
    maps = ([("a", "1"), ("b", "3")], [("a", "2"), ("c", None)], [("b", "2"), ("c", "1")])
    entries = [[(key, {"n": n, "at": at}) for key, at in m] for n, m in enumerate(maps)]
    for order in permutations(range(len(maps))):
        rows = [{"s": s, "v": entries[s]} for s in order]
        for seen in after_minor(found, rows):
            assert {key: item["at"] for key, item in seen} == {"a": "2", "b": "3", "c": "1"}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("listagg", ["c,a,b", "a,c,b"]),
        ("first_value", ["c", "a"]),
        ("first_non_null_value", ["c", "a"]),
        ("max", ["c", "c"]),
        ("last_value", ["b", "b"]),
        (None, ["b", "b"]),
    ],
)
def test_a_late_record_of_a_group_in_the_order_of_functions(
    name: str | None, expected: list[str]
) -> None:
    found = layout(COLUMNS, ["k"], GROUP | ({} if name is None else function(name)))
    rows = [{"s": s, "v": v} for s, v in ((5, "a"), (6, "b"), (4, "c"))]
    assert list(after_minor(found, rows)) == expected


def test_a_nested_row_beyond_the_limit() -> None:
    def nested(*ids: int, n: int = 0) -> list[dict[str, int]]:
        return [{"id": i, "n": n} for i in ids]

    columns = {"k": "INT", "s": "INT", "v": NESTED}
    found = layout(columns, ["k"], AGGREGATION | LIMITED | {"fields.v.nested-key": "id"})
    seen = after_minor(found, [{"v": nested(1, 2)}, {"v": nested(3, 4)}, {"v": nested(2, n=9)}])
    assert [[row["n"] for row in one] for one in seen] == [[0, 9], [0, 0]]
    # An array of one record is never cut, and one that comes late takes the room of others.
    found = layout(columns, ["k"], GROUP | LIMITED)
    late = [{"s": s, "v": nested(*ids)} for s, ids in ((3, (1,)), (2, (2, 3, 4)), (2, (5, 6)))]
    assert after_minor(found, [late[1]])[0] == nested(2, 3, 4)
    seen = after_minor(found, late)
    assert [[row["id"] for row in one] for one in seen] == [[5, 6], [2, 3]]


def test_values_that_an_update_leaves_a_group_without_a_sequence(tmp_path: Path) -> None:
    """They stay until the next record of the key, as those of any stored row would."""
    options = GROUP | function("sum") | {"write-only": "true"}
    columns, catalog, found = {"k": "INT", "s": "INT", "v": "BIGINT"}, keyfold.connect(tmp_path), []
    for is_compacted in (False, True):
        table = catalog.create_table(f"t{is_compacted}", columns, ["k"], options=options)
        table.upsert([{"k": 1, "s": 5, "v": 1}])
        table.update("k = 1", {"s": None})
        assert table.get({"k": 1}) == {"k": 1, "s": None, "v": 1}
        if is_compacted:
            table.compact()
        table.upsert([{"k": 1, "s": 6, "v": 7}])
        found.append(table.get({"k": 1}))
    assert [row["v"] for row in found] == [7, 7]


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
    "A late record of a sequence group": (test_a_late_record_of_a_group_in_the_order_of_functions,),
    "A row of partial-update that begins with a -U or -D": (
        test_a_retraction_that_a_row_begins_with,
    ),
    "A -U after a -D": (test_an_update_before_behind_a_delete,),
    "A -U that is the first record": (test_an_update_before_that_comes_first_in_its_job,),
    "An older NULL in a group": (test_an_older_null_of_a_group_with_first_non_null_value,),
    "-U and +U of one job": (
        test_an_update_pair_of_one_job_under_a_function_that_forgets_retractions,
    ),
    "A NULL that removes an entry": (test_a_null_that_removes_an_entry_by_time,),
    "Nested rows under `nested_update`": (test_a_nested_row_beyond_the_limit,),
}


def test_each_line_of_the_document_has_its_tests() -> None:
    document = Path(__file__).parents[2] / "docs" / "engines.md"
    table = document.read_text(encoding="utf-8").partition("| exception | example |")[2]
    rows = re.findall(r"^\| ([A-Z-][^|]+) \|", table, re.MULTILINE)
    assert len(rows) == len(LINES)
    assert all(row.startswith(line) for row, line in zip(rows, LINES, strict=True))
    tried = {test.__name__ for tests in LINES.values() for test in tests}
    assert tried == {name for name in globals() if name.startswith("test_a")}
