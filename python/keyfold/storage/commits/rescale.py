"""Another number of buckets: first a schema that has it, then a snapshot whose files have it.

Each file has its own number of buckets. Readers go by that, so none sees half of a rescale. A
writer goes by the schema's number, and is refused if files have another. So appends are refused
between schema and snapshot, and after a process died there. Another rescale to either number ends
that. A rollback gives the schema the number of the files that it finds, also between schema and
snapshot: so a rescale looks at the schema once more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from keyfold.errors import NotSupportedError, UnknownOutcomeError
from keyfold.options.parsing import parse
from keyfold.storage.commits import commit
from keyfold.storage.commits.conflicts import check_rescaled, check_rewritten
from keyfold.storage.metadata.entries import LiveFile
from keyfold.storage.schema.schemas import Schemas, StoredSchema
from keyfold.storage.table import Table, newest_schema
from keyfold.wire.specs import CommitMessage


def check_rescalable(table: Table) -> None:
    """Raises NotSupportedError if a server publishes the table's schemas."""
    if table.server is not None:
        raise NotSupportedError(
            f"table {table.layout.name} can't be rescaled through a REST catalog: its schemas are "
            "the server's; make a table of that many buckets and INSERT INTO it"
        )


def rescale(
    table: Table,
    job: str,
    buckets: int,
    removed: Sequence[LiveFile],
    messages: Sequence[CommitMessage],
) -> int | None:
    """Give the table `buckets` buckets, with files that hold the rows of `removed`: all files of
    another number. Returns the snapshot's id, None if the table has no such files.

    Raises ConflictError, with nothing changed, if another job added or replaced some.
    """
    check_rescalable(table)
    _check(table, buckets, removed)
    with table.held() as location:
        schemas = Schemas(table.files, location, table.layout.name)
        before = _set(schemas, buckets)
        try:
            published = commit.rewrite(newest_schema(table), job, removed, messages, buckets)
        except UnknownOutcomeError:
            raise
        except BaseException:
            if before != buckets:
                take_back(table, schemas, buckets, before)
            raise
        now = _count(schemas)
        if published and now and now != buckets:  # a rollback came in between
            take_back(table, schemas, now, buckets)
        return published


def _check(table: Table, buckets: int, removed: Sequence[LiveFile]) -> None:
    """Raises ConflictError if a conflict shows before the schema is touched."""
    base = table.snapshots.latest()
    live = [] if base is None else table.live_files(base.id)
    gone = frozenset(file.state for file in removed)
    check_rewritten(table, gone, live)
    check_rescaled(table, buckets, gone, [f for f in live if f.state not in gone])


def _set(schemas: Schemas, buckets: int) -> int:
    """Publish a schema with `buckets` buckets unless the newest has them. Returns the number of
    the newest.
    """

    def changed(current: StoredSchema) -> StoredSchema:
        if parse(current.layout).bucket == buckets:
            return current
        options = {**current.layout.options, "bucket": str(buckets)}
        return replace(current, layout=replace(current.layout, options=options))

    return parse(schemas.change("sys.rescale", changed).layout).bucket


def _count(schemas: Schemas) -> int | None:
    """The number of buckets in the newest schema, None if there is no schema any more."""
    newest = schemas.latest_id()
    return None if newest is None else parse(schemas.read(newest).layout).bucket


def take_back(table: Table, schemas: Schemas, buckets: int, before: int) -> None:
    """Set the number of buckets that the files have, or `before` if there are several or no files;
    not if another job has set one since.
    """
    while _count(schemas) == buckets:
        base = table.snapshots.latest()
        totals = set() if base is None else table.live(base.id).bucket_counts()
        buckets = totals.pop() if len(totals) == 1 else before
        _set(schemas, buckets)
        if table.snapshots.latest() == base:  # else another rescale may have come in between
            return
