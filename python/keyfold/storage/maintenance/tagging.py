"""Tags are made, replaced, renamed and deleted, and expire.

A tag is written first, and then taken back if its snapshot has begun to expire meanwhile or was
rolled back. Files that only a deleted tag held are removed with it.
"""

import time
from typing import Any

from keyfold.errors import NotSupportedError, SnapshotExpiredError, TableError
from keyfold.options.values import shown
from keyfold.storage.history import tags
from keyfold.storage.history.tags import CREATED, PREFIX, RETAINED, Tag
from keyfold.storage.history.versions import snapshot_of_id
from keyfold.storage.maintenance.orphans import free
from keyfold.storage.metadata.avro_records import LONGEST, is_name
from keyfold.storage.metadata.documents import document, text_of
from keyfold.storage.metadata.snapshots import Snapshot
from keyfold.storage.rest.tables import TableServer
from keyfold.storage.table import Table


def create(
    table: Table,
    name: str,
    snapshot_id: int | None = None,
    retained: float | None = None,
    *,
    if_not_exists: bool = False,
) -> Tag | None:
    """Tag a snapshot, the newest if no id is given, to be kept for `retained` seconds
    (`tag.default-time-retained` if None). Returns None if the tag exists and may.

    Raises TableError if it exists and may not, or if there is no such snapshot.
    """
    _check_name(table, name)
    if table.server is not None:
        return _made_by(table.server, table, name, snapshot_id, retained, if_not_exists)
    content, found = _content(table, snapshot_id, retained)
    with table.held() as location:
        path = f"{location}/tag/{PREFIX}{name}"
        if not table.files.publish(path, content):
            if if_not_exists:
                return None
            raise _there(table, name)
        if not is_held(table, found, name):
            table.files.remove(path)
            raise too_late(table, found.id)
    return tags.require(table, name)


def _there(table: Table, name: str) -> TableError:
    return TableError(
        f"table {table.layout.name} has a tag '{name}' already: CREATE OR REPLACE TAG, or "
        "sys.replace_tag, gives it another snapshot; in Python table.tags.replace"
    )


def _made_by(
    server: TableServer,
    table: Table,
    name: str,
    snapshot_id: int | None,
    retained: float | None,
    may_exist: bool,
) -> Tag | None:
    found, _ = _snapshot(table, snapshot_id)

    def is_made() -> bool:
        made = tags.find(table, name)
        return made is not None and made.snapshot == found

    retained = table.options.tag_seconds if retained is None else retained
    if not server.make_tag(name, found.id, retained, is_made):
        if may_exist:
            return None
        raise _there(table, name)
    return tags.require(table, name)


def replace(
    table: Table,
    name: str,
    snapshot_id: int | None = None,
    retained: float | None = None,
    *,
    may_be_new: bool = False,
) -> Tag:
    """Give a tag another snapshot, and another time that it is kept; what only the old one held is
    removed. Raises TableError if there is no such tag, unless it may be new.
    """
    if may_be_new and tags.find(table, name) is None:
        create(table, name, snapshot_id, retained, if_not_exists=True)
        return tags.require(table, name)
    check_own(table, "replaces a tag")
    old = tags.require(table, name)
    content, found = _content(table, snapshot_id, retained)
    with table.held() as location:
        path = f"{location}/tag/{PREFIX}{name}"
        kept = table.files.read(path)
        table.files.replace(path, content)
        if not is_held(table, found, name):
            table.files.replace(path, kept)
            raise too_late(table, found.id)
    _free(table, old)
    return tags.require(table, name)


def rename(table: Table, name: str, to: str) -> None:
    """Give a tag another name: for a moment it has both. Raises TableError if the new one is taken,
    or if there is no such tag.
    """
    check_own(table, "renames a tag")
    _check_name(table, to)
    tags.require(table, name)
    with table.held() as location:
        content = table.files.read(f"{location}/tag/{PREFIX}{name}")
        if not table.files.publish(f"{location}/tag/{PREFIX}{to}", content):
            raise TableError(f"table {table.layout.name} has a tag '{to}' already")
        table.files.remove(f"{location}/tag/{PREFIX}{name}")


def delete(table: Table, name: str) -> bool:
    """Delete a tag, and the files that it alone held. False if there is no such tag."""
    found = tags.find(table, name)
    if found is None:
        return False
    if table.server is not None:
        return table.server.delete_tag(name)
    with table.held() as location:
        table.files.remove(f"{location}/tag/{PREFIX}{name}")
    _free(table, found)
    return True


def expire(table: Table, older_than: int | None = None) -> list[str]:
    """Delete the tags whose time is over, and those that were made before `older_than` (ms since
    the epoch). A tag that is kept for ever was made when its file was written. Returns their names.
    """
    now = int(time.time() * 1000)
    files = {e.name: e.modified for e in table.files.entries(f"{table.layout.home}/tag")}
    gone = []
    for tag in tags.all_of(table):
        made = tag.created
        if made is None:
            made = files.get(PREFIX + tag.name, now * 1_000_000) // 1_000_000
        is_over = tag.retained is not None and made + tag.retained * 1000 < now
        if is_over or (older_than is not None and made < older_than):
            gone += [tag.name] if delete(table, tag.name) else []
    return gone


def check_own(table: Table, doing: str) -> None:
    """Raises NotSupportedError if a server keeps the table's history, whose protocol lacks this."""
    if table.server is not None:
        raise NotSupportedError(
            f"table {table.layout.name} is in a REST catalog, whose protocol has no request that "
            f"{doing}: delete it and make it anew"
        )


def is_held(table: Table, snapshot: Snapshot, name: str = "") -> bool:
    """Whether a snapshot is kept whole, by itself or by another tag than this one. After a rollback
    another may have its number.
    """
    if table.snapshots.is_kept(snapshot.id) and table.snapshots.find(snapshot.id) == snapshot:
        return True
    return any(tag.snapshot == snapshot for tag in tags.all_of(table) if tag.name != name)


def too_late(table: Table, snapshot_id: int) -> SnapshotExpiredError:
    """The error: the snapshot went while something was about to keep it."""
    return SnapshotExpiredError(
        f"snapshot {snapshot_id} of table {table.layout.name} has begun to expire, or was rolled "
        f"back: the earliest kept is {max(table.snapshots.first_kept(), 1)}; nothing has changed"
    )


def content_of(table: Table, snapshot: Snapshot, tag: str) -> dict[str, Any]:
    """The stored snapshot, of its own file or of the tag that keeps it, as JSON."""
    path = table.snapshots.tag_path(tag) if tag else table.snapshots.path(snapshot.id)
    try:
        stored = dict(document(table.files.read(path)))
    except FileNotFoundError:
        raise too_late(table, snapshot.id) from None
    return {key: value for key, value in stored.items() if key not in (CREATED, RETAINED)}


def content_of_tag(table: Table, name: str) -> bytes:
    """The file of a tag. Raises TableError if it was deleted meanwhile."""
    try:
        return table.files.read(table.snapshots.tag_path(name))
    except FileNotFoundError:
        raise TableError(f"table {table.layout.name} has no tag '{name}' any more") from None


def _content(
    table: Table, snapshot_id: int | None, retained: float | None
) -> tuple[bytes, Snapshot]:
    found, tag = _snapshot(table, snapshot_id)
    stored = content_of(table, found, tag)
    retained = table.options.tag_seconds if retained is None else retained
    if retained is not None:
        now = int(time.time() * 1000)
        stored |= {CREATED: tags.local_time(now), RETAINED: retained}
    return text_of(stored), found


def _snapshot(table: Table, snapshot_id: int | None) -> tuple[Snapshot, str]:
    """The snapshot to tag, the newest without an id, and the tag that keeps it if it expired."""
    if snapshot_id is not None:
        return snapshot_of_id(table, snapshot_id)
    newest = table.snapshots.latest()
    if newest is None:
        raise TableError(f"table {table.layout.name} has no snapshot yet: there is nothing to tag")
    return newest, ""


def _check_name(table: Table, name: str) -> None:
    if not is_name(PREFIX + name) or not name.strip():
        raise TableError(
            f"tag name '{shown(name)}' of table {table.layout.name} is not allowed: expected one "
            f"part of a path, of printable characters, at most {LONGEST - len(PREFIX)} bytes"
        )


def _free(table: Table, tag: Tag) -> None:
    """Remove what only the tag held. Files of a snapshot that is there go when it expires."""
    if not table.snapshots.is_kept(tag.snapshot.id):
        free(table, [tag.snapshot])
