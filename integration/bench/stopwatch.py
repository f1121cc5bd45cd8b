"""Stopwatches around the functions that a read spends its time in, for profile.py.

A time is that of the processor, so that a busy machine shows about the same. It does not count the
functions with a stopwatch of their own that are called meanwhile. So the times add up, and the time
of all Python code between them is what is left.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import wraps
from typing import Any

# Each function where it is looked up: `module:name`, or `module:class.name`.
PIECES = {
    "bytes are read from the page cache": ("files.chunks:Chunks._stored",),
    "checksums": ("files.chunks:check",),
    "zstd": ("files.chunks:_Chunk._opened",),
    "packed differences become numbers": ("files.chunks:unpack_deltas",),
    "numbers stored as they are, text": (
        "files.chunks:_numbers",
        "files.chunks:_texts",
        "files.chunks:add_lengths",
    ),
    "metadata of chunks, page headers": ("files.chunks:Chunks._decoded", "files.chunks:headers_of"),
    "rounds: runs are cut by key": (
        "merge.window:Window.fill",
        "merge.window:Window.cut",
        "merge.window:Window._add",
    ),
    "keys become words": ("merge.run:encode_closed",),
    "the order of keys, groups": ("merge.run:merge_groups",),
    "the choice of rows": ("merge.run:fold_step", "merge.column_results:indices"),
    "row groups of a column put together": ("merge.column_results:combine",),
    "chosen values are copied": (
        "merge.column_results:Columns.taken",
        "merge.engines.aggregation:take",
        "merge.engines.partial_update.group_columns:take",
        "aggregates.results:take",
    ),
    "sums and maxima of groups": (
        "merge.results:column_result",
        "merge.engines.aggregation:added_column",
        "merge.engine:groups_of_rows",
    ),
    "the bench's own max of every column": ("integration.bench.answers:most_of",),
}
_TAKEN: dict[str, float] = {}
_INNER: list[float] = []


def start() -> None:
    """Set every stopwatch to zero."""
    if not _TAKEN:
        for piece, places in PIECES.items():
            for place in places:
                _wind(piece, place)
    _TAKEN.update(dict.fromkeys(PIECES, 0.0))


def seconds() -> list[float]:
    """The time of each piece since `start`."""
    return [_TAKEN[piece] for piece in PIECES]


def _wind(piece: str, place: str) -> None:
    module, _, path = place.partition(":")
    is_bench = module.startswith("integration.")
    holder: Any = sys.modules[module if is_bench else f"keyfold.{module}"]
    *outer, name = path.split(".")
    for part in outer:
        holder = getattr(holder, part)
    setattr(holder, name, _timed(piece, getattr(holder, name)))


def _timed(piece: str, function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def timed(*arguments: Any, **named: Any) -> Any:
        begun = time.process_time()
        _INNER.append(0.0)
        try:
            return function(*arguments, **named)
        finally:
            passed = time.process_time() - begun
            _TAKEN[piece] += passed - _INNER.pop()
            if _INNER:
                _INNER[-1] += passed

    return timed
