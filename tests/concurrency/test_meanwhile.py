"""The same for jobs that are one question, and for queries: the other job runs whole right before
the step that publishes.
"""

from pathlib import Path
from typing import Any

import pytest

from keyfold.errors import ConflictError
from tests.concurrency import jobs
from tests.concurrency.conftest import ADDED, NEW, OLD, rows
from tests.concurrency.jobs import Write
from tests.concurrency.processes import elsewhere, meanwhile
from tests.storage import tables

LINK, RENAME = "os.link", "os.rename"
OTHER = {"change": "add_column", "name": ["x"], "type": "long"}


@pytest.mark.parametrize("statement", [jobs.deleted, jobs.updated])
def test_append_during_change(folder: str, statement: Any) -> None:
    """The statement has not seen a row that it would write over."""
    args = (1,) if statement is jobs.deleted else (1, 5)
    new = [{"k": 1, "v": 100}, *NEW]
    with pytest.raises(ConflictError, match=r"changed rows, in keys .*run the statement"):
        meanwhile(folder, LINK, lambda: jobs.written(folder, new), statement, folder, *args)
    assert rows(folder) == {1: 100, 2: 200, 3: 300}
    statement(folder, *args)
    assert rows(folder).get(1) == (None if statement is jobs.deleted else 5)


def test_append_elsewhere_during_change(folder: str) -> None:
    """Rows of other keys don't matter."""
    new = [{"k": 7, "v": 70}]
    meanwhile(folder, LINK, lambda: jobs.written(folder, new), jobs.updated, folder, 1, 5)
    assert rows(folder) == {1: 5, 2: 20, 7: 70}


def test_change_during_change(folder: str) -> None:
    with pytest.raises(ConflictError, match="run the statement again"):
        meanwhile(folder, LINK, lambda: jobs.updated(folder, 2, 5), jobs.updated, folder, 2, 6)
    meanwhile(folder, LINK, lambda: jobs.updated(folder, 1, 7), jobs.deleted, folder, 2)
    assert rows(folder) == {1: 7}


def test_compaction_during_change(folder: str) -> None:
    """It changes no row."""
    jobs.written(folder, NEW)
    meanwhile(folder, LINK, lambda: jobs.compacted(folder), jobs.updated, folder, 2, 5)
    assert rows(folder) == {1: 10, 2: 5, 3: 300}
    meanwhile(folder, LINK, lambda: jobs.compacted(folder), jobs.deleted, folder, 2)
    assert rows(folder) == {1: 10, 3: 300}


def test_expiry_during_change(folder: str) -> None:
    """Nobody knows any more what the snapshots between have changed."""

    def others() -> None:
        jobs.written(folder, [{"k": 7, "v": 70}])
        jobs.written(folder, [{"k": 7, "v": 71}])
        jobs.expired(folder, 1)

    with pytest.raises(ConflictError, match="snapshot 3 has expired after the statement"):
        meanwhile(folder, LINK, others, jobs.updated, folder, 1, 5)
    assert rows(folder) == {1: 10, 2: 20, 7: 71}


def test_overwrite_during_change(folder: str) -> None:
    with pytest.raises(ConflictError):
        meanwhile(
            folder, LINK, lambda: jobs.written(folder, NEW, "overwrite"), jobs.deleted, folder, 2
        )
    assert rows(folder) == {2: 200, 3: 300}


def test_drop_during_change(folder: str) -> None:
    with pytest.raises(ConflictError, match="dropped, renamed or replaced"):
        meanwhile(folder, LINK, lambda: jobs.replaced(folder), jobs.deleted, folder, 2)
    assert rows(folder) == {}


def test_alter_during_alter(folder: str) -> None:
    """The later one is made on top of the other's schema, or refused."""
    meanwhile(folder, LINK, lambda: jobs.altered(folder, [OTHER]), jobs.altered, folder, [ADDED])
    assert set(jobs.table_of(folder).layout.arrow_schema.names) == {"k", "v", "w", "x"}


def test_append_during_alter(folder: str) -> None:
    meanwhile(folder, LINK, lambda: jobs.written(folder, NEW), jobs.altered, folder, [ADDED])
    assert rows(folder) == {1: 10, 2: 200, 3: 300}
    assert "w" in jobs.table_of(folder).layout.arrow_schema.names


def test_append_during_drop(folder: str) -> None:
    meanwhile(folder, RENAME, lambda: jobs.written(folder, NEW), jobs.dropped, folder)
    assert tables.catalog(Path(folder)).list_tables(["default"]) == []


def test_alter_during_overwrite(folder: str) -> None:
    job = Write(folder, [{"k": 7, "v": 70}], "overwrite").run()
    elsewhere(jobs.altered, folder, [ADDED])
    job.commit()
    assert rows(folder) == {7: 70}


def test_delete_during_overwrite(folder: str) -> None:
    job = Write(folder, [{"k": 1, "v": 70}], "overwrite").run()
    elsewhere(jobs.deleted, folder, 1)
    job.commit()
    assert rows(folder) == {1: 70}


def test_drop_during_overwrite(folder: str) -> None:
    job = Write(folder, NEW, "overwrite").run()
    elsewhere(jobs.replaced, folder)
    with pytest.raises(ConflictError, match="dropped, renamed or replaced"):
        job.commit()
    assert rows(folder) == {}


def test_commit_during_read(folder: str) -> None:
    """A query reads the snapshot that it was planned on."""
    split = jobs.splits_of(jobs.table_of(folder))
    for args in ((NEW,), ([{"k": 9, "v": 9}], "overwrite")):
        elsewhere(jobs.written, folder, *args)
    elsewhere(jobs.compacted, folder)
    elsewhere(jobs.altered, folder, [ADDED])
    assert jobs.read_all(*split) == OLD


def test_drop_during_read(folder: str) -> None:
    split = jobs.splits_of(jobs.table_of(folder))
    elsewhere(jobs.dropped, folder)
    with pytest.raises(ConflictError, match="dropped, renamed or replaced"):
        jobs.read_all(*split)
