"""Rollback: a snapshot becomes the newest again, those above it are removed.

They go from the newest down, so the table can be read at any moment: as it was before, or nearer to
the target. After each removal we look above it. If a job has committed there meanwhile, the removed
one is put back and the new one goes first. A job that commits later finds its base gone, and tries
again on the newest (`Snapshots.publish`). An expiry says what it removes before it does, and looks
for the newest snapshot afterwards, so one of the two gives way.
"""

import random
import time
from dataclasses import replace

from keyfold.errors import ConflictError
from keyfold.options.parsing import parse
from keyfold.storage.commits.conflicts import changed_facts
from keyfold.storage.commits.rescale import take_back
from keyfold.storage.history import tags
from keyfold.storage.history.tags import PREFIX
from keyfold.storage.maintenance import consumers
from keyfold.storage.maintenance.orphans import free
from keyfold.storage.maintenance.tagging import content_of, too_late
from keyfold.storage.metadata.documents import text_of
from keyfold.storage.metadata.snapshots import Snapshot, Snapshots
from keyfold.storage.schema.schemas import Schemas
from keyfold.storage.table import Table, newest_schema

_LOSSES = 20
_LONGEST_WAIT = 0.05
Removed = tuple[Snapshot, str, bytes]  # with the path and the content of its file


def rollback(table: Table, snapshot: Snapshot, tag: str = "") -> int:
    """Make a snapshot the newest of the table, and return its id. Snapshots and tags above it are
    removed, with the files that only they held; consumers that have read further go on after it.
    `tag` is the one that keeps it if it has expired.

    Raises SnapshotExpiredError if it expires meanwhile, ConflictError if other jobs commit again
    and again, NotSupportedError if the table's rows fold by other rules since then.
    """
    table.check_writable()
    check_alike(table, snapshot)
    if table.server is not None:

        def is_done() -> bool:
            return table.snapshots.latest_id() == snapshot.id

        table.server.roll_back(snapshot.id, tag, is_done)
        consumers.set_back(table, snapshot)
        return snapshot.id
    with table.held() as location:
        at = replace(table.snapshots, location=location)
        dropped = _remove_tags(table, location, snapshot.id)
        try:
            removed = _removed(table, at, snapshot, tag)
        except BaseException:
            for _, path, content in dropped:
                table.files.publish(path, content)
            raise
        dropped += _remove_tags(table, location, snapshot.id)  # those made meanwhile
        dropped += _remove_changelogs(at, snapshot.id)
        consumers.set_back(table, snapshot)
        _set_buckets(table, location)
    gone = {one.id: one for one, *_ in (*dropped, *removed)}
    free(table, list(gone.values()))
    return snapshot.id


def check_alike(table: Table, snapshot: Snapshot) -> None:
    """Raises ConflictError if the files of a snapshot were made by other rules than the newest
    schema has, as of a table that was empty meanwhile.
    """
    newest = newest_schema(table)
    changed = changed_facts(table.schema(snapshot.schema_id), newest.layout)
    if changed:
        raise ConflictError(
            f"table {table.layout.name} can't go back to snapshot {snapshot.id}: ALTER TABLE has "
            f"changed {changed[0]} since; read it there (VERSION AS OF {snapshot.id}; in Python "
            f"table.scan(snapshot={snapshot.id})) and INSERT (table.upsert) its rows"
        )


def _removed(table: Table, at: Snapshots, target: Snapshot, tag: str) -> list[Removed]:
    """Remove the snapshots above the target. If that can't be done, they are put back."""
    is_there = at.find(target.id) is not None
    if not (at.is_kept(target.id) if is_there else tag):
        raise too_late(table, target.id)
    if is_there:
        at.start_anew(latest=target.id)  # readers climb from there: they pass no gap
    else:
        at.begin_at(target.id)  # first: a job that dies here can be repeated
        at.files.publish(at.path(target.id), text_of(content_of(table, target, tag)))
    removed: list[Removed] = []
    try:
        _remove_all(table, at, target, removed)
    except BaseException:
        for _, path, content in reversed(removed):
            if not at.files.publish(path, content):
                break
        if not is_there:
            at.files.remove(at.path(target.id))
        raise
    at.start_anew(latest=target.id)
    return removed


def _remove_all(table: Table, at: Snapshots, target: Snapshot, removed: list[Removed]) -> None:
    for _ in range(_LOSSES):
        if _remove_down(table, at, target, removed):
            return
        time.sleep(random.uniform(0, _LONGEST_WAIT))
    raise ConflictError(
        f"table {table.layout.name} was not rolled back to snapshot {target.id}: other jobs "
        f"committed {_LOSSES} times meanwhile; stop them, or run it again"
    )


def _remove_down(table: Table, at: Snapshots, target: Snapshot, removed: list[Removed]) -> bool:
    """Remove the snapshots above the target, from the newest on; False if a job has committed above
    one of them. Raises SnapshotExpiredError if an expiry is about to remove the target.
    """
    for number in sorted((n for n in at.ids() if n > target.id), reverse=True):
        found, path = at.find(number), at.path(number)
        if found is None:
            continue
        content = at.files.read(path)
        at.files.remove(path)
        if at.find(number + 1) is not None:
            at.files.publish(path, content)
            return False
        removed.append((found, path, content))
        if at.first_kept() > target.id:
            raise too_late(table, target.id)
    return not any(number > target.id for number in at.ids())


def _remove_tags(table: Table, location: str, snapshot_id: int) -> list[Removed]:
    """Remove the tags of later snapshots."""
    found = []
    for tag in tags.all_of(table):
        if tag.snapshot.id > snapshot_id:
            path = f"{location}/tag/{PREFIX}{tag.name}"
            found.append((tag.snapshot, path, table.files.read(path)))
            table.files.remove(path)
    return found


def _remove_changelogs(at: Snapshots, snapshot_id: int) -> list[Removed]:
    """Remove the changelogs of later snapshots that have expired: those after a tag's."""
    found = []
    for name in at.files.names(f"{at.location}/changelog"):
        number = name.removeprefix("changelog-")
        path = f"{at.location}/changelog/{name}"
        is_later = number.isdigit() and int(number) > snapshot_id
        if is_later and (changelog := at.parse(path)) is not None:
            found.append((changelog, path, b""))
            at.files.remove(path)
    return found


def _set_buckets(table: Table, location: str) -> None:
    """Give the schema the number of buckets that the files have: a rescale may lie between."""
    newest = newest_schema(table)
    count = parse(newest.layout).bucket
    take_back(newest, Schemas(table.files, location, table.layout.name), count, count)
