"""Changes that overwrites tell: folded with all others, they give the table."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from keyfold.errors import ConflictError
from keyfold.kernels.ops import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE
from keyfold.storage.commits import commit
from keyfold.storage.commits.commit import Answer, Changelog
from keyfold.write.jobs import publish
from keyfold.write.overwritten import truncated, with_changelog
from tests.changelog.changelog_files import changes_of
from tests.changelog.test_producers import SMALL, Told, made
from tests.compact.histories import written
from tests.concurrency import jobs
from tests.storage import tables
from tests.storage.snapshots import expired


def overwrite(told: Told) -> None:
    history = told.history
    spec, messages = written(history.table, history.some(5), history.next_number())
    publish(tables.reload(history.table), replace(spec, mode="overwrite"), messages)


def truncate(told: Told) -> None:
    truncated(tables.reload(told.history.table))


def append(told: Told) -> None:
    told.history.append(told.random.choice((1, 2)))


STEPS: dict[Callable[[Told], None], int] = {append: 5, overwrite: 2, truncate: 1}


@pytest.mark.parametrize("producer", ["lookup", "full-compaction"])
@pytest.mark.parametrize("engine", ["deduplicate", "partial-update", "aggregation"])
def test_a_table_that_is_overwritten(tmp_path: Path, engine: str, producer: str, seed: int) -> None:
    random = Random(f"{seed} {engine} {producer}")
    told = made(tmp_path, random, engine, SMALL | {"changelog_producer": producer})
    for step in (append, *random.choices(list(STEPS), list(STEPS.values()), k=6), truncate):
        step(told)
        told.follow("auto", touched=[((), 0)])
        told.check()
    assert told.rows == {}


def jobs_in(folder: Path, producer: str, **given: str) -> str:
    """A table partitioned by `p`."""
    columns = [tables.column(name) for name in ("k", "p", "v")]
    options = {"changelog_producer": producer, "bucket": "1"} | given
    new = tables.new_table(*columns, key="k,p", by="p", **options)
    tables.table(folder, new)
    return str(folder)


def test_what_is_replaced_is_compared(tmp_path: Path) -> None:
    """Under `input` too, whose records are the rows of a statement."""
    folder = jobs_in(tmp_path, "input")
    jobs.written(folder, [{"k": k, "p": k % 2, "v": 1} for k in range(6)])
    rows = [{"k": 0, "p": 0, "v": 1}, {"k": 2, "p": 0, "v": 2}, {"k": 8, "p": 0, "v": 1}]
    jobs.written(folder, rows, "overwrite_dynamic")
    assert changes_of(jobs.table_of(folder), 2) == [
        (UPDATE_BEFORE, {"k": 2, "p": 0, "v": 1}),
        (UPDATE_AFTER, rows[1]),
        (DELETE, {"k": 4, "p": 0, "v": 1}),
        (INSERT, rows[2]),
    ]
    truncated(jobs.table_of(folder), lambda values: values == (1,))
    assert changes_of(jobs.table_of(folder), 3) == [
        (DELETE, {"k": k, "p": 1, "v": 1}) for k in (1, 3, 5)
    ]


def test_an_attempt_that_loses_tells_anew(tmp_path: Path) -> None:
    """The changes are those of the snapshot that is replaced; no file of another one stays."""
    folder = jobs_in(tmp_path, "input")
    jobs.written(folder, [{"k": 1, "p": 0, "v": 1}])
    table = jobs.table_of(folder)

    def late(changelog: Changelog | None) -> Answer:
        assert changelog is not None
        if changelog.messages and jobs.table_of(folder).snapshot_id == 1:
            jobs.written(folder, [{"k": 2, "p": 0, "v": 2}])
        return commit.truncate(table, "all", changelog)

    assert with_changelog(table, late) == 3
    assert [row["k"] for _, row in changes_of(jobs.table_of(folder), 3)] == [1, 2]
    jobs.written(folder, [{"k": 3, "p": 0, "v": 1}])

    def lost(changelog: Changelog | None) -> Answer:
        if changelog is not None and changelog.messages:
            raise ConflictError("lost")
        return commit.truncate(jobs.table_of(folder), "all", changelog)

    with pytest.raises(ConflictError, match="lost"):
        with_changelog(jobs.table_of(folder), lost)
    assert len(list(tmp_path.rglob("changelog-*.parquet"))) == 4


def test_a_snapshot_that_expires_before_its_rows_are_compared(tmp_path: Path) -> None:
    """Others have followed it: it is not the one that is replaced."""
    folder = jobs_in(tmp_path, "input")
    jobs.written(folder, [{"k": 1, "p": 0, "v": 1}])
    table = jobs.table_of(folder)

    def late(changelog: Changelog | None) -> Answer:
        answer = commit.truncate(table, "all", changelog)
        if jobs.table_of(folder).snapshot_id == 1:
            jobs.written(folder, [{"k": 2, "p": 0, "v": 2}], "overwrite_dynamic")
            expired(jobs.table_of(folder))
            assert not jobs.table_of(folder).snapshots.exists(1)
        return answer

    assert with_changelog(table, late) == 3
    assert changes_of(jobs.table_of(folder), 3) == [(DELETE, {"k": 2, "p": 0, "v": 2})]


def test_a_row_that_was_deleted_and_marked_before_is_told_once(tmp_path: Path) -> None:
    """The files that go are the same ones as before that."""
    folder = jobs_in(tmp_path, "lookup", deletion_vectors__enabled="true")
    jobs.written(folder, [{"k": k, "p": 0, "v": k * k * 7919 % 99_991} for k in range(3000)])
    jobs.compacted(folder, "full")
    table = jobs.table_of(folder)

    def late(changelog: Changelog | None) -> Answer:
        if changelog is not None and changelog.messages and jobs.table_of(folder).snapshot_id == 2:
            jobs.deleted(folder, 1, p=0)
            jobs.compacted(folder, "minor")
            assert [file.level for file in jobs.table_of(folder).live_files()] == [5]
        return commit.truncate(table, "all", changelog)

    assert with_changelog(table, late) == 5
    told = [changes_of(jobs.table_of(folder), number) for number in (3, 4, 5)]
    assert [[row["k"] for _, row in rows] for rows in told[:2]] == [[], [1]]
    assert [row["k"] for _, row in told[2]] == [0, *range(2, 3000)]
