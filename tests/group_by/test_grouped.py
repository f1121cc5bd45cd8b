"""Keys and values of groups against dictionaries, on random rows, in memory and spilled."""

from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import types

from keyfold.errors import FoldOverflowError
from keyfold.group_by.accumulate import GroupError
from keyfold.group_by.area import Area, Batch
from keyfold.group_by.bound import BoundCall
from keyfold.group_by.grouped import GroupInput, RunningGroups
from keyfold.kernels.buffers import is_text, text, validity
from keyfold.kernels.unsafe_rows.encode import encode
from keyfold.kernels.unsafe_rows.layout import bits_of, width
from keyfold.types.arrow import from_arrow
from keyfold.types.logical import Atomic
from tests.draws import draws

MUCH = 1 << 30
SLOT = 1 << 20
KINDS = [
    *(pa.int8(), pa.int32(), pa.int64(), pa.float64(), pa.bool_(), pa.date32(), pa.utf8()),
    *(pa.binary(), pa.decimal128(9, 2), pa.decimal128(30, 1)),
]
SUM, LIST = BoundCall("sum", Atomic("BIGINT"), {}), BoundCall("listagg", Atomic("STRING"), {})


def batch_of(folder: Path, columns: list[pa.Array]) -> Batch:
    """These columns in the second slot of an area, laid out as the JVM does."""
    memory, end, places = np.zeros(2 * SLOT, dtype=np.uint8), 0, []

    def put(items: Any) -> int:
        nonlocal end
        start, end = end, end + (items.nbytes + 63) // 64 * 64
        memory[SLOT + start : SLOT + start + items.nbytes] = items.view(np.uint8)
        return start

    for column in columns:
        valid = put(np.ascontiguousarray(validity(column)))
        if is_text(column.type):
            bounds, data = text(column)
            places.append([valid, put(bounds[1:].astype(np.int32)), put(data), 0])
        else:
            size = width(column.type)
            items = np.ascontiguousarray(bits_of(column))
            places.append([valid, 0, put(items), size])
    path = folder / "area"
    path.write_bytes(memory.tobytes())
    area = Area.of({"path": str(path), "slot": SLOT, "places": places})
    nulls = [place for place, column in enumerate(columns) if column.null_count]
    return area.batch({"slot": 1, "rows": len(columns[0]), "nulls": nulls})


def keys_in(columns: list[pa.Array]) -> pa.Array:
    """Keys as they are sent: a column of fixed width as it is, others as bytes of rows."""
    is_word = len(columns) == 1 and width(columns[0].type) is not None
    return columns[0] if is_word else encode(columns)


def values(kind: pa.DataType, random: Random, count: int) -> list[Any]:
    """Few different values, some None."""
    made = pa.array([random.randrange(2 if types.is_boolean(kind) else 90) for _ in range(count)])
    if types.is_decimal(kind):
        made = made.cast(pa.decimal128(19, 0)).cast(pa.decimal128(38, kind.scale))
    if types.is_date(kind):
        made = made.cast(pa.int32())
    if types.is_binary(kind):
        made = made.cast(pa.utf8())
    some: list[Any] = made.cast(kind).to_pylist()
    return [None if random.random() < 0.05 else one for one in some]


@draws(7)
@given(
    st.lists(st.sampled_from(KINDS), max_size=3),
    st.sampled_from([MUCH, 0]),
    st.randoms(use_true_random=False),
)
def test_groups_are_those_of_a_dictionary(
    tmp_path_factory: pytest.TempPathFactory, kinds: list[Any], room: int, random: Random
) -> None:
    """With no room at all every batch is spilled, and parts again into their parts."""
    folder = tmp_path_factory.mktemp("area")
    given_sum = GroupInput(
        SUM, pa.int64(), 0 if not kinds else 1, False, False, 2 if kinds else 1, False
    )
    source = GroupInput(LIST, pa.utf8(), 3 if kinds else 2, False, False, -1, False)
    found = RunningGroups(kinds, [given_sum, source], room, spills=True)
    wanted: dict[tuple[Any, ...], tuple[int | None, list[str]]] = {} if kinds else {(): (None, [])}
    for _ in range(random.randrange(1, 5)):
        count = random.randrange(1, 200)
        keys = [pa.array(values(kind, random, count), kind) for kind in kinds]
        numbers = [random.choice([None, *range(-9, 10)]) for _ in range(count)]
        flags = [random.random() < 0.7 for _ in range(count)]
        texts = [random.choice("pqrst") for _ in range(count)]
        rest = [pa.array(numbers, pa.int64()), pa.array(flags), pa.array(texts)]
        found.add(batch_of(folder, [*([keys_in(keys)] if kinds else []), *rest]))
        rows = zip(*(key.to_pylist() for key in keys), strict=True) if kinds else [()] * count
        for key, number, flag, one in zip(rows, numbers, flags, texts, strict=True):
            total, listed = wanted.get(key, (None, []))
            if flag and number is not None:
                total = number + (total or 0)
            wanted[key] = (total, [*listed, one])
    assert (found.spilled_bytes > 0) == (bool(kinds) and not room)
    shown = [tuple(row.values()) for batch in found.batches() for row in batch.to_pylist()]
    assert len(shown) == len(wanted)
    for *key, total, listed in shown:
        own = wanted[tuple(key)]
        assert (total, sorted(listed.split(",")) if listed else []) == (own[0], sorted(own[1]))


def test_an_overflow_tells_the_key(tmp_path: Path) -> None:
    call = BoundCall("sum", from_arrow(pa.int8()), {})
    groups = RunningGroups(
        [pa.utf8()], [GroupInput(call, pa.int8(), 1, False, False, -1, False)], MUCH, spills=False
    )
    keys, numbers = pa.array(["a", "b", "b"]), pa.array([1, 100, 100], pa.int8())
    groups.add(batch_of(tmp_path, [encode([keys]), numbers]))
    with pytest.raises(GroupError) as failed:
        list(groups.batches())
    assert isinstance(failed.value.error, FoldOverflowError)
    assert groups.key_of(failed.value.group) == encode([pa.array(["b"])])[0].as_py()


def test_states_are_merged(tmp_path: Path) -> None:
    """What one operator gives, another takes."""
    partial = RunningGroups(
        [pa.int64()], [GroupInput(SUM, pa.int64(), 1, False, False, -1, True)], MUCH, spills=False
    )
    final = RunningGroups(
        [pa.int64()], [GroupInput(SUM, pa.int64(), 1, False, True, -1, False)], 0, spills=True
    )
    for start in (0, 500):
        keys = pa.array([at % 300 for at in range(start, start + 1000)])
        partial.add(batch_of(tmp_path, [keys, pa.array(range(1000))]))
        for batch in partial.batches():
            final.add(batch_of(tmp_path, list(batch.columns)))
    found = {row["c0"]: row["c1"] for batch in final.batches() for row in batch.to_pylist()}
    pairs = [(at % 300, at - start) for start in (0, 500) for at in range(start, start + 1000)]
    assert found == {key: sum(x for k, x in pairs if k == key) for key in range(300)}
