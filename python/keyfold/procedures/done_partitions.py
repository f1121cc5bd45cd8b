"""mark_partition_done: a file that tells other jobs that a partition has all its rows."""

import json
import time

from keyfold.compact.named_partitions import named
from keyfold.errors import NotSupportedError, TableError
from keyfold.procedures.declare import Procedure, ProcedureCall, ProcedureParameter, Rows
from keyfold.storage.table import Table
from keyfold.wire.partitions import Partition

_ACTION, _SUCCESS_FILE = "partition.mark-done-action", "success-file"
_CREATED, _MODIFIED = "creationTime", "modificationTime"


def _mark(call: ProcedureCall, partitions: str) -> Rows:
    table = call.newest()
    layout = table.layout
    doing = f"mark_partition_done of table {layout.name}"
    actions = layout.options.get(_ACTION, _SUCCESS_FILE)
    if actions.strip() != _SUCCESS_FILE:
        raise NotSupportedError(
            f"{doing}: {_ACTION} is '{actions}', expected '{_SUCCESS_FILE}': keyfold has no "
            "metastore and calls nobody. Set it to that, or let the engine that knows it mark them"
        )
    found = named(layout, partitions, doing)
    if not found or any(set(one) != set(layout.partition_keys) for one in found):
        raise TableError(
            f"{doing}: partitions is '{partitions}', expected a value of each partition column "
            f"({', '.join(layout.partition_keys) or 'there is none'}), as 'dt=2024-01-01,hh=1'; "
            "more of them after semicolons"
        )
    table.check_writable()
    for one in found:
        _note(table, Partition.of(layout, [one[name] for name in layout.partition_keys]))
    return [{"result": True}]


def _note(table: Table, partition: Partition) -> None:
    """Write Paimon's file `_SUCCESS`, with the times at which it was first and last written in ms
    since 1970, into the folder of a partition. One that holds something else is replaced.
    """
    path, now = f"{partition.folder(table.layout)}/_SUCCESS", int(time.time() * 1000)
    created = now
    try:
        before = json.loads(table.files.read(path))
        created = before[_CREATED] if isinstance(before[_CREATED], int) else now
    except (FileNotFoundError, ValueError, TypeError, LookupError):
        pass
    table.files.replace(path, json.dumps({_CREATED: created, _MODIFIED: now}).encode())


MARK_PARTITION_DONE = Procedure(
    "mark_partition_done",
    "tells other jobs that partitions have all their rows",
    (
        ProcedureParameter(
            "partitions", "STRING", "as 'dt=2024-01-01,hh=1;dt=2024-01-01,hh=2'", is_required=True
        ),
    ),
    {"result": "BOOLEAN"},
    _mark,
    "Writes the file `_SUCCESS` into the folders of partitions, as Paimon's action `success-file` "
    "does: schedulers wait for it. What is written to the partition later does not remove it.",
)
