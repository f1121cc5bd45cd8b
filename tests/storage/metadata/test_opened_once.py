"""Where buckets are in many manifests, these are gone through one after another: they are kept
compressed, and of few the content stays.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from keyfold.compact.compaction_plan import CompactionRequest, plan_steps
from keyfold.compact.health import table_health
from keyfold.files.sections import sections
from keyfold.lookup.lookup_plan import plan_lookup
from keyfold.read.parts import Reading, ScanParts
from keyfold.resources.cache import Cache
from keyfold.storage.commits import commit
from keyfold.storage.commits.compaction import Compaction
from keyfold.storage.metadata import manifest_columns
from keyfold.storage.metadata.documents import AvroFile, opened
from keyfold.storage.metadata.entries import LiveFile
from keyfold.storage.metadata.live_files import Asked
from keyfold.storage.table import Table
from tests.storage import damaged, tables

BUCKETS, MANIFESTS = 50, 4


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Table:
    """A table with files of all its buckets in each manifest, of which one is open at a time."""
    monkeypatch.setattr(manifest_columns, "VIEWS", Cache[memoryview](1, len))
    new = tables.new_table(bucket=f"{BUCKETS}", write_only="true")
    made = tables.table(tmp_path, new)
    for _ in range(MANIFESTS):
        ours = [tables.message(made, bucket=one, total=BUCKETS) for one in range(BUCKETS)]
        assert commit.append(made, tables.spec(made), ours)
    damaged.forget()
    found = tables.reload(made)
    assert len(found.live_files()) == MANIFESTS * BUCKETS
    return found


@pytest.fixture
def openings(monkeypatch: pytest.MonkeyPatch, table: Table) -> Iterator[list[int]]:
    """The sizes of the manifests that are decompressed again."""
    found: list[int] = []

    def counted(data: bytes) -> AvroFile:
        found.append(len(data))
        return opened(data)

    monkeypatch.setattr(manifest_columns, "opened", counted)
    yield found
    assert MANIFESTS - 1 <= len(found) <= 3 * MANIFESTS


def test_manifests_that_are_written_anew(table: Table, openings: list[int]) -> None:
    assert commit.compact_manifests(table)
    newest = tables.reload(table)
    assert newest.snapshot_id == MANIFESTS + 1
    (listed,) = table.manifests.listed(newest.snapshots.read(MANIFESTS + 1))
    buckets = [file.bucket for file in table.manifests.added(listed)]
    assert buckets == sorted([*range(BUCKETS)] * MANIFESTS)
    names = {file.name for file in table.live_files()}
    assert {file.name for file in newest.live_files()} == names


def each(files: Sequence[LiveFile]) -> list[tuple[LiveFile, ...]]:
    return [(file,) for file in files]


def test_plans_of_scans(table: Table, openings: list[int]) -> None:
    live, _ = table.to_read(Asked())
    parts = ScanParts.of(Reading(None, sections, None), live)
    assert [len(section) for section in parts.units] == [MANIFESTS] * BUCKETS


def test_plans_of_filtered_scans(table: Table, openings: list[int]) -> None:
    def keeps(file: LiveFile) -> bool:
        return bool(file.value_stats(table.layout)["v"][1] == 9 and file.bucket > 0)

    live, _ = table.to_read(Asked())
    parts = ScanParts.of(Reading(None, each, keeps), live)
    assert [len(section) for section in parts.units] == [1] * (BUCKETS - 1) * MANIFESTS


def test_plans_of_compactions(table: Table, openings: list[int]) -> None:
    _, steps = plan_steps(table, CompactionRequest("full"))
    assert len(steps) == BUCKETS


def test_commits_of_compactions(table: Table, openings: list[int]) -> None:
    _, steps = plan_steps(table, CompactionRequest("full"))
    ready = list[Compaction]()
    for step in (one.step for one in steps):
        made = tables.message(table, bucket=step.bucket, total=BUCKETS)
        files = (replace(made.files[0], level=step.level),)
        ready.append(Compaction(step, [replace(made, files=files)]))
    damaged.forget()
    openings.clear()
    assert commit.compact(table, ready) == (MANIFESTS + 1, {})
    assert len(tables.reload(table).live_files()) == BUCKETS


def test_health(table: Table, openings: list[int]) -> None:
    found = table_health(table.live_files(), table.options, "")
    assert [one.runs for one in found] == [MANIFESTS] * BUCKETS


def test_lookups(table: Table, openings: list[int]) -> None:
    assert len(plan_lookup(table, ("v",)).places) == BUCKETS
