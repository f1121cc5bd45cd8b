"""Gather and Combine, by two aggregates only this test declares: joined text and united sets."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from keyfold.aggregates.declare import ANY, Combine, Gather, Inputs, Records
from keyfold.aggregates.results import column_result
from keyfold.kernels.buffers import Rows, validity
from keyfold.kernels.ops import ADD, RETRACT


def joined(records: Records) -> Any:
    """All texts that are not None, joined; None for none."""
    texts = [text for op, text in records if op == ADD and text is not None]
    return "".join(texts) or None


def united(records: Records) -> bytes | None:
    """The sorted union of the states' bytes, less what is retracted."""
    seen: set[int] = set()
    for op, state in records:
        seen = seen - set(state or b"") if op == RETRACT else seen | set(state or b"")
    return bytes(sorted(seen))


def gather(inputs: Inputs) -> tuple[Rows, Rows]:
    keeps = (inputs.ops == ADD) & (validity(inputs.column)[inputs.order] == 1)
    offsets = np.concatenate(([0], np.cumsum(keeps)))[inputs.starts]
    return inputs.order[keeps], offsets


def finish(taken: pa.Array, offsets: Rows, kind: pa.DataType) -> pa.Array:
    bounds = np.frombuffer(taken.buffers()[1], np.int32)[offsets]
    empty = pa.array(bounds[1:] == bounds[:-1])
    buffers = [None, pa.py_buffer(bounds), taken.buffers()[2]]
    text = pa.Array.from_buffers(kind, len(offsets) - 1, buffers)
    return pc.if_else(empty, pa.scalar(None, kind), text)


JOINED = Gather("joined", ANY, joined, gather=gather, finish=finish)
UNITED = Combine("united", ANY, united, is_retractable=True, combine=united)
STARTS = np.array([0, 1, 3, 6], dtype=np.int64)
ORDER = np.array([5, 0, 1, 2, 4, 3], dtype=np.int64)


def test_gather_takes_many_rows_a_group() -> None:
    texts = pa.array(["b", "a", None, "d", "c", None])
    ops = np.array([ADD, ADD, ADD, ADD, ADD, RETRACT], dtype=np.int8)
    found = column_result(JOINED, Inputs(texts, ops, ORDER, STARTS)).array.to_pylist()
    items = [(op, texts[row].as_py()) for op, row in zip(ops.tolist(), ORDER.tolist(), strict=True)]
    assert found == [joined(items[:1]), joined(items[1:3]), joined(items[3:])] == [None, "ba", "c"]


def test_combine_calls_once_a_group_and_leaves_lone_states_alone() -> None:
    states = pa.array([b"b", b"ab", b"cd", b"d", None, b"zz"])
    ops = np.array([ADD, ADD, ADD, ADD, ADD, RETRACT], dtype=np.int8)
    found = column_result(UNITED, Inputs(states, ops, ORDER, STARTS)).array.to_pylist()
    assert found == [b"zz", b"ab", b"c"]
