"""Pairs of jobs that assign keys to buckets (`bucket` = -1). docs/concurrency.md has these lines in
its table.
"""

from pathlib import Path

import pytest

from keyfold.errors import ConflictError
from tests.concurrency import jobs
from tests.concurrency.conftest import rows
from tests.concurrency.jobs import Compact, Write
from tests.concurrency.processes import elsewhere
from tests.write.buckets import check_once

FIRST = [{"k": k, "v": 0} for k in range(4)]


@pytest.fixture
def dynamic(tmp_path: Path) -> str:
    """A warehouse with a table whose buckets take 2 keys, and 4 keys in it."""
    options = {"bucket": "-1", "dynamic-bucket.target-row-num": "2"}
    jobs.made(str(tmp_path), **options, **{"dynamic-bucket.assigner-parallelism": "1"})
    jobs.written(str(tmp_path), FIRST)
    return str(tmp_path)


def checked(folder: str) -> dict[int, int]:
    """The rows; no key is in two buckets."""
    check_once(jobs.table_of(folder))
    return rows(folder)


def test_other_keys_during_assignment(dynamic: str) -> None:
    """Both are there, also of keys that were stored before."""
    job = Write(dynamic, [{"k": k, "v": 1} for k in range(2, 7)]).run()
    elsewhere(jobs.written, dynamic, [{"k": k, "v": 2} for k in (3, 7, 8)])
    job.commit()
    assert checked(dynamic) == {0: 0, 1: 0, 2: 1, 3: 2, 4: 1, 5: 1, 6: 1, 7: 2, 8: 2}


def test_same_keys_during_assignment(dynamic: str) -> None:
    """The second job has put new keys into other buckets than the first."""
    job = Write(dynamic, [{"k": k, "v": 1} for k in range(4, 10)]).run()
    elsewhere(jobs.written, dynamic, [{"k": k, "v": 2} for k in (9, 5)])
    with pytest.raises(ConflictError, match=r"assigned keys of the table to buckets meanwhile"):
        job.commit()
    assert checked(dynamic) == dict.fromkeys(range(4), 0) | {9: 2, 5: 2}


def test_overwrite_during_assignment(dynamic: str) -> None:
    """The overwrite has begun new buckets: keys that the job found elsewhere are not there."""
    job = Write(dynamic, [{"k": k, "v": 1} for k in range(4)]).run()
    elsewhere(jobs.written, dynamic, [{"k": 7, "v": 7}], "overwrite")
    with pytest.raises(ConflictError, match=r"another job has replaced rows of the table"):
        job.commit()
    assert checked(dynamic) == {7: 7}


def test_compaction_during_assignment(dynamic: str) -> None:
    """Neither notices the other: compactions leave keys where they are."""
    job = Write(dynamic, [{"k": k, "v": 1} for k in range(2, 6)]).run()
    compaction = Compact(dynamic).run()
    elsewhere(jobs.written, dynamic, [{"k": 8, "v": 2}])
    assert set(compaction.commit()) == {"committed"}
    job.commit()
    assert checked(dynamic) == {0: 0, 1: 0, 2: 1, 3: 1, 4: 1, 5: 1, 8: 2}
