"""Stores that take their time: the same rows, few and large requests, ahead of their use."""

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from keyfold.files import fetch
from keyfold.read import reader
from keyfold.storage.table import Table
from keyfold.stores.files import Span
from keyfold.stores.local import LocalFiles
from keyfold.wire.specs import Split
from tests.bridge.client import PATIENCE, eventually
from tests.read import harness
from tests.storage import tables


class Requests:
    """What a store was asked for, and how much of it at the same time. It answers nothing before
    `meet` requests were there together, for as long as patience lasts.
    """

    def __init__(self) -> None:
        self.count = 0
        self.opened: set[str] = set()
        self.together = 0
        self.meet = 1
        self._now = 0
        self._changed = threading.Condition()

    def wait(self, seconds: float) -> None:
        with self._changed:
            self.count += 1
            self._now += 1
            self.together = max(self.together, self._now)
            self._changed.notify_all()
            if not self._changed.wait_for(lambda: self.together >= self.meet, PATIENCE):
                self.meet = 1
        time.sleep(seconds)
        with self._changed:
            self._now -= 1


@dataclass(frozen=True)
class Distant(LocalFiles):
    """Local files behind a wire: every read is a request."""

    requests: Requests = field(default_factory=Requests)

    @property
    def is_local(self) -> bool:
        return False

    def tail(self, path: str, most: int) -> tuple[Any, int]:
        self._wait(path)
        return super().tail(path, most)

    def ranges(self, path: str, spans: Sequence[Span]) -> list[Any]:
        self._wait(path)
        return super().ranges(path, spans)

    def _wait(self, path: str) -> None:
        self.requests.opened.add(Path(path).name)
        self.requests.wait(0.002)


@pytest.fixture
def requests(monkeypatch: pytest.MonkeyPatch) -> Requests:
    """Readers find their files in a distant store."""
    found = Requests()
    store = Distant(requests=found)
    monkeypatch.setattr(reader, "store_of", lambda *_: store)
    return found


def table_of(folder: Path, jobs: int, rows: int) -> Table:
    columns = [tables.column(name) for name in ("k", "a", "b", "c", "d")]
    settings = {"bucket": "1", "keyfold.row-group.rows": "1024"}
    table = tables.table(folder, tables.new_table(*columns, key="k", **settings))
    for job in range(jobs):
        keys = range(job, rows, job + 1)
        harness.upsert(table, [{"k": k, "a": job, "b": k, "c": -k, "d": k * k} for k in keys])
    return table


def stored_groups(table: Table) -> int:
    files = Path(table.layout.location, "bucket-0").iterdir()
    return sum(pq.read_metadata(file).num_row_groups for file in files)


def test_rows_of_a_distant_store(tmp_path: Path, requests: Requests) -> None:
    table = table_of(tmp_path, 5, 20_000)
    requests.meet = 4
    found = harness.rows(table)
    assert [row["k"] for row in found] == list(range(20_000))
    assert all(row["d"] == row["k"] ** 2 for row in found)
    # A request a row group and a few a file, where five columns alone would be five each.
    assert requests.count < 2.5 * stored_groups(table)
    assert requests.together >= 4


def test_sections_begin_before_the_one_before_them_ends(tmp_path: Path, requests: Requests) -> None:
    columns = [tables.column("k"), tables.column("v")]
    table = tables.table(tmp_path, tables.new_table(*columns, bucket="1"))
    for job in range(12):
        rows = [{"k": 100 * (job // 2) + i, "v": job} for i in range(50)]
        harness.upsert(table, rows)
    scan, splits, _ = harness.planned(table)
    (split,) = splits
    assert len(split.sections) == 6
    batches = reader.read(scan, split)
    first = next(batches)
    assert first.column("k").to_pylist()[0] == 0
    assert eventually(lambda: opened(requests, split)[1])
    time.sleep(0.1)  # time for more to be opened, which is not
    assert opened(requests, split) == [True, True, *[False] * 4]  # only the first was asked for
    left = sum(batch.num_rows for batch in batches)
    assert first.num_rows + left == 300


def opened(requests: Requests, split: Split) -> list[bool]:
    """Whether any file of it was, for each section."""
    return [
        any(file.name in requests.opened for run in section for file in run)
        for section in split.sections
    ]


def test_a_limit_leaves_no_thread_waiting(tmp_path: Path, requests: Requests) -> None:
    table = table_of(tmp_path, 40, 5_000)
    assert [row["k"] for row in harness.rows(table, limit=3)] == [0, 1, 2]
    assert len(harness.rows(table)) == 5_000
    busy = [thread for thread in threading.enumerate() if thread.name.startswith("fetch-")]
    assert len(busy) <= 4 * fetch.AT_ONCE
