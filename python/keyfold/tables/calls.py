"""Procedures, as the methods of a table call them in this process."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

import pyarrow as pa

from keyfold.errors import NotSupportedError
from keyfold.procedures import expiry
from keyfold.procedures.declare import Call, Procedure, Rows
from keyfold.storage.table import Table
from keyfold.tables.session import Session
from keyfold.tables.timestamps import millis_of

ORPHANS = pa.schema([pa.field("path", pa.utf8()), pa.field("bytes", pa.int64())])
LOG = logging.getLogger("keyfold")


class Here:
    """This process, as procedures see who calls them."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def note(self, line: str, *, is_bad: bool = False) -> None:
        """Write a line to the log `keyfold`."""
        LOG.log(logging.WARNING if is_bad else logging.INFO, line)

    def analyzed(self, columns: list[str] | None) -> Mapping[str, Any]:
        """Raises NotSupportedError: only Spark counts."""
        raise NotSupportedError("columns are analyzed by Spark: CALL sys.analyze there")


def call(session: Session, load: Callable[[], Table]) -> Call:
    """A call about the table that `load` gives as it is now."""
    return Call(load(), load, Here(session))


def rows(
    session: Session, load: Callable[[], Table], procedure: Procedure, **arguments: Any
) -> Rows:
    """The rows of a procedure."""
    with session.working():
        return procedure.rows(call(session, load), arguments)


def table_of(procedure: Procedure, found: Rows) -> pa.Table:
    """The rows of a procedure as a table."""
    return pa.Table.from_pylist(found, procedure.schema)


def millis(table: str, older_than: datetime | str | None) -> int | None:
    """The time that a user named, in milliseconds since 1970."""
    if older_than is None:
        return None
    return millis_of(f"upkeep of table {table}: older_than", older_than)


def orphans(call: Call, older_than: int | None, *, dry_run: bool) -> pa.Table:
    """The files that nothing refers to, which are removed unless `dry_run`."""
    found = expiry.orphans(call, older_than, dry_run=dry_run)
    return pa.Table.from_pylist([{"path": f.path, "bytes": f.bytes} for f in found], ORPHANS)
