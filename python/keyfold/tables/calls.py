"""Procedures, as the methods of a table call them in this process."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any

import pyarrow as pa

from keyfold.compact.after_write import compact_after_write
from keyfold.compact.rewrite import Rewriter
from keyfold.compact.task_runner import Made
from keyfold.errors import NotSupportedError
from keyfold.options.changelogs import is_awaited
from keyfold.options.names import without_effect
from keyfold.procedures import expiry
from keyfold.procedures.declare import CatalogCall, Procedure, ProcedureCall, Rows
from keyfold.resources.threads import done
from keyfold.storage.table import Table, open_newest
from keyfold.tables.rows.optional import progress
from keyfold.tables.rows.timestamps import millis_of
from keyfold.tables.session import Session
from keyfold.tables.statements.tokens import options_of
from keyfold.wire.specs import CommitMessage, CompactionSpec, Task
from keyfold.write.jobs import epoch_of

ORPHANS = pa.schema([pa.field("path", pa.utf8()), pa.field("bytes", pa.int64())])
LOG = logging.getLogger("keyfold")


class Here:
    """This process, as procedures see who calls them."""

    def __init__(self, session: Session) -> None:
        self._session = session

    @property
    def options(self) -> Mapping[str, str]:
        """The options of the catalog."""
        return self._session.options

    @property
    def parallelism(self) -> int:
        """The number of threads."""
        return self._session.threads

    def made(self, title: str, spec: CompactionSpec, tasks: Sequence[Task]) -> Iterator[Made]:
        """The files of each task, which threads do, or its error, as they end."""
        threads = min(self.parallelism, len(tasks)) or 1
        working = partial(self._session.working, threads)
        rewriter = Rewriter(spec)
        found = done([partial(rewriter.rewrite, task) for task in tasks], threads, working)
        return progress(found, len(tasks), spec.layout.name)

    def apart(self) -> None:
        """Do nothing: a program waits."""

    def note(self, line: str, *, is_bad: bool = False) -> None:
        """Write a line to the log `keyfold`."""
        LOG.log(logging.WARNING if is_bad else logging.INFO, line)

    def analyzed(self, columns: list[str]) -> Mapping[str, Any]:
        """Raises NotSupportedError: only Spark counts."""
        raise NotSupportedError("columns are analyzed by Spark: CALL sys.analyze there")


def note_options(table: str, options: Iterable[str]) -> None:
    """Say in the log `keyfold` which of the options that a program gives a table do nothing."""
    if (note := without_effect(table, options)) is not None:
        LOG.warning(note)


def after_write(session: Session, table: Table, messages: Iterable[CommitMessage]) -> None:
    """Compact the buckets of a write if it is due. A failure is only logged: the rows are written,
    and the next write tries again.
    """
    if table.options.write_only:
        return
    touched = frozenset((m.partition.values, m.bucket) for m in messages)
    newest, awaited = partial(open_newest, table.handle, session.options), is_awaited(table.options)
    try:
        with session.working():
            compact_after_write(
                Here(session), newest, table.layout.location, touched, awaited=awaited
            )
    except Exception:
        LOG.warning("%s: the compaction after a write failed", table.layout.name, exc_info=True)


def call(
    session: Session, load: Callable[[], Table], token: tuple[str, int] | None = None
) -> ProcedureCall:
    """A call about the table that `load` gives as it is now. Raises TableError if the token is no
    name with a version.
    """
    table = load()
    epoch = epoch_of(table.layout.name, options_of(table.layout.name, token), None)
    return ProcedureCall(table, load, Here(session), epoch)


def rows(
    session: Session,
    load: Callable[[], Table],
    procedure: Procedure,
    *,
    token: tuple[str, int] | None = None,
    **arguments: Any,
) -> Rows:
    """The rows of a procedure."""
    with session.working():
        return procedure.rows(call(session, load, token), arguments)


def rows_of_catalog(session: Session, procedure: Procedure, **arguments: Any) -> Rows:
    """The rows of a procedure about the tables of a catalog."""
    with session.working():
        return procedure.rows(CatalogCall(session.catalog(), Here(session)), arguments)


def table_of(procedure: Procedure, found: Rows) -> pa.Table:
    """The rows of a procedure as a table."""
    return pa.Table.from_pylist(found, procedure.schema)


def millis(table: str, older_than: datetime | str | None) -> int | None:
    """The time that a user named, in milliseconds since 1970."""
    if older_than is None:
        return None
    return millis_of(f"upkeep of table {table}: older_than", older_than)


def orphans(call: ProcedureCall, older_than: int | None, *, dry_run: bool) -> pa.Table:
    """The files that nothing refers to, which are removed unless `dry_run`."""
    found = expiry.orphans(call, older_than, dry_run=dry_run)
    return pa.Table.from_pylist([{"path": f.path, "bytes": f.bytes} for f in found], ORPHANS)
