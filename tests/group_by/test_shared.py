"""What bitmaps of some values share, of random rows of two tasks, against sets."""

from __future__ import annotations

from random import Random

import numpy as np
import pyarrow as pa
import pytest
from pyroaring import BitMap

from keyfold.group_by.accumulate import GroupError
from keyfold.group_by.folds import call_of, folding
from keyfold.kernels.roaring import bitmaps

VALUES, GROUPS = 3, 4
KIND = pa.struct([("bitmap", pa.binary()), *((f"is{n}", pa.bool_()) for n in range(VALUES))])


@pytest.mark.parametrize("name", ["intersect_count", "orthogonal_bitmap_intersect"])
def test_shared(seed: int, name: str) -> None:
    random = Random(seed)
    call = call_of({"name": name, "of": "shared", "values": VALUES})
    united: list[list[set[int]]] = [[set() for _ in range(VALUES)] for _ in range(GROUPS + 1)]
    final = folding(call, 0)
    for _ in range(2):
        task, groups, rows = folding(call, 0), [], []
        for _ in range(30):
            group, flags = (
                random.randrange(GROUPS),
                [random.choice((True, False, None)) for _ in range(VALUES)],
            )
            numbers = None if random.random() < 0.1 else set(random.sample(range(9), 5))
            groups.append(group)
            stored = None if numbers is None else bitmaps.write32(BitMap(numbers))
            rows.append((stored, *flags))
            for union, flag in zip(united[group], flags, strict=True):
                union |= numbers if flag and numbers else set()
        names = [field.name for field in KIND]
        column = pa.array([dict(zip(names, row, strict=True)) for row in rows], KIND)
        task.add(np.array(groups, dtype=np.int32), column)
        sent = pa.concat_arrays(list(task.states(0, GROUPS)))
        final.merge(np.arange(GROUPS, dtype=np.int32), sent)
    shared = [set.intersection(*unions) for unions in united]
    found = final.values(0, GROUPS + 1)
    assert found.type == call.arrow_type
    wanted = [bitmaps.write32(BitMap(own)) for own in shared]
    assert found.to_pylist() == ([len(own) for own in shared] if "count" in name else wanted)


def test_what_is_no_bitmap() -> None:
    task = folding(call_of({"name": "intersect_count", "of": "shared", "values": 1}), 0)
    column = pa.array(
        [{"b": b"?", "is": True}], pa.struct([("b", pa.binary()), ("is", pa.bool_())])
    )
    with pytest.raises(GroupError, match="function intersect_count, group 2: not a bitmap"):
        task.add(np.array([2], dtype=np.int32), column)
