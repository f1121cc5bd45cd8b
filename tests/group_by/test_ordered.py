"""Groups whose rows fold in an order, against the rows sorted one by one."""

import math
from functools import cmp_to_key
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from keyfold.group_by.accumulate import GroupError
from keyfold.group_by.folds import call_of, folding
from keyfold.group_by.ordered import Ordered

GROUPS = 7
KEYS: dict[str, tuple[Any, pa.DataType, list[Any]]] = {
    "integer": ("integer", pa.int32(), [3, -1, 2, None]),
    "double": ("double", pa.float64(), [0.0, -0.0, math.nan, -math.inf, math.inf, 1.5, None]),
    "string": ("string", pa.string(), ["", "a", "ab", "ä", "abcdefghi", "abcdefghj", None]),
    "binary": ("binary", pa.binary(), [b"", b"\xff", b"a", None]),
    "array": (
        {"type": "array", "elementType": "double", "containsNull": True},
        pa.list_(pa.float64()),
        [[], [0.0, 1.0], [-0.0, 2.0], [None], [math.nan], None],
    ),
}


def listed(key: str, is_descending: bool, nulls_first: bool) -> Any:
    """A `listagg` by one key of this kind, then by a number, descending."""
    fields = [("_0", "string"), ("_1", KEYS[key][0]), ("_2", "integer")]
    struct = [{"name": name, "type": kind, "nullable": True} for name, kind in fields]
    return {
        "of": "ordered",
        "fold": {"name": "listagg", "type": "string", "options": {}},
        "type": {"type": "struct", "fields": struct},
        "order": [[is_descending, nulls_first], [True, False]],
    }


def folded(call: Any) -> Ordered:
    """Its groups."""
    found = folding(call_of(call), 1 << 12)
    assert isinstance(found, Ordered)
    return found


def compared(one: Any, other: Any) -> int:
    """As Spark compares two values of one type: NULL before all."""
    if one is None or other is None:
        return (one is not None) - (other is not None)
    if isinstance(one, list):
        pairs = (compared(a, b) for a, b in zip(one, other, strict=False))
        return next((found for found in pairs if found), len(one) - len(other))
    if isinstance(one, float) and (math.isnan(one) or math.isnan(other)):
        return math.isnan(one) - math.isnan(other)
    if isinstance(one, str):
        one, other = one.encode(), other.encode()
    return int(one > other) - int(one < other)


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("is_descending", [False, True])
@pytest.mark.parametrize("nulls_first", [False, True])
def test_rows_fold_in_order(key: str, is_descending: bool, nulls_first: bool) -> None:
    draw = Random(f"{key}{is_descending}{nulls_first}")
    _, kind, values = KEYS[key]
    rows = [
        (draw.randrange(1, GROUPS), (str(i), draw.choice(values), draw.randrange(3)))
        for i in range(200)
    ]
    call = listed(key, is_descending, nulls_first)
    parts, whole = [folded(call), folded(call)], folded(call)
    for start in range(0, len(rows), 50):
        part = rows[start : start + 50]
        columns = list(zip(*(row for _, row in part), strict=True))
        arrays = [
            pa.array(column, of)
            for column, of in zip(columns, [pa.string(), kind, pa.int32()], strict=True)
        ]
        structs = pa.StructArray.from_arrays(arrays, names=["_0", "_1", "_2"])
        groups = np.array([group for group, _ in part], dtype=np.int32)
        parts[start >= 100].add(groups, structs)
    for part in parts:
        assert part.held > 0
        for states in part.states(0, GROUPS):
            whole.merge(np.arange(GROUPS, dtype=np.int32), states)

    def order(a: Any, b: Any) -> int:
        (_, one, first), (_, other, second) = a, b
        found = compared(one, other)
        is_of_nulls = one is None or other is None
        found = -found if (not nulls_first if is_of_nulls else is_descending) else found
        return found or second - first

    expected = [
        ",".join(row[0] for row in sorted((r for g, r in rows if g == n), key=cmp_to_key(order)))
        for n in range(GROUPS)
    ]
    assert whole.values(0, GROUPS).to_pylist() == [None, *expected[1:]]
    assert whole.values(3, 5).to_pylist() == expected[3:5]
    whole.clear()
    assert whole.values(0, 2).to_pylist() == [None, None]


def test_failure_is_of_its_group() -> None:
    call = listed("integer", False, True)
    call["fold"] = {"name": "sum", "type": "byte", "options": {}}
    call["type"]["fields"][0]["type"] = "byte"
    groups = folded(call)
    rows = pa.StructArray.from_arrays(
        [pa.array([1, 100, 100], pa.int8()), *[pa.array([1, 2, 3], pa.int32())] * 2],
        names=["_0", "_1", "_2"],
    )
    groups.add(np.array([0, 5, 5], dtype=np.int32), rows)
    with pytest.raises(GroupError, match=r"keyfold.sum, group 5: the sum \(200\)") as failed:
        groups.values(0, 6)
    assert failed.value.group == 5
