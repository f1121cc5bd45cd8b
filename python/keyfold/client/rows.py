"""The questions `write_rows`, `look_up` and `look_up_prefix` of a client of the JVM.

All carry the catalog, users' functions and the handle of the table, of which its name counts: each
question sees the newest schema and snapshot, as the calls of the Python door do. Rows and keys are
Arrow IPC streams.

`write_rows` is a conversation. After its ok frame the JVM sends frames {"rows": "upsert"} and
{"rows": "delete"}, each followed by a stream, in the order of the program, and {"commit": true} at
the end, which is answered by {"snapshot": id or null}. All of it is one transaction. After an error
frame, which may come at any time, nothing more is read of what the JVM sends, until it closes the
connection. If it does so before the answer, nothing has changed.

A look-up is one stream of keys, answered by an ok frame, a stream of rows and an ok frame. Its last
column says whether there is a row. A process whose memory ran out says so, and ends.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any

import pyarrow as pa

from keyfold.bridge import frames, memory
from keyfold.bridge.channel import Channel, Disconnected
from keyfold.bridge.frames import Frame
from keyfold.errors import NotSupportedError
from keyfold.lookup.row_group_cache import DEFAULT as LOOKUP_MEMORY
from keyfold.options.declared import TableOptions
from keyfold.questions.serve import CODE, Answer, ErrorSent, sending_errors
from keyfold.tables.by_key import found_of
from keyfold.tables.session import Session
from keyfold.tables.table import Table
from keyfold.tables.writable import Writable
from keyfold.user_functions.sources import Sources

IS_FOUND = "_is_found"

Step = tuple[str, Iterator[pa.RecordBatch]]


def table_of(question: Frame) -> Table:
    """The table that a question is about, as the Python door has it."""
    handle = question["table"]
    catalog = json.dumps([question["catalog"], question.get(CODE)], sort_keys=True)
    return Table(_session(catalog), handle["namespace"], handle["table"])


@lru_cache(maxsize=1)
def _session(asked: str) -> Session:
    """The connection to a catalog, with the rows that its look-ups keep."""
    catalog, code = json.loads(asked)
    functions, options = Sources.from_json(code), catalog["options"]
    session = Session.of(
        catalog["name"],
        options.get("warehouse"),
        options,
        modules=functions.modules,
        threads=None,
        memory=None,
        lookup_memory=LOOKUP_MEMORY,
    )
    session.registered.update(functions.registered or {})
    return session


def write_rows(channel: Channel, question: Frame) -> None:
    """Write what comes in as one snapshot."""
    with sending_errors(channel, "opening a table to write"):
        table = table_of(question)
    channel.send({"ok": {}})
    try:
        snapshot = _written(table, question, _steps(channel))
    except Disconnected:
        raise
    except Exception as e:
        channel.send(frames.failure(memory.explained(e), f"writing table {table.name}"))
        channel.discard()
    channel.send({"ok": {"snapshot": snapshot}})


def _steps(channel: Channel) -> Iterator[Step]:
    """The streams of a program, each with what is done with its rows, until the program commits."""
    while (frame := channel.receive()) is not None:
        if frame.get("commit"):
            return
        yield frame["rows"], channel.receive_batches()
    raise Disconnected("the JVM left without saying whether to commit")


def _written(table: Table, question: Frame, steps: Iterator[Step]) -> int | None:
    """The snapshot, None if nothing changed. In a table that orders rows by their snapshots, which
    has no transactions, all of it is one call.
    """
    token = None if question["token"] is None else tuple(question["token"])
    how = {"columns": question["columns"], "merge_mode": question["merge_mode"]}
    if table.options.get(TableOptions.snapshot_ordering.name, "").lower() == "true":
        (kind, batches), own = next(steps), {"token": token}
        return _do(table, kind, _alone(table, batches, steps), how, own)
    with table.transaction(token=token) as transaction:
        for kind, batches in steps:
            _do(transaction, kind, batches, how, {})
    return transaction.snapshot


def _do(
    table: Writable,
    kind: str,
    batches: Iterator[pa.RecordBatch],
    how: Mapping[str, Any],
    own: Mapping[str, Any],
) -> int | None:
    if kind == "delete":
        return table.delete(batches, **own)
    return table.upsert(batches, **how, **own)


def _alone(
    table: Table, batches: Iterator[pa.RecordBatch], steps: Iterator[Step]
) -> Iterator[pa.RecordBatch]:
    yield from batches
    if next(steps, None) is not None:
        raise NotSupportedError(
            f"writing table {table.name}: rows that are written and keys that are deleted are not "
            f"one snapshot in a table with {TableOptions.snapshot_ordering.name}: flush in between"
        )


def look_up(channel: Channel, question: Frame) -> None:
    """Send the row of each key, with NULLs where there is none."""

    def rows(table: Table, keys: pa.Table) -> tuple[pa.ChunkedArray, pa.Table]:
        return found_of(table, keys, question["columns"], question["refresh_ms"])

    _answered(channel, question, rows)


def look_up_prefix(channel: Channel, question: Frame) -> None:
    """Send all rows whose key begins with the values of the one row that comes in."""

    def rows(table: Table, keys: pa.Table) -> tuple[pa.Array, pa.Table]:
        (key,) = keys.to_pylist()
        found = table.prefix(key, question["columns"], refresh_ms=question["refresh_ms"])
        return pa.repeat(True, found.num_rows), found

    _answered(channel, question, rows)


def _answered(
    channel: Channel,
    question: Frame,
    rows: Callable[[Table, pa.Table], tuple[pa.Array | pa.ChunkedArray, pa.Table]],
) -> None:
    keys = pa.Table.from_batches(list(channel.receive_batches()))
    try:
        with sending_errors(channel, "looking keys up"):
            flags, found = rows(table_of(question), keys)
            found = found.append_column(IS_FOUND, flags)
    except ErrorSent as sent:
        if isinstance(sent.__cause__, Exception) and memory.is_of_memory(sent.__cause__):
            raise Disconnected("the process is full: the next one begins empty") from sent
        raise
    channel.send({"ok": {}})
    channel.send_batches(found.schema, iter(found.to_batches()))
    channel.send({"ok": {}})


ANSWERS: Mapping[str, Answer] = {
    "write_rows": write_rows,
    "look_up": look_up,
    "look_up_prefix": look_up_prefix,
}
