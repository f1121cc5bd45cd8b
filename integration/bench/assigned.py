"""Memory that finding the buckets of keys takes, where a partition with dynamic buckets holds many:
`python -m integration.bench.assigned [keys]`, 50 million by default.

Index files of so many keys are made, then a process of its own gives a million other keys their
buckets: as a task of Spark, which gets one part of the keys, and as a program of Python, which has
all parts. Shown are seconds of processor, and peak memory with that before the keys came.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from integration.bench.datapath import COLUMNS, layout
from keyfold.files.hash_index import encoded, hash_path
from keyfold.files.paimon_values import hashes
from keyfold.kernels import jit
from keyfold.options.clusters import clusters
from keyfold.options.parsing import parse
from keyfold.wire.layout import TableLayout
from keyfold.wire.partitions import UNPARTITIONED
from keyfold.wire.specs import HashFile, WriteSpec
from keyfold.write.keys.assigned import AssignedPlaces
from keyfold.write.keys.known_hashes import parts_of

KEYS, NEW, BATCH = 50_000_000, 1_000_000, 100_000
SPREAD = 2654435761  # an odd number: products with it are different hashes
MOST = 2_000_000  # keys of a bucket


def made(found: TableLayout, keys: int) -> Iterator[HashFile]:
    """Index files as jobs would leave them: full buckets of each part."""
    every = (np.arange(keys, dtype=np.uint64) * SPREAD).astype(np.uint32).view(np.int32)
    parts = clusters(parse(found))
    numbers = parts_of(every, parts)
    (Path(found.location) / "index").mkdir()
    for part in range(parts):
        own = every[numbers == part]
        for at, first in enumerate(range(0, len(own), MOST)):
            some, bucket = own[first : first + MOST], part + at * parts
            Path(hash_path(found, f"index-{bucket}")).write_bytes(encoded(some))
            yield HashFile(UNPARTITIONED, bucket, f"index-{bucket}", len(some))


def assigned(folder: Path, part: int | None) -> dict[str, float]:
    """The figures of this process, which assigns the keys of one part, or of all."""
    found = layout(folder, bucket="-1")
    files = json.loads((folder / "files.json").read_text())
    known = tuple(HashFile(UNPARTITIONED, bucket, f"index-{bucket}", n) for bucket, n in files)
    spec = WriteSpec(found, tuple(COLUMNS), True, 1, "job", hashes=known)
    jit.warm()
    draw, before = np.random.default_rng(1), megabytes()
    began, placed = time.process_time(), 0
    places = AssignedPlaces(spec)
    for _ in range(NEW // BATCH):
        batch = pa.record_batch({"id": draw.integers(0, 1 << 62, BATCH)})
        if part is not None:
            of = hashes(found, found.key, [batch.column(name) for name in found.key])
            batch = batch.filter(parts_of(of.astype(np.int32), clusters(parse(found))) == part)
        placed += sum(some.num_rows for _, some in places.split(batch))
    took = time.process_time() - began
    return {"keys": placed, "before": before, "peak": megabytes(), "seconds": took}


def megabytes() -> float:
    """The peak of this process alone: that of `getrusage` begins with its parent's."""
    told = Path("/proc/self/status").read_text()
    return int(told.partition("VmHWM:")[2].split()[0]) / 1024


def main(keys: int) -> None:
    """Make the index, and print both."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        files = [(file.bucket, file.rows) for file in made(layout(folder, bucket="-1"), keys)]
        (folder / "files.json").write_text(json.dumps(files))
        for what, part in (("a task of Spark, one part", "0"), ("Python, all parts", "all")):
            command = [sys.executable, "-m", "integration.bench.assigned", scratch, part]
            told = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout
            found = json.loads(told)
            print(
                f"{what:26} {found['keys']:>9,.0f} keys {found['seconds']:6.2f} s "
                f"{found['peak']:6.0f} MB, {found['before']:.0f} before"
            )


if __name__ == "__main__":
    if len(sys.argv) > 2:
        own = None if sys.argv[2] == "all" else int(sys.argv[2])
        print(json.dumps(assigned(Path(sys.argv[1]), own)))
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else KEYS)
