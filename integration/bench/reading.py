"""keyfold's reader of splits and nothing around it: python -m integration.bench.reading

A line of JSON on stdin names a scan, splits and what is made of their rows; a line on stdout is the
answer. The process is set up as an executor's worker is: allocator, memory cap, kernels, no pandas.
"""

from __future__ import annotations

import gc
import json
import sys
import traceback
import zlib
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integration.bench.answers import PRODUCTS, TEXTS
from keyfold.bridge import memory
from keyfold.kernels import jit
from keyfold.questions import executor
from keyfold.read.reader import read
from keyfold.wire.specs import ScanSpec, Split

Batches = Iterator[pa.RecordBatch]


def greatest(batches: Batches) -> list[float]:
    """Touches every cell, as `max` of every column does: what is timed. Answers the rows."""
    rows = 0
    most: dict[str, Any] = {}
    for batch in batches:
        rows += batch.num_rows
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            found = pc.max(column).as_py()
            if found is not None:
                most[name] = max(most.get(name, found), found)
    return [float(rows)]


def checked(batches: Batches) -> list[float]:
    """What answers are compared by: answers.py says it in SQL."""
    sums: list[float] = []
    for batch in batches:
        pair = [column for column in batch.columns if column.type == pa.int64()][:2]
        product = np.prod([column.to_numpy() for column in pair], axis=0) % PRODUCTS
        found = [batch.num_rows, *map(total, batch.columns), int(product.sum())]
        sums = [a + b for a, b in zip(sums or [0.0] * len(found), found, strict=True)]
    return sums


def total(column: pa.Array) -> float:
    """A column's sum; of checksums where it is text."""
    if pa.types.is_string(column.type):
        cells = column.cast(pa.binary()).to_pylist()
        return sum(zlib.crc32(cell) % TEXTS for cell in cells if cell is not None)
    return float(pc.sum(column).as_py() or 0)


FOLDS: dict[str, Callable[[Batches], list[float]]] = {"scan": greatest, "answer": checked}


def answer(request: Any) -> list[float]:
    """The numbers of some splits."""
    scan = ScanSpec.from_json(request["scan"])
    splits = map(Split.from_json, request["splits"])
    return FOLDS[request["do"]](chain.from_iterable(read(scan, split) for split in splits))


def main() -> None:
    """Answer until stdin ends."""
    sys.meta_path.insert(0, executor.WithoutPandas())
    jit.warm()
    gc.collect()
    gc.freeze()
    memory.cap(None)
    print("ready", flush=True)
    for line in sys.stdin:
        try:
            found = {"numbers": answer(json.loads(line))}
        except Exception:
            found = {"error": traceback.format_exc()}
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
