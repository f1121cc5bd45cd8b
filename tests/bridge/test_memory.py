"""Workers under real caps: what they read, merge, write and compact never depends on how much that
is.

The caps are small so that the data may be. `peak_bytes` is what the kernel saw (VmHWM), so that a
merge which only just fits its limit on address space is seen too.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from keyfold.wire.layout import TableLayout
from keyfold.wire.message_texts import Messages
from keyfold.wire.partitions import UNPARTITIONED
from keyfold.wire.specs import (
    CommitMessage,
    CompactionSpec,
    DataFile,
    ScanSpec,
    Section,
    Split,
    Task,
    WriteSpec,
)
from keyfold.write.writer import write
from tests.bridge.client import Server, Worker, server
from tests.read import harness

MIB = 1 << 20


@pytest.fixture(scope="module")
def running() -> Iterator[Server]:
    with server() as started:
        yield started


@dataclass(frozen=True)
class Stored:
    """A table of one bucket: its runs, oldest first, and the newest row of each key."""

    layout: TableLayout
    section: Section

    @property
    def split(self) -> Split:
        return Split(UNPARTITIONED, 0, f"{self.layout.location}/bucket-0", (self.section,))

    def read(self, worker: Worker) -> tuple[pa.Table, int]:
        """Its rows, merged by a worker, and the worker's peak."""
        scan = ScanSpec(self.layout, tuple(self.layout.arrow_schema.names), {})
        answer = worker.ask("read", scan=scan.to_json(), splits=[self.split.to_json()])
        assert answer == {"ok": {}}
        rows = worker.rows()
        return rows, peak(worker.receive())

    def compacted(self, worker: Worker) -> tuple["Stored", int]:
        """The table after a full compaction by a worker, and the worker's peak."""
        spec = CompactionSpec(self.layout, {})
        task = Task(self.split, 5, (True,))
        answer = worker.ask("compact", compaction=spec.to_json(), task=[task.to_json()])
        (done,) = ok(answer)["done"]
        message = CommitMessage.from_json(done["files"])
        return Stored(self.layout, (files_of([message]),)), int(done["metrics"]["peak_bytes"])


def ok(answer: dict[str, Any] | None) -> dict[str, Any]:
    assert answer is not None
    assert "ok" in answer, answer["error"]["message"]
    found: dict[str, Any] = answer["ok"]
    return found


def peak(answer: dict[str, Any] | None) -> int:
    return int(ok(answer)["metrics"]["peak_bytes"])


def layout(folder: Path, columns: dict[str, str], **options: str) -> TableLayout:
    return harness.layout(folder, *columns.items(), key=next(iter(columns)), **options)


def files_of(messages: Sequence[CommitMessage]) -> tuple[DataFile, ...]:
    return tuple(
        DataFile(f.name, f.size, f.rows, 0, f.min_sequence, f.max_sequence, 0, f.level)
        for message in messages
        for f in message.files
    )


def stored(found: TableLayout, runs: int, rows: Callable[[int], pa.Table]) -> Stored:
    """A table of runs, each one job's."""
    section = []
    for run in range(runs):
        spec = WriteSpec(found, tuple(found.arrow_schema.names), False, run + 1, f"job {run}")
        batches = rows(run).cast(found.arrow_schema).to_batches(1 << 14)
        section.append(files_of(write(spec, batches)))
    return Stored(found, tuple(section))


def written(
    worker: Worker, found: TableLayout, batches: Sequence[pa.RecordBatch]
) -> tuple[list[CommitMessage], int]:
    """What a worker made of the rows, and its peak."""
    spec = WriteSpec(found, tuple(found.arrow_schema.names), False, 1, "job")
    question = {"write": spec.to_json(), "task": {"partition": 0, "attempt": 0}}
    assert worker.ask("write", **question) == {"ok": {}}
    worker.send_batches(found.arrow_schema, iter(batches))
    worker.send({"commit": True})
    answer = worker.receive()
    return [*Messages(worker.texts)], peak(answer)


def resident(worker: Worker) -> int:
    """What a worker holds now, what it shares with the server included."""
    lines = Path(f"/proc/{worker.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS:"))


def keyed(count: int, run: int, **columns: Any) -> pa.Table:
    """Keys drawn from twice as many; of each run others."""
    keys = np.sort(np.random.default_rng(run).choice(2 * count, count, replace=False))
    return pa.table({"k": keys, "v": np.full(count, run), **columns})


def newest(runs: int, count: int) -> dict[int, int]:
    """The greatest run of each key of `keyed`."""
    found: dict[int, int] = {}
    for run in range(runs):
        found |= dict.fromkeys(keyed(count, run)["k"].to_pylist(), run)
    return found


def text(count: int, size: int) -> pa.Array:
    """Texts of a size that hardly any file space is needed for."""
    return pa.array([f"{row:08d}" + "x" * (size - 8) for row in range(count)])


WIDE = {f"w{place}": ("BIGINT", "DOUBLE", "STRING")[place % 3] for place in range(200)}


def wide(count: int) -> dict[str, pa.Array]:
    draw = np.random.default_rng(1)
    kinds = [draw.integers(0, 1 << 40, count), draw.random(count), text(count, 12)]
    return {name: pa.array(kinds[place % 3]) for place, name in enumerate(WIDE)}


# How far rows are taken in ahead of the writer, whose threads the machine schedules as it likes.
AHEAD = 8 * MIB

Arrays = Callable[[], dict[str, pa.Array]]  # made by the test: all of them are more than a GB


def texts(count: int, size: int) -> Arrays:
    return lambda: {"t": text(count, size)}


# Name: columns beside the key and v, their types, runs, rows of a run, cap in MiB.
SHAPES: dict[str, tuple[Arrays, dict[str, str], int, int, int]] = {
    "50 runs": (dict, {}, 50, 20_000, 96),
    "250 MB of texts": (texts(60_000, 1_000), {"t": "STRING"}, 4, 60_000, 96),
    "200 columns": (partial(wide, 4_000), WIDE, 8, 4_000, 128),
    "texts of 100 KB": (texts(150, 100_000), {"t": "STRING"}, 8, 150, 160),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_merges_stay_within_the_cap(running: Server, tmp_path: Path, shape: str) -> None:
    """partial-update decodes and folds every column of every row; deduplicate only what wins. Both
    have the same files.
    """
    make, columns, runs, count, cap = SHAPES[shape]
    arrays = make()
    kinds = {"k": "BIGINT NOT NULL", "v": "BIGINT"} | columns
    table = stored(layout(tmp_path, kinds), runs, lambda run: keyed(count, run, **arrays))
    for engine in ("deduplicate", "partial-update"):
        merged = Stored(layout(tmp_path, kinds, merge_engine=engine), table.section)
        worker = running.connect(memory=cap * MIB)
        before = resident(worker)
        rows, highest = merged.read(worker)
        assert dict(zip(*rows.select(["k", "v"]).to_pydict().values(), strict=True)) == newest(
            runs, count
        )
        after, higher = merged.compacted(worker)
        again, _ = after.read(worker)
        assert again.equals(rows)
        print(f"{shape}, {engine}: {(highest - before) >> 20} and {(higher - before) >> 20} MiB")
        assert max(highest, higher) - before < cap * MIB
        worker.close()


@pytest.mark.parametrize(
    ("make", "columns", "buckets", "size", "limit"),
    [
        (partial(wide, 20_000), WIDE, 1, 4_000, 160),
        (partial(wide, 6_000), WIDE, 50, 4_000, 160),
        (texts(60_000, 2_000), {"t": "STRING"}, 1, 4_000, 160),
        (texts(60_000, 1_000), {"t": "STRING"}, 300, 4_000, 160),
        (texts(30_000, 9_600), {"t": "STRING"}, 1, 1_750, 96),
        (texts(30_000, 9_600), {"t": "STRING"}, 2, 1_750, 150),
        (texts(50_000, 9_600), {"t": "STRING"}, 1, 1_750, 320),
    ],
    ids=[
        "200 columns",
        "200 columns, 50 buckets",
        "120 MB of texts",
        "300 buckets",
        "batches of 16 MiB, 96 MiB",
        "batches of 16 MiB, 150 MiB",
        "batches of 16 MiB taken ahead",
    ],
)
def test_writes_stay_within_the_cap(
    running: Server,
    tmp_path: Path,
    make: Arrays,
    columns: dict[str, str],
    buckets: int,
    size: int,
    limit: int,
) -> None:
    kinds = {"k": "BIGINT NOT NULL", "v": "BIGINT"} | columns
    found = layout(tmp_path, kinds, bucket=str(buckets))
    arrays = make()
    count = len(next(iter(arrays.values())))
    rows = keyed(count, 0, **arrays).cast(found.arrow_schema)
    rows = rows.take(np.random.default_rng(1).permutation(count))
    cap = limit * MIB
    worker = running.connect(memory=cap)
    before = resident(worker)
    messages, highest = written(worker, found, rows.to_batches(size))
    assert len(messages) == buckets
    assert sum(file.rows for message in messages for file in message.files) == count
    print(f"{len(arrays)} columns, {buckets} buckets: {(highest - before) >> 20} MiB")
    assert highest - before < cap + AHEAD
    worker.close()


HUGE = 24 * MIB


def huge(folder: Path, runs: int) -> Stored:
    """Runs of three rows, one of which is huge."""
    found = layout(folder, {"k": "BIGINT NOT NULL", "v": "BIGINT", "t": "STRING"})
    texts = pa.array(["a", "x" * HUGE, "c"])
    return stored(found, runs, lambda run: pa.table({"k": [1, 2, 3], "v": [run] * 3, "t": texts}))


def test_a_huge_row_takes_at_most_five_times_its_size(running: Server, tmp_path: Path) -> None:
    """Of its page, encoded and compressed, of the batch and what is made of it."""
    table = huge(tmp_path, 3)
    cap = 48 * MIB + 5 * HUGE
    worker = running.connect(memory=cap)
    before = resident(worker)
    rows, highest = table.read(worker)
    assert rows["v"].to_pylist() == [2, 2, 2]
    assert len(rows["t"][1].as_py()) == HUGE
    after, higher = table.compacted(worker)
    again, _ = after.read(worker)
    assert again.equals(rows)
    worker.close()
    writer = running.connect(memory=cap)
    found = table.layout
    message, highest_written = written(writer, found, rows.to_batches())
    assert sum(file.rows for one in message for file in one.files) == len(rows)
    writer.close()
    peaks = [one - before for one in (highest, higher, highest_written)]
    print("read, compact, write:", *(f"{one / HUGE:.1f} x" for one in peaks))
    assert max(peaks) < 5 * HUGE


def test_what_does_not_fit_names_the_option(running: Server, tmp_path: Path) -> None:
    table = huge(tmp_path, 2)
    worker = running.connect(memory=96 * MIB)
    spec = CompactionSpec(table.layout, {})
    task = Task(table.split, 5, (True,))
    answer = worker.ask("compact", compaction=spec.to_json(), task=[task.to_json()])
    assert "raise spark.keyfold.worker.memory" in answer["error"]["message"]
    worker.close()


def test_one_key_with_long_lists_in_many_runs(running: Server, tmp_path: Path) -> None:
    kinds = {"k": "BIGINT NOT NULL", "t": {"type": "ARRAY", "element": "BIGINT"}}
    options = {"merge-engine": "aggregation", "fields.t.aggregate-function": "collect"}
    found = layout(tmp_path, kinds, **options)  # type: ignore[arg-type]
    count = 20_000

    def rows(run: int) -> pa.Table:
        many = pa.array([np.arange(run * count, (run + 1) * count)], pa.list_(pa.int64()))
        return pa.table({"k": pa.array([7]), "t": many})

    worker = running.connect(memory=96 * MIB)
    merged, _ = stored(found, 50, rows).read(worker)
    assert merged["t"][0].as_py() == list(range(50 * count))
    worker.close()
