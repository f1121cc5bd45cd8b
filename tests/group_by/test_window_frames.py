"""Frames of windows, against each frame folded by itself."""

from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyroaring import BitMap

from keyfold.group_by import window_frames
from keyfold.group_by.accumulate import GroupError
from keyfold.group_by.folds import call_of, folding
from keyfold.group_by.window_frames import Frames
from keyfold.kernels.roaring import bitmaps

BITMAPS = [bitmaps.write32(BitMap(some)) for some in ([], [1], [1, 7], range(90))]
CALLS: dict[str, tuple[dict[str, Any], pa.DataType, list[Any]]] = {
    "sum": ({"name": "sum", "type": "long", "options": {}}, pa.int64(), [1, -5, 1000, None]),
    "last": ({"name": "last_value", "type": "string", "options": {}}, pa.string(), ["a", "", None]),
    "texts": ({"name": "listagg", "type": "string", "options": {}}, pa.string(), ["a", "bc", None]),
    "sets": ({"name": "bitmap_union_count", "of": "bitmaps"}, pa.binary(), [*BITMAPS, None]),
}


def drawn(draw: Random, rows: int, values: list[Any]) -> list[list[tuple[bool, list[Any]]]]:
    """Windows' frames as what each has more than the one before it, if it goes on from that."""
    windows = []
    while rows > 0:
        groups = [(False, [draw.choice(values) for _ in range(draw.choice([0, 1, 3]))])]
        for _ in range(draw.choice([0, 0, 2, 40])):
            groups.append((True, [draw.choice(values) for _ in range(draw.choice([1, 1, 2]))]))
        windows.append(groups)
        rows -= len(groups)
    return windows


def added(fold: Frames, first: int, windows: list[Any], kind: pa.DataType) -> list[list[Any]]:
    """The rows are added, groups numbered from `first`; the rows of each frame."""
    numbers, rows, whole = [], [], []
    number = first
    for groups in windows:
        before: list[Any] = []
        for goes_on, values in groups:
            numbers += [~number if goes_on else number] * len(values)
            rows += values
            before = [*before, *values] if goes_on else values
            whole.append(before)
            number += 1
    fold.add(np.array(numbers, dtype=np.int32), pa.array(rows, kind))
    return whole


def expected(call: dict[str, Any], whole: list[list[Any]], kind: pa.DataType) -> list[Any]:
    """Each frame, folded by itself."""
    fold = folding(call_of(call), 1 << 16)
    numbers = np.repeat(np.arange(len(whole), dtype=np.int32), [len(rows) for rows in whole])
    fold.add(numbers, pa.array([value for rows in whole for value in rows], kind))
    found: list[Any] = fold.values(0, len(whole)).to_pylist()
    return found


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("most", [1, 300, 1 << 25])
def test_frames_are_as_folded_alone(name: str, most: int, monkeypatch: Any) -> None:
    """Whatever is put together at once; and after groups were forgotten the last one goes on."""
    monkeypatch.setattr(window_frames, "_BYTES", most)
    call, kind, values = CALLS[name]
    draw = Random(f"{name}{most}")
    fold = Frames(call_of(call), 1 << 16)
    whole = added(fold, 0, drawn(draw, 120, values), kind)
    wanted = expected(call, whole, kind)
    assert fold.values(0, len(whole)).to_pylist() == wanted
    start = draw.randrange(len(whole))
    assert fold.values(start, len(whole)).to_pylist() == wanted[start:]
    fold.keep(len(whole) - 1)
    assert fold.values(0, 1).to_pylist() == wanted[-1:]
    more = added(fold, 1, [[(True, values[:2]), (True, values[1:3])], [(False, values)]], kind)
    grown = [whole[-1] + more[0], whole[-1] + more[1], more[2]]
    assert fold.values(0, 4).to_pylist() == [wanted[-1], *expected(call, grown, kind)]


@pytest.mark.parametrize("name", CALLS)
def test_large_results_come_in_parts(name: str, monkeypatch: Any) -> None:
    """Results may take far more than rows: an answer has some of them, and the next goes on."""
    for limit, size in {"_BYTES": 300, "_LARGE": 0, "_ANSWER_BYTES": 1}.items():
        monkeypatch.setattr(window_frames, limit, size)
    call, kind, values = CALLS[name]
    fold = Frames(call_of(call), 1 << 16)
    windows = [[(True, [value]) for value in values * 20], [(False, []), (True, values)]]
    windows[0][0] = (False, values)
    whole = added(fold, 0, windows, kind)
    wanted, found, answers = expected(call, whole, kind), [], 0
    while len(found) < len(wanted):
        found += fold.values(len(found), len(wanted)).to_pylist()
        answers += 1
    assert found == wanted
    assert answers > 1
    fold.keep(len(whole) - 1)
    assert fold.values(0, 1).to_pylist() == wanted[-1:]
    added(fold, 1, [[(True, values)]], kind)
    assert fold.values(1, 2).to_pylist() == expected(call, [values + values], kind)


def test_what_fits_row_by_row_fits() -> None:
    """Two neighbours would not, without what comes before them."""
    call = call_of({"name": "sum", "type": "byte", "options": {}})
    fold = Frames(call, 1 << 16)
    fold.add(np.array([0, ~1, ~2], dtype=np.int32), pa.array([-100, 100, 100], pa.int8()))
    assert fold.values(0, 3).to_pylist() == [-100, 0, 100]
    fold.add(np.array([~3], dtype=np.int32), pa.array([100], pa.int8()))
    with pytest.raises(GroupError, match="does not fit TINYINT"):
        fold.values(0, 4)
