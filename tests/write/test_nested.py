"""NULLs below NULL structs, as Spark sends them: written, rewritten and read like any others."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from keyfold.storage.commits import commit
from keyfold.types.required import fitted
from keyfold.write.renumber import renumber
from keyfold.write.writer import write
from tests.read.harness import job, rows
from tests.storage import tables

INNER = pa.struct([pa.field("x", pa.int32(), False), pa.field("y", pa.list_(pa.int32()), False)])
OUTER = pa.struct([pa.field("i", INNER, False), pa.field("n", pa.utf8())])
VALUES: list[Any] = [None, {"i": {"x": 1, "y": [1, 2]}, "n": None}, None, {"i": {"x": 2, "y": []}}]


def hidden(parts: list[pa.Array], kind: pa.StructType, nulls: list[bool]) -> pa.StructArray:
    fields = [kind.field(place) for place in range(kind.num_fields)]
    return pa.StructArray.from_arrays(parts, fields=fields, mask=pa.array(nulls))


def sent() -> pa.StructArray:
    """VALUES with NULL in every field of a NULL."""
    nulls = [value is None for value in VALUES]
    x = pa.array([None, 1, None, 2], pa.int32())
    y = pa.array([None, [1, 2], None, []], INNER.field("y").type)
    return hidden([hidden([x, y], INNER, nulls), pa.nulls(4, pa.utf8())], OUTER, nulls)


@pytest.mark.parametrize("start", [0, 1, 2])
def test_values_stay(start: int) -> None:
    array = sent().slice(start)
    made = fitted(array, array.type)
    assert made.to_pylist() == array.to_pylist()
    assert made.cast(OUTER).to_pylist() == array.to_pylist()
    listed = pa.ListArray.from_arrays(pa.array([0, 2, 2], pa.int32()), array)
    assert fitted(listed, listed.type).to_pylist() == listed.to_pylist()


def test_arrays_without_such_fields_are_passed_on() -> None:
    array = pa.array([{"a": [1]}, None])
    assert fitted(array, array.type) is array


def test_they_are_written_and_written_again(tmp_path: Path) -> None:
    def field(name: str, kind: Any, nullable: bool) -> dict[str, Any]:
        return {"name": name, "type": kind, "nullable": nullable, "metadata": {}}

    listed = {"type": "array", "elementType": "integer", "containsNull": True}
    inner = {"type": "struct", "fields": [field("x", "integer", False), field("y", listed, False)]}
    outer = {"type": "struct", "fields": [field("i", inner, False), field("n", "string", True)]}
    new = tables.new_table(tables.column("k"), tables.column("v", outer), bucket="1")
    found = tables.table(tmp_path, new)
    spec = job(found.layout)
    batch = pa.RecordBatch.from_arrays([pa.array([1, 2, 3, 4]), sent()], names=["k", "v"])
    messages = renumber(spec, write(spec, [batch]), 77)
    commit.append(found, spec, messages)
    assert [row["v"] for row in rows(found)] == sent().to_pylist()
