"""keyfold's reader of splits and nothing around it: python -m integration.bench.reading

A line of JSON on stdin names a scan, splits and what is made of their rows; a line on stdout is the
answer. The process is set up as an executor's worker is: allocator, memory cap, kernels, no pandas.
"""

from __future__ import annotations

import gc
import json
import sys
import time
import traceback
from itertools import chain
from typing import Any

from integration.bench import stopwatch
from integration.bench.answers import FOLDS, Batches, greatest
from keyfold.bridge import memory
from keyfold.kernels import jit
from keyfold.questions import executor
from keyfold.read.reader import read
from keyfold.wire.specs import ScanSpec, Split


def profiled(batches: Batches) -> list[float]:
    """The processor's seconds of each piece of the scan, in the order of `stopwatch.PIECES`, then
    of the whole. Stopwatches stay, so this process times nothing else from then on.
    """
    stopwatch.start()
    begun = time.process_time()
    greatest(batches)
    return [*stopwatch.seconds(), time.process_time() - begun]


def answer(request: Any) -> list[float]:
    """The numbers of some splits."""
    scan = ScanSpec.from_json(request["scan"])
    splits = map(Split.from_json, request["splits"])
    fold = profiled if request["do"] == "profile" else FOLDS[request["do"]]
    return fold(chain.from_iterable(read(scan, split) for split in splits))


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
