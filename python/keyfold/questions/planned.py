"""The answers about plans of reads: what executors read, in the words that they are sent."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from keyfold.bridge import frames
from keyfold.questions.serve import functions_for
from keyfold.read.splits import Tasks
from keyfold.wire.codec import Wire
from keyfold.wire.layout import TableLayout

_ESCAPES = ("\\", "\\\\"), ('"', '\\"')  # in texts of JSON as texts of JSON


def planned(
    question: frames.Frame,
    layout: TableLayout,
    spec: Wire,
    tasks: Sequence[Sequence[Wire]] | frames.TaskTexts,
) -> dict[str, Any]:
    """The part of an answer that has what executors read: the spec of all tasks with the session's
    functions, and the splits of each task as a text, which the JVM passes on.
    """
    return {
        "scan": spec.to_json() | functions_for(question, layout),
        frames.TASKS: tasks if isinstance(tasks, frames.TaskTexts) else texts_of(tasks),
    }


def texts_of(tasks: Sequence[Sequence[Wire]]) -> frames.TaskTexts:
    """The splits of each task as a text."""
    if isinstance(tasks, Tasks):
        return frames.TaskArrays(_bodies(tasks.text_arrays()))
    return frames.TaskTexts(map(_text, tasks))


def _bodies(chunks: Iterable[pa.Array | list[str]]) -> Iterator[bytes]:
    """The arrays in which texts travel. Those of Arrow become no objects."""
    for texts in chunks:
        if isinstance(texts, list):
            yield from frames.TaskTexts(texts).arrays()
            continue
        for plain, escaped in _ESCAPES:
            texts = pc.replace_substring(texts, plain, escaped)
        ends = np.cumsum(pc.binary_length(texts).to_numpy())
        lasts = np.flatnonzero(np.diff(ends // frames.PART_BYTES)) + 1
        offsets = pa.array([0, *lasts.tolist(), len(texts)], pa.int32())
        for body in pc.binary_join(pa.ListArray.from_arrays(offsets, texts), '","'):
            yield b"".join((b'["', body.as_buffer(), b'"]'))


def splits_of(tasks: Sequence[Sequence[Wire]]) -> int:
    """The number of splits of all tasks."""
    return tasks.count_splits() if isinstance(tasks, Tasks) else sum(map(len, tasks))


def _text(task: Sequence[Wire]) -> str:
    return frames.text_of([split.to_json() for split in task])
