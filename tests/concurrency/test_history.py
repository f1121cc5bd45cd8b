"""Rollback, tags and branches beside other jobs, and killed at any step: the other job runs whole,
in a process of its own, between two steps of the first.

docs/concurrency.md is the table of these cases.
"""

import shutil
from pathlib import Path

import pytest

from keyfold.errors import ConflictError, SnapshotExpiredError
from keyfold.read import scan_plan
from keyfold.read.reader import read
from keyfold.read.request import ReadRequest
from keyfold.storage.history import versions
from keyfold.storage.maintenance import consumers
from keyfold.storage.maintenance.consumers import Position
from keyfold.storage.metadata.manifests import Manifests
from keyfold.wire.specs import Epoch
from tests.concurrency import history_jobs, jobs
from tests.concurrency.conftest import NEW, rows
from tests.concurrency.jobs import Compact, Write
from tests.concurrency.processes import elsewhere, left_at_steps, meanwhile
from tests.procedures.called import called
from tests.storage.snapshots import data_files, live

LINK, REMOVE, RENAME = "os.link", "os.remove", "os.rename"
FIRST = {1: 1, 2: 2}
EPOCH = Epoch("going back", 1)
OF_OTHERS = Epoch("going back", 0)  # the first one: new where it is not known what was before
OTHER = [{"k": 9, "v": 9}]


@pytest.fixture
def tagged(folder: str) -> str:
    """The table, whose first snapshot has expired but for a tag."""
    history_jobs.tagged(folder, "x", 1)
    jobs.written(folder, NEW)
    jobs.expired(folder, 1)
    return folder


def back_to_first(folder: str) -> None:
    elsewhere(history_jobs.rolled_back, folder, "1")


def test_rollback_during_append(folder: str) -> None:
    """The job's rows come on top of what the table was rolled back to, whenever that was."""
    job = Write(folder, NEW).run()
    back_to_first(folder)
    job.commit()
    assert rows(folder) == FIRST | {2: 200, 3: 300}


@pytest.mark.parametrize("others", [0, 1, 2])
def test_rollback_and_others_during_append(folder: str, others: int) -> None:
    """A commit that was prepared on a snapshot that is gone is prepared again, though another job
    took the number of that snapshot, or of its own.
    """

    def other() -> None:
        back_to_first(folder)
        for number in range(others):
            elsewhere(jobs.written, folder, [{"k": 7 + number, "v": 7}])

    meanwhile(folder, LINK, other, jobs.written, folder, NEW)
    assert rows(folder) == FIRST | {2: 200, 3: 300} | {7 + n: 7 for n in range(others)}
    assert sorted(jobs.table_of(folder).snapshots.ids()) == [*range(1, 3 + others)]


def test_append_during_rollback(folder: str) -> None:
    """What is committed while snapshots are removed goes with them."""
    job = history_jobs.rolled_back
    assert (
        meanwhile(folder, REMOVE, lambda: elsewhere(jobs.written, folder, NEW), job, folder, "1")
        == 1
    )
    assert rows(folder) == FIRST
    assert jobs.table_of(folder).snapshots.ids() == [1]


def test_rollback_during_compaction(folder: str) -> None:
    """The step is given up: its files are gone."""
    job = Compact(folder).run()
    back_to_first(folder)
    assert job.commit() == ["conflict"]
    assert rows(folder) == FIRST


def test_compaction_during_rollback(folder: str) -> None:
    job = history_jobs.rolled_back
    meanwhile(folder, REMOVE, lambda: elsewhere(jobs.compacted, folder), job, folder, "1")
    assert rows(folder) == FIRST


def test_rollback_during_read(folder: str) -> None:
    """A query of a snapshot that is gone is told so."""
    planned = jobs.table_of(folder)
    back_to_first(folder)
    with pytest.raises(
        SnapshotExpiredError, match=r"snapshot 2 .* was rolled back, the newest is 1"
    ):
        jobs.rows_of(planned)


def test_rollback_with_a_token_during_read(folder: str) -> None:
    """A query that was planned on the older one is told so, as is a job: nothing is lost."""
    table = jobs.table_of(folder)
    scan, planned, _ = scan_plan.plan_read(table, ReadRequest(("k", "v")))
    base = table.snapshots.latest()
    assert elsewhere(history_jobs.rolled_back, folder, "1", EPOCH) == 2
    match = r"snapshot 2 .* was rolled back, and another has its number"
    with pytest.raises(SnapshotExpiredError, match=match):
        list(read(scan, planned[0][0]))
    assert base is not None
    with pytest.raises(SnapshotExpiredError, match=match), table.reading(base):
        Manifests(table.files, table.layout.location, table.shapes).listed(base)


def test_rollback_during_expiry(folder: str) -> None:
    """The expiry has said that it removes the snapshot: the rollback changes nothing."""
    jobs.written(folder, NEW)

    def other() -> None:
        with pytest.raises(SnapshotExpiredError, match=r"snapshot 2 .* has begun to expire"):
            elsewhere(history_jobs.rolled_back, folder, "2")

    assert meanwhile(folder, REMOVE, other, jobs.expired, folder, 1) == 2
    assert rows(folder) == {1: 10, 2: 200, 3: 300}


def test_expiry_during_rollback(folder: str) -> None:
    """The rollback puts back what it has removed."""
    jobs.written(folder, NEW)
    with pytest.raises(SnapshotExpiredError, match=r"snapshot 2 .* has begun to expire"):
        meanwhile(
            folder,
            REMOVE,
            lambda: elsewhere(jobs.expired, folder, 1),
            history_jobs.rolled_back,
            folder,
            "2",
        )
    assert rows(folder) == {1: 10, 2: 200, 3: 300}


def test_rollback_before_an_expiry_says_what_it_removes(folder: str) -> None:
    """The expiry finds the newest snapshot gone, and gives way."""
    jobs.written(folder, NEW)
    other = lambda: elsewhere(history_jobs.rolled_back, folder, "2")  # noqa: E731
    assert meanwhile(folder, RENAME, other, jobs.expired, folder, 1) == 0
    assert rows(folder) == {1: 10, 2: 20}
    jobs.written(folder, NEW)
    assert elsewhere(history_jobs.rolled_back, folder, "2") == 2  # nothing says that it expires


def test_a_rescale_is_rolled_back(folder: str) -> None:
    """The table has the number of buckets that its files have."""
    jobs.rescaled(folder, 2)
    back_to_first(folder)
    assert rows(folder) == FIRST
    jobs.written(folder, NEW)
    assert rows(folder) == FIRST | {2: 200, 3: 300}


def test_a_rollback_is_repeated_during_a_rescale(folder: str) -> None:
    """Between the rescale's schema and its snapshot: both have one number of buckets in the end."""
    history_jobs.rolled_back(folder, "1", EPOCH)
    other = lambda: elsewhere(history_jobs.rolled_back, folder, "1", EPOCH)  # noqa: E731
    assert meanwhile(folder, LINK, other, jobs.rescaled, folder, 2, before=2) == 3
    jobs.written(folder, NEW)
    assert rows(folder) == FIRST | {2: 200, 3: 300}


def test_expiry_during_tagging(folder: str) -> None:
    """The tag is taken back: its snapshot is gone."""
    other = lambda: elsewhere(jobs.expired, folder, 1)  # noqa: E731
    with pytest.raises(SnapshotExpiredError, match=r"snapshot 1 .* has begun to expire"):
        meanwhile(folder, LINK, other, history_jobs.tagged, folder, "y", 1)
    assert history_jobs.tags_of(folder) == []


def test_tagging_during_expiry(folder: str) -> None:
    """A tag that is made before the expiry says what it removes keeps its snapshot."""
    other = lambda: elsewhere(history_jobs.tagged, folder, "y", 1)  # noqa: E731
    assert meanwhile(folder, RENAME, other, jobs.expired, folder, 1) == 1
    assert jobs.rows_of(versions.at_version(jobs.table_of(folder), "y")) == FIRST


def test_late_tagging_during_expiry(folder: str) -> None:
    def other() -> None:
        with pytest.raises(SnapshotExpiredError, match=r"snapshot 1 .* has begun to expire"):
            elsewhere(history_jobs.tagged, folder, "y", 1)

    meanwhile(folder, REMOVE, other, jobs.expired, folder, 1)
    assert history_jobs.tags_of(folder) == []


def test_tagging_during_rollback(folder: str) -> None:
    """A tag above the snapshot that is rolled back to goes too."""
    other = lambda: elsewhere(history_jobs.tagged, folder, "y", 2)  # noqa: E731
    meanwhile(folder, REMOVE, other, history_jobs.rolled_back, folder, "1")
    assert (history_jobs.tags_of(folder), rows(folder)) == ([], FIRST)


def test_untagging_during_branching(tagged: str) -> None:
    """The branch is taken back: the tag alone held its files."""
    other = lambda: elsewhere(history_jobs.untagged, tagged, "x")  # noqa: E731
    with pytest.raises(SnapshotExpiredError, match="snapshot 1"):
        meanwhile(tagged, LINK, other, history_jobs.branched, tagged, "b", "x")
    assert history_jobs.branches_of(tagged) == []


def test_untagging_after_branching(tagged: str) -> None:
    history_jobs.branched(tagged, "b", "x")
    elsewhere(history_jobs.untagged, tagged, "x")
    assert jobs.rows_of(jobs.table_of(tagged, "t$branch_b")) == FIRST


def test_expiry_beside_a_branch(tagged: str) -> None:
    """Neither line removes what the other has."""
    history_jobs.branched(tagged, "b", "x")
    job = Write(tagged, NEW, name="t$branch_b").run()
    jobs.compacted(tagged)
    elsewhere(jobs.expired, tagged, 1)
    job.commit()
    assert jobs.rows_of(jobs.table_of(tagged, "t$branch_b")) == FIRST | {2: 200, 3: 300}
    assert rows(tagged) == {1: 10, 2: 200, 3: 300}


def test_append_during_forwarding(tagged: str) -> None:
    """The rows are there, on top of what both lines have; the rest of the branch is not."""
    history_jobs.branched(tagged, "b", "x")
    history_jobs.written_to_branch(tagged, "b", [{"k": 9, "v": 9}])
    assert history_jobs.tags_of(tagged) == ["x"]

    other = lambda: elsewhere(jobs.written, tagged, [{"k": 8, "v": 8}])  # noqa: E731
    with pytest.raises(ConflictError, match="committed snapshot 2 while it was moved on"):
        meanwhile(tagged, LINK, other, history_jobs.forwarded, tagged, "b", before=2)
    assert rows(tagged) == FIRST | {8: 8}
    history_jobs.forwarded(tagged, "b")
    assert rows(tagged) == FIRST | {9: 9}


def test_forwarding_is_repeated(tmp_path: Path, tagged: str) -> None:
    """Killed before every second of its steps, and called again with its token when another job has
    written since: the rows of that job go if the table had not moved on, and stay if it had.
    """
    history_jobs.branched(tagged, "b", "x")
    forwarded = FIRST
    for key in (5, 6):
        history_jobs.written_to_branch(tagged, "b", [{"k": key, "v": key}])
        forwarded = forwarded | {key: key}
    called(jobs.table_of(tagged, "t$branch_b"), "create_tag", tag="y", snapshot=2)
    kept = tmp_path.with_name(f"{tmp_path.name}-steps")
    for left in left_at_steps(tagged, kept, history_jobs.forwarded, tagged, "b", EPOCH)[::-2]:
        has_moved = rows(left) == forwarded
        jobs.written(left, OTHER)
        assert history_jobs.forwarded(left, "b", EPOCH) != has_moved
        assert rows(left) == (forwarded | {9: 9} if has_moved else forwarded)
        assert history_jobs.tags_of(left) == ["x", "y"]
    shutil.rmtree(kept)
    history_jobs.forwarded(tagged, "b", EPOCH)
    assert history_jobs.forwarded(tagged, "b", Epoch("another", 1))  # the same snapshots again
    assert (rows(tagged), jobs.table_of(tagged).snapshot_id) == (forwarded, 4)


@pytest.mark.parametrize("names", [True, False], ids=["names it", "names none"])
def test_forwarding_during_forwarding(tagged: str, names: bool) -> None:
    """As with two rollbacks: also if what came after the first one names no token."""
    history_jobs.branched(tagged, "b", "x")
    for key in (5, 6):
        history_jobs.written_to_branch(tagged, "b", [{"k": key, "v": key}])

    def other() -> None:
        assert elsewhere(history_jobs.forwarded, tagged, "b", EPOCH)
        elsewhere(jobs.written, tagged, OTHER)
        if not names:
            history_jobs.without_properties(tagged, 4)
        history_jobs.tagged(tagged, "late", 4)

    job = history_jobs.forwarded
    assert not meanwhile(tagged, RENAME, other, job, tagged, "b", EPOCH)
    assert rows(tagged) == FIRST | {5: 5, 6: 6, 9: 9}
    assert history_jobs.tags_of(tagged) == ["late", "x"]


@pytest.mark.parametrize("version", [0, 2, None])
def test_rollback_during_rollback(folder: str, version: int | None) -> None:
    """The second one, which began before the first had ended, leaves what came after that: rows,
    though their job has a later version of the same program, or drops what snapshots say of
    programs, as other writers do; tags and what streams have read.
    """

    def other() -> None:
        assert elsewhere(history_jobs.rolled_back, folder, "1", EPOCH) == 2
        late = Write(folder, OTHER)
        if version:
            late.planned["epoch"] = Epoch(EPOCH.stream, version).to_json()
        assert late.run().commit() == 3
        table = jobs.table_of(folder)
        if version is None:
            history_jobs.without_properties(folder, 3)
        history_jobs.tagged(folder, "late", 3)
        consumers.note(table, "c", Position(4, late.planned["job"]))

    job = history_jobs.rolled_back
    assert meanwhile(folder, RENAME, other, job, folder, "1", EPOCH) is None
    assert rows(folder) == FIRST | {9: 9}
    assert history_jobs.tags_of(folder) == ["late"]
    position = consumers.position(jobs.table_of(folder), "c")
    assert position is not None
    assert position.following == 4


def test_a_rollback_puts_another_snapshot_in_the_place_of_the_last_to_expire(folder: str) -> None:
    """The expiry finds it there, and gives way, whatever is above by then."""
    jobs.written(folder, NEW)
    jobs.compacted(folder)
    jobs.written(folder, [{"k": 1, "v": 1000}])

    def other() -> None:
        assert elsewhere(history_jobs.rolled_back, folder, "3", EPOCH) == 4
        elsewhere(jobs.written, folder, OTHER)

    assert meanwhile(folder, RENAME, other, jobs.expired, folder, 2) == 0
    assert rows(folder) == {1: 10, 2: 200, 3: 300, 9: 9}


def test_tagging_a_snapshot_in_whose_place_another_is(folder: str) -> None:
    """The tag is taken back."""
    other = lambda: elsewhere(history_jobs.rolled_back, folder, "1", EPOCH)  # noqa: E731
    with pytest.raises(SnapshotExpiredError, match=r"snapshot 2 .* was rolled back"):
        meanwhile(folder, LINK, other, history_jobs.tagged, folder, "y", 2)
    assert (history_jobs.tags_of(folder), rows(folder)) == ([], FIRST)


@pytest.mark.parametrize(
    ("version", "left_over", "epoch"),
    [
        ("1", 3, None),
        ("x", 2, None),
        ("1", 3, EPOCH),
        ("x", 2, EPOCH),
        ("x", 1, EPOCH),
        ("x", 1, OF_OTHERS),
    ],
)
def test_a_killed_rollback_leaves_a_readable_table(
    tmp_path: Path, folder: str, version: str, left_over: int, epoch: Epoch | None
) -> None:
    """Of a snapshot, and of a tag whose snapshot has expired; before each of its steps. Called
    again with its token it takes nothing away that was written after the table had gone back, and
    goes back if it had not: also where those before are of writers that name no tokens.
    """
    jobs.written(folder, NEW)
    history_jobs.tagged(folder, "x", 1)
    jobs.expired(folder, left_over)
    if epoch == OF_OTHERS:
        history_jobs.without_properties(folder, 3)
    states = [FIRST, {1: 10, 2: 20}, {1: 10, 2: 200, 3: 300}]
    kept = tmp_path.with_name(f"{tmp_path.name}-steps")
    steps = left_at_steps(folder, kept, history_jobs.rolled_back, folder, version, epoch)
    assert len(steps) > 3
    for left in steps:
        before, expected, newest = rows(left), FIRST, 1
        assert before in states
        if epoch is not None:
            jobs.written(left, OTHER)
            expected, newest = (FIRST | {9: 9}, 3) if before == FIRST else (FIRST, 2)
        history_jobs.rolled_back(left, version, epoch)
        found = jobs.table_of(left)
        assert (rows(left), sorted(found.snapshots.ids())) == (expected, [*range(1, newest + 1)])
        jobs.written(left, NEW)
        assert rows(left) == expected | {2: 200, 3: 300}
        assert live(found, newest + 1) <= data_files(found)
    shutil.rmtree(kept)
