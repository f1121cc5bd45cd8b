"""Tags and branches that keyfold makes are read by Paimon's Java library and by pypaimon, and those
that they make by keyfold; either may roll back, or move on to a branch, what the other wrote.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from integration.paimon.library import Paimon
from keyfold.storage.history import versions
from keyfold.wire.specs import Epoch
from tests import readers
from tests.concurrency import history_jobs, jobs

EPOCH = Epoch("going back", 1)
FIRST, SECOND = {1: 1, 2: 2}, {1: 10, 2: 2, 3: 3}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A table of two snapshots, the first of which is tagged, in `default`."""
    jobs.made(str(tmp_path), write_only="true")
    jobs.written(str(tmp_path), rows(FIRST))
    jobs.written(str(tmp_path), rows({1: 10, 3: 3}))
    return tmp_path


def rows(values: dict[int, int]) -> list[dict[str, Any]]:
    return [{"k": key, "v": value} for key, value in values.items()]


def place(folder: Path) -> Path:
    return folder / "default.db" / "t"


def theirs(paimon: Paimon, folder: Path, **options: str) -> dict[Any, Any]:
    return dict(map(tuple, paimon.read(place(folder), **options).rows))


def ours(folder: Path, version: str = "", branch: str = "") -> dict[int, Any]:
    found = jobs.table_of(str(folder), f"t$branch_{branch}" if branch else "t")
    return jobs.rows_of(versions.at_version(found, version) if version else found)


def test_they_read_our_tags_and_branches(paimon: Paimon, folder: Path) -> None:
    history_jobs.asked(str(folder), "create_tag", tag="x", snapshot=1, time_retained="1 d")
    jobs.expired(str(folder), 1)
    assert theirs(paimon, folder, scan__tag_name="x") == FIRST
    history_jobs.branched(str(folder), "b", "x")
    history_jobs.written_to_branch(str(folder), "b", rows({7: 7}))
    assert theirs(paimon, folder, branch="b") == FIRST | {7: 7}
    assert theirs(paimon, folder) == SECOND
    read = readers.read(folder, "default.t$branch_b")
    assert dict(zip(*read.select(["k", "v"]).to_pydict().values(), strict=True)) == FIRST | {7: 7}
    history_jobs.forwarded(str(folder), "b")
    assert theirs(paimon, folder) == FIRST | {7: 7}
    for epoch, snapshot in ((None, 1), (EPOCH, 2)):
        assert history_jobs.rolled_back(str(folder), "x", epoch) == snapshot
        assert theirs(paimon, folder) == FIRST
    paimon.write(place(folder), [["+I", 8, 8]])  # the token is known after their commit too
    assert history_jobs.rolled_back(str(folder), "x", EPOCH) is None
    newest = {"snapshot__num_retained__min": "1", "snapshot__num_retained__max": "1"}
    paimon.write(place(folder), [["+I", 9, 9]], write_only="false", **newest)
    assert ours(folder) == theirs(paimon, folder) == FIRST | {8: 8, 9: 9}
    assert min(jobs.table_of(str(folder)).snapshots.ids()) > 2  # its own snapshot has expired


def test_we_read_their_tags_and_branches(paimon: Paimon, folder: Path) -> None:
    paimon.history(place(folder), "create_tag", "x", 1)
    where = {"catalog": readers.options(folder), "table": "default.t"}
    readers.ask("tag", **where, name="p", snapshot=2, branch="pb")
    history_jobs.written_to_branch(str(folder), "pb", rows({7: 7}))
    jobs.expired(str(folder), 1)
    assert ours(folder, "x") == ours(folder, "1") == FIRST
    assert history_jobs.tags_of(str(folder)) == ["p", "x"]
    assert ours(folder, branch="pb") == SECOND | {7: 7}


def test_we_go_on_where_they_branched(paimon: Paimon, folder: Path) -> None:
    paimon.history(place(folder), "create_tag", "x", 1)
    paimon.history(place(folder), "create_branch", "b", "x")
    history_jobs.written_to_branch(str(folder), "b", rows({7: 7}))
    assert (ours(folder, branch="b"), ours(folder)) == (FIRST | {7: 7}, SECOND)
    assert theirs(paimon, folder, branch="b") == FIRST | {7: 7}
    paimon.history(place(folder), "fast_forward", "b")
    assert ours(folder) == FIRST | {7: 7}
    jobs.written(str(folder), rows({8: 8}))
    paimon.history(place(folder), "rollback", "x")
    assert ours(folder) == FIRST
    jobs.written(str(folder), rows({9: 9}))
    assert ours(folder) == theirs(paimon, folder) == FIRST | {9: 9}
