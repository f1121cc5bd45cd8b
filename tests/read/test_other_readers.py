"""What engines and functions other readers merge as we do: pypaimon and pypaimon-rust."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import keyfold
from keyfold.aggregates.states.bound_signatures import parse
from keyfold.kernels.unsafe_rows.encode import encode
from keyfold.storage.schema.definition import NewTable
from keyfold.types.arrow import to_arrow
from tests import readers
from tests.compact import harness as compaction
from tests.read import harness
from tests.storage import tables
from tests.storage.tables import column, new_table

Row = dict[str, Any]
NUMBERS = [
    [{"k": k, "v": k} for k in range(10)],
    [{"k": k, "v": 100 + k if k % 2 else None} for k in range(5, 15)],
]
FIRST, SECOND = {"k": 1, "v": 1, "s": 5}, {"k": 1, "v": 2, "s": 3}
ENGINES = ("deduplicate", "partial-update")
OF_NUMBERS = ("sum", "product", "max", "min", "last_value", "last_non_null_value", "first_value")
OF_NUMBERS += ("first_non_null_value",)
INTEGERS = {"type": "array", "elementType": "integer", "containsNull": True}


def aggregated(function: str, kind: Any = "long") -> NewTable:
    """A table whose `v` a function merges."""
    options = {"merge_engine": "aggregation", "fields__v__aggregate_function": function}
    return new_table(column("k"), column("v", kind), **options)


def jobs(*values: Any) -> list[list[Row]]:
    """Two jobs, the second of which has one key of the first."""
    first, second, third, fourth = values
    return [
        [{"k": 1, "v": first}, {"k": 2, "v": second}],
        [{"k": 1, "v": third}, {"k": 3, "v": fourth}],
    ]


def state(number: int) -> bytes:
    """A state of `sum`, as docs/states.md describes its bytes."""
    found = parse("sum(bigint)")
    fields = [pa.array([number], to_arrow(kind)) for kind in found.fields]
    text = found.text.encode()
    made: bytes = encode(fields)[0].as_py()
    return b"KS\x01" + len(text).to_bytes(2, "little") + text + made


WITH_S = (column("k"), column("v"), column("s"))
SAME: dict[str, tuple[NewTable, list[list[Row]]]] = {
    **{engine: (new_table(merge_engine=engine), NUMBERS) for engine in ENGINES},
    **{function: (aggregated(function), NUMBERS) for function in OF_NUMBERS},
    "listagg": (aggregated("listagg", "string"), jobs("a", "b", "c", None)),
    "max of text": (aggregated("max", "string"), jobs("a", "b", "c", None)),
    "bool_or": (aggregated("bool_or", "boolean"), jobs(True, False, False, None)),
    "bool_and": (aggregated("bool_and", "boolean"), jobs(True, False, False, None)),
    "collect": (aggregated("collect", INTEGERS), jobs([1, 2], [3], [2], None)),
    "states in a column of bytes": (
        new_table(column("k"), column("v", "binary")),
        jobs(state(1), state(2), state(3), None),
    ),
    "sequence.field": (new_table(*WITH_S, sequence__field="s"), [[FIRST], [SECOND]]),
    "rowkind.field": (
        new_table(column("k"), column("v"), column("op", "string"), rowkind__field="op"),
        [[{"k": 1, "v": 1, "op": "+I"}, {"k": 2, "v": 1, "op": "+I"}], [{"k": 1, "op": "-D"}]],
    ),
    "NULL in a key": (
        new_table(primary_key__nullable="true"),
        [[{"k": None, "v": 1}, {"k": 1, "v": 1}], [{"k": None, "v": 2}]],
    ),
    "partitions": (
        new_table(column("p", "string"), column("k"), column("v"), key="p,k", by="p"),
        [[{"p": p, "k": 1, "v": 1} for p in "ab"], [{"p": "a", "k": 1, "v": 2}]],
    ),
}
GROUP = {"merge_engine": "partial-update", "fields__s__sequence_group": "v"}
GROUPS = {
    "sequence group": new_table(*WITH_S, **GROUP),
    "sum in a sequence group": new_table(*WITH_S, **GROUP, fields__v__aggregate_function="sum"),
}


def read(reader: str, folder: Path, new: NewTable, written: list[list[Row]]) -> None:
    """Write jobs; the reader has the rows that we read."""
    found = tables.table(folder, new)
    for rows in written:
        harness.upsert(tables.reload(found), rows)
    ours = sorted(harness.rows(tables.reload(found)), key=str)
    assert ours
    theirs = readers.READERS[reader](folder, "default.t")
    assert sorted(theirs.to_pylist(), key=str) == ours


@pytest.mark.parametrize("reader", readers.READERS)
@pytest.mark.parametrize("case", SAME)
def test_they_read_the_same(tmp_path: Path, reader: str, case: str) -> None:
    read(reader, tmp_path, *SAME[case])


@pytest.mark.parametrize("case", GROUPS)
def test_only_rust_reads_sequence_groups(tmp_path: Path, case: str) -> None:
    read("pypaimon-rust", tmp_path, GROUPS[case], [[FIRST], [SECOND]])
    with pytest.raises(readers.Refused, match=r"fields\.s\.sequence-group"):
        readers.read(tmp_path, "default.t")


@pytest.mark.parametrize("reader", readers.READERS)
@pytest.mark.parametrize("function", ["count", "agg_state"])
def test_they_refuse_functions_that_paimon_lacks(
    tmp_path: Path, reader: str, function: str
) -> None:
    """Also where nothing is left to merge."""
    options = {"merge_engine": "aggregation", "fields__v__aggregate_function": function}
    if function == "agg_state":
        options["fields__v__agg_state"] = "sum(bigint)"
    kind = "binary" if function == "agg_state" else "long"
    found = tables.table(tmp_path, new_table(column("k"), column("v", kind), **options))
    for first in (0, 3):
        keys = range(first, first + 5)
        rows = [{"k": k, "v": state(k) if function == "agg_state" else k} for k in keys]
        harness.upsert(tables.reload(found), rows)
    assert len(harness.rows(tables.reload(found))) == 8
    for _ in range(2):
        with pytest.raises(readers.Refused, match=rf"'{function}'|aggregate-function"):
            readers.READERS[reader](tmp_path, "default.t")
        compaction.compact(found, "full")


@pytest.mark.parametrize("reader", readers.READERS)
def test_they_hide_what_is_not_compacted_of_first_row_tables(tmp_path: Path, reader: str) -> None:
    found = tables.table(tmp_path, new_table(merge_engine="first-row"))
    harness.upsert(found, NUMBERS[0])
    assert len(readers.READERS[reader](tmp_path, "default.t")) == 0


@pytest.mark.parametrize("reader", readers.READERS)
def test_they_read_what_writes_fill_and_refuse_means(tmp_path: Path, reader: str) -> None:
    """Ids, times of writes, sums and counts are columns like others."""
    catalog = keyfold.connect(tmp_path)
    filled = {"auto-increment.fields": "id", "fields.at.on-write": "current_timestamp"}
    columns = {"w": "STRING", "id": "BIGINT", "at": "TIMESTAMP"}
    table = catalog.create_table("t", columns, ["w"], (), filled)
    for words in ("ab", "bc"):
        table.upsert([{"w": word} for word in words])
    theirs = readers.READERS[reader](tmp_path, "default.t").to_pylist()
    assert len({row["id"] for row in theirs}) == 3
    assert sorted(theirs, key=str) == sorted(table.scan().to_pylist(), key=str)
    means = {"fields.x.aggregate-function": "avg", "fields.x.sum-and-count": "s, c"}
    columns = {"k": "INT", "x": "DOUBLE", "s": "DOUBLE", "c": "BIGINT"}
    options = means | {"merge-engine": "aggregation"}
    catalog.create_table("m", columns, ["k"], (), options).upsert([{"k": 1, "x": 1.0}])
    with pytest.raises(readers.Refused, match=r"'avg'|other aggregators"):
        readers.READERS[reader](tmp_path, "default.m")
