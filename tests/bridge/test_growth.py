"""Processes that live long don't grow with what they have done: tables change under them, sizes
stay.
"""

import gc
import itertools
import os
import uuid
import weakref
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from keyfold.storage.metadata import manifest_columns, manifests, snapshot_files
from keyfold.stores.opened import store_of
from keyfold.wire.specs import Section
from keyfold.write.writer import write
from tests.bridge.client import server
from tests.bridge.test_memory import Stored, layout, stored
from tests.compact import harness as compaction
from tests.compact import histories
from tests.storage import tables

MIB = 1 << 20


def test_a_worker_is_as_large_after_many_compactions(tmp_path: Path) -> None:
    """Each compaction reads files of new names, as those of a table that is written to."""
    found = stored(
        layout(tmp_path, {"k": "BIGINT NOT NULL", "v": "BIGINT"}),
        10,
        lambda run: pa.table({"k": pa.array(range(run, 90, 10)), "v": pa.array(range(9))}),
    )
    with server() as started:
        worker = started.connect()

        def compactions(count: int) -> int:
            """The worker's own memory after so many."""
            for _ in range(count):
                renamed(found).compacted(worker)
            return anonymous(worker.pid)

        before = compactions(50)
        assert compactions(400) - before < 16 * MIB  # their 4,000 footers would take 50


def renamed(found: Stored) -> Stored:
    """The same rows in files of names that no worker has seen."""
    names = (f"data-{uuid.uuid4()}-0.parquet" for _ in itertools.count())
    folder = Path(found.split.path)
    section: Section = tuple(
        tuple(replace(file, name=linked(folder / file.name, next(names))) for file in run)
        for run in found.section
    )
    return Stored(found.layout, section)


def linked(file: Path, name: str) -> str:
    os.link(file, file.with_name(name))
    return name


def anonymous(pid: int) -> int:
    """Bytes of memory that are no file's, written to by the process or shared with its parent."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon:"))


def test_the_driver_process_keeps_no_more_objects(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(manifests.CACHE, "_most", 5 * 10_000)  # bytes
    monkeypatch.setattr(manifest_columns.FILES, "_most", 5 * 60)  # files
    monkeypatch.setattr(manifest_columns.VIEWS, "_most", 5 * 60)  # bytes
    for cache in (snapshot_files.LIVE, snapshot_files.LISTS):
        monkeypatch.setattr(cache, "_most", 1)
    found = tables.table(tmp_path, tables.new_table(bucket="1"))
    rows = pa.record_batch({"k": pa.array(range(9)), "v": pa.array(range(9))})

    def commit() -> None:
        spec = tables.spec(found, next(tables.SEQUENCES))
        histories.committed(found, spec, write(spec, [rows.cast(found.layout.arrow_schema)]))
        compaction.compact(found, "minor")

    before = objects(commit, 30)
    assert objects(commit, 40) - before < 400  # 50 per commit where all manifests stay


def objects(act: Callable[[], None], times: int) -> int:
    """How many objects the garbage collector knows after so many turns."""
    for _ in range(times):
        act()
    gc.collect()
    return len(gc.get_objects())


def test_clients_of_renewed_secrets_go() -> None:
    made = []
    for number in range(300):
        options = {"region": "us-east-1", "access_key_id": "a", "secret_access_key": "b"}
        store = store_of("s3://bucket/t", options | {"session_token": f"token {number}"})
        made.append(weakref.ref(store))
    del store
    gc.collect()
    assert 1 <= sum(one() is not None for one in made) <= 260
