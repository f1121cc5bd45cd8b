"""reset_consumer and clear_consumers: where streams with a name go on, with Paimon's names and
arguments.
"""

import re

from keyfold.changelog.views import ROWS
from keyfold.errors import TableError
from keyfold.procedures.declare import Procedure, ProcedureCall, ProcedureParameter, Rows
from keyfold.storage.maintenance import consumers
from keyfold.storage.metadata.avro_records import is_name
from keyfold.streams import batches
from keyfold.streams.offsets import offset_at, position_of

_DONE = {"result": "BOOLEAN"}
_ROWS = batches.shown({"view": ROWS.name}, ignores_deletes=True)


def _reset(call: ProcedureCall, consumerId: str, nextSnapshotId: int | None) -> Rows:
    table = call.newest()
    doing = f"reset_consumer of table {table.layout.name}"
    if nextSnapshotId is None:
        is_there = consumerId in consumers.names(table)
        if is_there:
            consumers.forget(table, consumerId)
        return [{"result": is_there}]
    if not is_name(consumerId):
        raise TableError(
            f"{doing}: consumerId is '{consumerId}', expected a name that a file may have"
        )
    earliest, newest = table.snapshots.earliest_id() or 1, table.snapshot_id or 0
    if not earliest <= nextSnapshotId <= newest + 1:
        raise TableError(
            f"{doing}: nextSnapshotId is {nextSnapshotId}; expected {earliest}, the earliest "
            f"snapshot, to {newest + 1}, which is the next one to come"
        )
    begin = offset_at(table, nextSnapshotId - 1)
    batches.check_kept(table, begin, _ROWS)
    consumers.note(table, consumerId, position_of(begin))
    return [{"result": True}]


RESET_CONSUMER = Procedure(
    "reset_consumer",
    "lets a consumer go on at another snapshot, or forgets it",
    (
        ProcedureParameter("consumerId", "STRING", "its name", is_required=True),
        ProcedureParameter(
            "nextSnapshotId",
            "BIGINT",
            "the snapshot whose changes it reads next; forgets it if left out",
        ),
    ),
    _DONE,
    _reset,
    "Lets a [consumer](streams.md#read-a-table-as-a-stream) go on with the changes of a snapshot, "
    "or forgets it: expiry then no longer waits for it. It counts for a query with a new "
    "checkpoint; stop the one with the old checkpoint, which goes on where it is and notes that. "
    "The result is false if there is none of that name to forget.",
)


def _clear(
    call: ProcedureCall, includingConsumers: str | None, excludingConsumers: str | None
) -> Rows:
    table = call.newest()
    taken = _pattern(table.layout.name, "includingConsumers", includingConsumers) or _ALL
    left = _pattern(table.layout.name, "excludingConsumers", excludingConsumers)
    for name in consumers.names(table):
        if taken.fullmatch(name) and not (left and left.fullmatch(name)):
            consumers.forget(table, name)
    return [{"result": True}]


_ALL = re.compile(".*", re.DOTALL)


def _pattern(table: str, parameter: str, text: str | None) -> re.Pattern[str] | None:
    if text is None or not text.strip():
        return None
    try:
        return re.compile(text)
    except re.error as error:
        raise TableError(
            f"clear_consumers of table {table}: {parameter} is '{text}', expected a regular "
            f"expression: {error}"
        ) from None


CLEAR_CONSUMERS = Procedure(
    "clear_consumers",
    "forgets consumers",
    (
        ProcedureParameter(
            "includingConsumers",
            "STRING",
            "a regular expression that their whole names match; all when left out",
        ),
        ProcedureParameter(
            "excludingConsumers", "STRING", "one that the names of those match that stay"
        ),
    ),
    _DONE,
    _clear,
    "Forgets consumers, all or those whose whole names match a regular expression.",
)
