"""A table that was loaded, or a job that was planned, at a snapshot whose number another has by
now: one that a rollback, or a job after it, has put in its place.
"""

import json

import pytest

from keyfold.errors import ConflictError, SnapshotExpiredError
from keyfold.kernels.ops import UPDATE_AFTER
from keyfold.storage.table import open_handle
from keyfold.wire.specs import Epoch
from tests.concurrency import history_jobs, jobs
from tests.concurrency.conftest import NEW, rows
from tests.concurrency.jobs import Changes, Write
from tests.concurrency.processes import elsewhere

EPOCHS = pytest.mark.parametrize("epoch", [Epoch("going back", 1), None], ids=["token", "job"])
MATCH = r"snapshot 2 .* was rolled back, and another has its number"


def replace_newest(folder: str, epoch: Epoch | None) -> dict[int, int]:
    """Let another snapshot have the number 2; returns its rows."""
    elsewhere(history_jobs.rolled_back, folder, "1", epoch)
    if epoch is None:
        elsewhere(jobs.written, folder, [{"k": 9, "v": 9}])
    return {1: 1, 2: 2} if epoch else {1: 1, 2: 2, 9: 9}


@EPOCHS
def test_what_it_reads(folder: str, epoch: Epoch | None) -> None:
    """Not the rows of the other; to Spark the table that is loaded next is of another version."""
    planned = jobs.table_of(folder)
    scan, splits = jobs.splits_of(planned)
    found = replace_newest(folder, epoch)
    handle = json.loads(json.dumps(planned.handle))
    with pytest.raises(SnapshotExpiredError, match=MATCH):
        jobs.rows_of(open_handle(handle, {"warehouse": folder}))
    with pytest.raises(SnapshotExpiredError, match=MATCH):
        jobs.read_all(scan, splits)
    newest = jobs.table_of(folder)
    assert newest.snapshot_id == planned.snapshot_id == 2
    assert newest.describe()["version"] != planned.describe()["version"]
    assert rows(folder) == found


@EPOCHS
def test_what_it_changes(folder: str, epoch: Epoch | None) -> None:
    """Nothing, though its job is planned only when the other is there."""
    job = Changes(folder, [(UPDATE_AFTER, {"k": 1, "v": 11})], "UPDATE")
    found = replace_newest(folder, epoch)
    job.plan()
    with pytest.raises(ConflictError, match="snapshot 2 was rolled back"):
        job.run().commit()
    assert rows(folder) == found


@pytest.mark.parametrize("version", [1, 2])
def test_who_goes_on_after_a_commit_below_its_plan(folder: str, version: int) -> None:
    """The job was planned on snapshot 3 and has made an older one, or another 3, after a rollback;
    the process that committed has died. The rows are there, and the job is told so.
    """
    jobs.written(folder, NEW)
    job = Write(folder, [{"k": 9, "v": 9}]).run()
    elsewhere(history_jobs.rolled_back, folder, f"{version}")
    assert elsewhere(job.commit) == version + 1
    assert job.commit_again() == version + 1
    assert rows(folder)[9] == 9
