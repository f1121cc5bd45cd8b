"""Data files in an object store, by obstore and by pyarrow.

`python -m integration.bench.store_clients [ms]`: the server of the tests answers each request 20 ms
later, or as many as are named. Files are written and read as tasks do it, by the clients in turn;
seconds and processor time of this process are medians.
"""

import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq

from keyfold.files.fetch import fetched
from keyfold.files.footers import footer_of, forget
from keyfold.stores import settings
from keyfold.stores.files import Files, Span
from keyfold.stores.objects import ObjectFiles
from tests.stores import server

FILES = ((2_000, 10), (100_000, 4), (1_000_000, 1))  # rows of each, and how many
COLUMNS = "abcdef"
ROUNDS, GROUP, BATCH_BYTES = 7, 1 << 16, 16 << 20


@dataclass(frozen=True)
class ByArrow(ObjectFiles):
    """Data files by pyarrow's client, whose opening of a file is a request."""

    @cached_property
    def client(self) -> pafs.FileSystem:
        return pafs.S3FileSystem(
            access_key=self.options["access_key_id"],
            secret_key=self.options["secret_access_key"],
            endpoint_override=self.options["endpoint"],
            region=self.options["region"],
        )

    def tail(self, path: str, most: int) -> tuple[pa.Buffer, int]:
        with self.client.open_input_file(path.split("://")[1]) as file:
            size = file.size()
            return pa.py_buffer(file.read_at(min(most, size), max(size - most, 0))), size

    def ranges(self, path: str, spans: Sequence[Span]) -> list[pa.Buffer]:
        with self.client.open_input_file(path.split("://")[1]) as file:
            first, last = spans[0][0], spans[-1][1]  # they are next to each other
            found = pa.py_buffer(file.read_at(last - first, first))
            return [found.slice(start - first, stop - start) for start, stop in spans]

    def create(self, path: str) -> pa.NativeFile:
        return self.client.open_output_stream(path.split("://")[1])


def rows(count: int) -> pa.Table:
    draw = np.random.default_rng(1)
    return pa.table({name: draw.integers(0, 1 << 40, count) for name in COLUMNS})


def write(files: Files, paths: Sequence[str], table: pa.Table) -> None:
    for path in paths:
        with files.create(path) as sink:
            pq.write_table(table, sink, row_group_size=GROUP)


def read(files: Files, paths: Sequence[str], size: int) -> None:
    for path in paths:
        forget([path])
        metadata = footer_of(files, path, size).metadata
        groups = range(metadata.num_row_groups)
        source = fetched(files, path, size, metadata, groups, COLUMNS, BATCH_BYTES)
        file = pq.ParquetFile(source, metadata=metadata, pre_buffer=False)
        for _ in file.iter_batches(batch_size=GROUP, use_threads=False):
            pass


def compare(acts: dict[str, Callable[[], None]]) -> None:
    """Print medians of the acts, done in turn; the first turn does not count."""
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in acts}
    for _ in range(ROUNDS + 1):
        for name, act in acts.items():
            start, used = time.perf_counter(), time.process_time()
            act()
            times[name].append((time.perf_counter() - start, time.process_time() - used))
    for name, found in times.items():
        seconds, processor = (statistics.median(each) for each in zip(*found[1:], strict=True))
        print(f"  {name:16} {seconds:6.3f} s, processor {processor:6.3f} s", flush=True)


def main(millis: float) -> None:
    """Print all figures."""
    with server.running(millis / 1000) as options:
        root = options["warehouse"]
        given: Any = settings.store_options(root, options)
        clients: dict[str, Files] = {
            "obstore": ObjectFiles(root, given),
            "pyarrow": ByArrow(root, given),
        }
        for count, copies in FILES:
            table, paths = rows(count), [f"{root}/{count}-{n}" for n in range(copies)]
            write(clients["obstore"], paths, table)
            _, size = clients["obstore"].tail(paths[0], 1)
            print(f"{copies} files of {size / 1e6:.2f} MB, {millis:g} ms a request")
            acts: dict[str, Callable[[], None]] = {}
            for name, files in clients.items():
                acts[f"{name} reads"] = partial(read, files, paths, size)
                acts[f"{name} writes"] = partial(write, files, paths, table)
            compare(acts)


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 20.0)
