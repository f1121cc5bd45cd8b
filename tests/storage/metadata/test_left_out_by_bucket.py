"""Manifests that a read leaves out as none of their buckets or levels is asked for."""

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from keyfold.compact import jobs
from keyfold.errors import CorruptDataError, TableError
from keyfold.read.plan_head import PlanHead
from keyfold.read.request import ReadRequest
from keyfold.read.scan_plan import plan_read
from keyfold.storage.commits import commit
from keyfold.storage.commits.attempts import CommitInfo, Entries, attempt
from keyfold.storage.commits.compaction import Compaction
from keyfold.storage.metadata import manifests
from keyfold.storage.metadata.entries import Record, added
from keyfold.storage.metadata.live_files import Asked
from keyfold.storage.metadata.merging import merge
from keyfold.storage.table import Table
from tests.read.harness import where
from tests.storage import damaged, tables

BUCKETS, COMMITS = 6, 12


def committed(found: Table, draw: random.Random) -> Table:
    """Files of one or two buckets at one level, of which some go again later."""
    records: list[Record] = []
    level = draw.choice([0, 0, 4, 5])
    for bucket in draw.sample(range(BUCKETS), draw.choice([1, 1, 2])):
        one = tables.message(found, bucket=bucket, total=BUCKETS)
        files = tuple(replace(file, level=level) for file in one.files)
        records += added(found.shapes, [replace(one, files=files)])
    live = found.live_files()
    records += [file.deleted() for file in draw.sample(live, min(1, len(live) // 4))]
    with found.held() as location:
        by, base = CommitInfo(f"{draw.random()}", commit.APPEND), found.snapshots.latest()
        assert attempt(found, by, base, Entries(records), location) is not None
    return tables.reload(found)


def test_files_of_buckets_and_levels_are_those_of_all(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, draw, read = tables.table(tmp_path, tables.new_table(bucket="6")), random.Random(seed), 0
    decoded = manifests.Manifests.decoded

    def counted(self: manifests.Manifests, listed: Record) -> object:
        nonlocal read
        read += 1
        return decoded(self, listed)

    monkeypatch.setattr(manifests.Manifests, "decoded", counted)
    listed = 0
    for _ in range(COMMITS):
        table = committed(table, draw)
        every = table.live_files()
        for level in (0, 5):
            for key in range(BUCKETS):
                damaged.forget()
                head = PlanHead.of(table, ReadRequest(("k",), (where("=", "k", key),)))
                takes = head.chosen.bucket_filter
                assert takes is not None
                read = 0
                found, _ = table.to_read(Asked(takes_bucket=takes, least_level=level))
                wanted = [f for f in every if takes(f.bucket, BUCKETS) and f.level >= level]
                assert [file.name for file in found] == [file.name for file in wanted]
                of_all = len(table.manifests.listed(table.snapshots.read(table.snapshot_id or 0)))
                listed += of_all - read
    assert listed > COMMITS


def test_a_manifest_of_other_buckets_may_be_gone(tmp_path: Path) -> None:
    table = tables.table(tmp_path, tables.new_table(bucket="2"))
    for bucket in (0, 1):
        message = tables.message(table, bucket=bucket)
        assert commit.append(table, tables.spec(table), [message])
        table = tables.reload(table)
    gone = table.manifests.listed(table.snapshots.read(2))[0]
    Path(table.manifests.path(gone["_FILE_NAME"])).unlink()
    answers: dict[bool, list[int]] = {True: [], False: []}
    for key in range(9):
        damaged.forget()
        request = ReadRequest(("k",), (where("=", "k", key),))
        keeps: Callable[[int, int], bool] | None = PlanHead.of(table, request).chosen.bucket_filter
        assert keeps is not None
        needs = keeps(0, 2)
        answers[needs].append(key)
        if needs:
            with pytest.raises(CorruptDataError, match=gone["_FILE_NAME"]):
                plan_read(table, request)
        else:
            assert plan_read(table, request)[2].files_read == 1
    assert all(answers.values())


def test_commits_and_compactions_read_manifests_of_their_buckets(tmp_path: Path) -> None:
    """Of a table without partitions, unless it may have other numbers of buckets."""
    table = tables.table(tmp_path, tables.new_table(bucket="2"))
    for bucket in (0, 0, 0, 0, 0, 1):
        message = tables.message(table, bucket=bucket)
        assert commit.append(table, tables.spec(table), [message])
        table = tables.reload(table)
    for gone in table.manifests.listed(table.snapshots.read(6))[:5]:
        Path(table.manifests.path(gone["_FILE_NAME"])).unlink()
    damaged.forget()
    with pytest.raises(CorruptDataError):
        table.live_files()
    found = [tables.message(table, bucket=1, total=total) for total in (2, 3)]
    assert commit.append(table, tables.spec(table), found[:1]) == 7
    table = tables.reload(table)
    damaged.forget()
    planned = jobs.plan_job(table, "full", touched=frozenset([((), 1)]))
    (step,) = (one.step for one in planned.steps)
    new = tables.message(table, bucket=1)
    merged = [replace(new, files=(replace(new.files[0], level=step.level),))]
    damaged.forget()
    done, errors = commit.compact(table, [Compaction(step, merged)])
    assert (done, errors) == (8, {})
    for one in (found[1], tables.message(table, bucket=0)):
        damaged.forget()
        with pytest.raises(CorruptDataError):
            commit.append(table, tables.spec(table), [one])


def test_another_number_of_buckets_is_found_in_other_buckets(tmp_path: Path) -> None:
    table = tables.table(tmp_path, tables.new_table(bucket="2"))
    for bucket in (0, 0, 1, 1):
        message = tables.message(table, bucket=bucket)
        assert commit.append(table, tables.spec(table), [message])
    damaged.forget()
    one = tables.message(table, bucket=2, total=3)
    with pytest.raises(TableError, match="holds files of 2 buckets, the job wrote 3"):
        commit.append(table, tables.spec(table), [one])


def test_rewritten_manifests_are_sorted_by_bucket(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = tables.table(tmp_path, tables.new_table(bucket="6"))
    for number in range(4):
        found = [tables.message(table, bucket=n, total=6) for n in (number, 5 - number)]
        assert commit.append(table, tables.spec(table), found)
        table = tables.reload(table)
    monkeypatch.setattr(manifests, "MOST_ENTRIES", 3)
    listed = table.manifests.listed(table.snapshots.read(4))
    made, _ = merge(table.manifests, listed, table.options, 0, whole_table=True)
    assert [(one["_MIN_BUCKET"], one["_MAX_BUCKET"]) for one in made] == [(0, 1), (2, 3), (3, 5)]
