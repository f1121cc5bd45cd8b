"""Consumers: what a stream notes while Spark asks the questions of its batches, in its order."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from keyfold.errors import ConflictError, CorruptDataError, SnapshotExpiredError
from keyfold.questions import streams
from keyfold.storage.branching import branches
from keyfold.storage.branching.rollback import rollback
from keyfold.storage.history import versions
from keyfold.storage.maintenance import consumers, tagging
from keyfold.storage.maintenance.consumers import Position
from keyfold.storage.maintenance.expire import expire
from keyfold.storage.maintenance.retained import Retention
from keyfold.storage.table import Table
from keyfold.streams.offsets import parsed
from tests.read import harness
from tests.storage import tables
from tests.storage.snapshots import consume

ME = "me"
VIEWS = ("rows", "audit_log")


@dataclass
class Query:
    """A streaming query of a consumer. `at` is the end of the last batch in its log."""

    table: Table
    view: str = "rows"
    options: dict[str, str] = field(default_factory=dict)
    at: str = ""

    def ask(self, question: Callable[[Any], dict[str, Any]], **more: Any) -> dict[str, Any]:
        asked = {
            "table": tables.reload(self.table).handle,
            "catalog": {"options": {}},
            "changes": {"view": self.view},
            "options": {"consumer-id": ME} | self.options,
            "zone": "Z",
            "columns": ["k", "v"],
            "cores": 2,
            "limited": True,
        }
        return question(asked | more)

    def constructed(self) -> str | None:
        """Spark plans a batch; its end, None if nothing is new."""
        self.at = self.at or self.ask(streams.begin_stream)["offset"]
        end: str = self.ask(streams.following_offset, start=self.at)["offset"]
        if end == self.at:
            return None
        self.ask(streams.plan_stream, start=self.at, end=end)
        return end

    def run(self) -> list[tuple[int, int | None]]:
        """All batches that are there, each the snapshot and the unit that it ends at."""
        found = []
        while (end := self.constructed()) is not None:
            self.at = end
            found.append((parsed(end).snapshot, parsed(end).index))
        return found


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return tables.table(tmp_path, tables.new_table(bucket="1", write_only="true"))


def insert(found: Table, times: int = 1) -> None:
    for _ in range(times):
        harness.upsert(found, [{"k": 1, "v": 1}])


def expired(found: Table) -> list[int]:
    """What an expiry leaves that keeps one snapshot."""
    now = tables.reload(found)
    expire(now, Retention.of(now, at_most=1, seconds=0))
    return sorted(now.snapshots.ids())


def noted(found: Table) -> Position | None:
    return consumers.position(tables.reload(found), ME)


@pytest.mark.parametrize("view", VIEWS)
def test_what_is_unread_is_kept_after_one_batch(table: Table, view: str) -> None:
    """Spark tells a source that a batch is done when the next one is planned, which no query of one
    batch ever does.
    """
    insert(table)
    query = Query(table, view)
    assert query.run() == [(1, None)]
    insert(table, 10)
    assert expired(table) == [*range(1, 12)]
    assert query.run() == [(11, None)], "with its checkpoint"
    insert(table, 3)
    assert expired(table) == [11, 12, 13, 14]
    assert Query(table, view).run() == [(14, None)], "the name alone, none twice"
    assert Query(table, view).run() == []


@pytest.mark.parametrize("view", VIEWS)
def test_what_is_unread_is_kept_while_a_batch_runs(table: Table, view: str) -> None:
    insert(table, 2)
    first = Query(table, view)
    assert first.constructed() is not None
    insert(table, 3)
    assert expired(table)[0] == 1
    again = Query(table, view)
    assert again.run() == [(2, None), (5, None)], "the rows of the beginning anew, then changes"
    insert(table)
    assert again.constructed() is not None
    insert(table)
    assert expired(table) == [5, 6, 7], "a replay of the batch that runs finds its snapshots"
    assert again.run() == [(7, None)]


def test_a_query_is_noted_though_nothing_is_there(table: Table) -> None:
    query = Query(table, options={"scan.mode": "latest"})
    assert query.run() == []
    insert(table, 3)
    assert expired(table) == [1, 2, 3]
    assert query.run() == [(3, None)]


def test_units_of_the_beginning(table: Table) -> None:
    """A stream that ends among them has not read the others."""
    harness.upsert(table, [{"k": 1, "v": 1}])
    harness.upsert(table, [{"k": 2, "v": 1}])
    first = Query(table, options={"maxFilesPerTrigger": "1"})
    first.at = first.constructed() or ""
    assert parsed(first.at).index == 1
    second = Query(table, options={"maxFilesPerTrigger": "1"})
    assert second.run() == [(2, 1), (2, None)]


def test_an_older_checkpoint_moves_the_note_back(table: Table) -> None:
    """What that query has yet to read is kept."""
    insert(table)
    query = Query(table)
    query.run()
    old = query.at
    insert(table, 2)
    query.run()
    assert noted(table) == Position(4, parsed(query.at).job)
    Query(table, at=old).constructed()
    assert noted(table) == Position(2, parsed(old).job)


def test_a_beginning_that_has_expired_is_not_noted(table: Table) -> None:
    """Else the consumer could never begin."""
    insert(table, 4)
    expired(table)
    query = Query(table, options={"startingVersion": "2"})
    with pytest.raises(SnapshotExpiredError, match="snapshot 2"):
        query.constructed()
    assert noted(table) is None
    assert Query(table).run() == [(4, None)]


def back(found: Table, number: int) -> None:
    now = tables.reload(found)
    rollback(now, *versions.resolve(now, str(number)))


@pytest.mark.parametrize("commits", [0, 2, 3, 5])
def test_a_rollback_sets_a_consumer_back(table: Table, commits: int) -> None:
    """All that is committed after it is unread, whatever its numbers."""
    insert(table, 4)
    Query(table).run()
    back(table, 1)
    insert(table, commits)
    kept = expired(table)
    assert kept[0] == 1
    expected = [(commits + 1, None)] if commits else []
    query = Query(table)
    query.constructed()
    assert parsed(query.at).snapshot == 1
    assert query.run() == expected


def test_a_rollback_below_rows_that_were_not_read(table: Table) -> None:
    insert(table, 3)
    Query(table).constructed()
    back(table, 2)
    insert(table)
    assert Query(table).run() == [(2, None), (3, None)]


def test_a_rollback_leaves_consumers_below_it(table: Table) -> None:
    insert(table, 2)
    Query(table).run()
    insert(table, 2)
    before = noted(table)
    back(table, 3)
    assert noted(table) == before == Position(3, before.job if before else "")


def test_a_fast_forward_sets_a_consumer_back(table: Table) -> None:
    insert(table)
    tagging.create(tables.reload(table), "a", 1)
    branches.create(tables.reload(table), "b", "a")
    insert(table, 3)
    Query(table).run()
    insert(branches.open_branch(tables.reload(table), "b"), 4)
    assert branches.fast_forward(tables.reload(table), "b") == 5
    query = Query(table)
    query.constructed()
    assert parsed(query.at).snapshot == 1
    assert query.run() == [(5, None)]


def test_a_rollback_by_others_is_an_error(table: Table) -> None:
    """They leave our note as it is, which knows of which history its number is."""
    insert(table, 4)
    Query(table).run()
    before = noted(table)
    assert before is not None
    back(table, 1)
    consumers.note(tables.reload(table), ME, before)
    for commits in (0, 3, 2):
        insert(table, commits)
        with pytest.raises(ConflictError, match=r"rolled back below snapshot 4.*consumer-id"):
            Query(table).run()


def test_notes_are_those_of_paimon(table: Table) -> None:
    """One of theirs has the number alone; they pass over what ours say besides."""
    insert(table, 3)
    consume(tables.reload(table), 3, ME)
    assert Query(table).run() == [(3, None)]
    path = Path(table.layout.location) / "consumer" / f"consumer-{ME}"
    assert json.loads(path.read_text())["nextSnapshot"] == 4
    for damaged in ("{", "[]", "{}", '{"nextSnapshot": "2"}', '{"nextSnapshot": 2, "allRows": 1}'):
        path.write_text(damaged)
        with pytest.raises(CorruptDataError, match="remove it: its stream then begins"):
            Query(table).run()


@pytest.mark.parametrize("view", VIEWS)
def test_first_batch_of_an_empty_table_that_is_written_meanwhile(table: Table, view: str) -> None:
    """Spark plans the first batch of a query even if it is empty, and asks twice where it begins:
    before it asks how far that batch goes, and when it plans it.
    """
    query = Query(table, view)
    start = query.ask(streams.begin_stream, options={})["offset"]
    end = query.ask(streams.following_offset, options={}, start=start)["offset"]
    insert(table)
    again = query.ask(streams.begin_stream, options={})["offset"]
    assert parsed(again).index == 0
    planned = query.ask(streams.plan_stream, options={}, start=again, end=end)
    assert list(planned["tasks"]) == []
    query.at = end
    assert query.run() == [(1, None)]
