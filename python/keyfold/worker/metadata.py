"""Tables that show another table (driver side): `t$files` and its kin, and `t$ro`.

They are loaded by the question `load_table`, as any table; `read_metadata` answers with an ok
frame, an Arrow IPC stream, and a trailer frame.
"""

from typing import Any

import pyarrow as pa

from keyfold.errors import NoSuchTableError, NotSupportedError
from keyfold.layout import sql_name
from keyfold.read import metadata
from keyfold.storage.catalog import Catalog
from keyfold.storage.table import Table, open_handle
from keyfold.worker import wire
from keyfold.worker.channel import Channel, Disconnected

MARK = "$"


def describe(catalog: Catalog, namespace: list[str], name: str) -> dict[str, Any]:
    """The description of a table, or of what a name with a `$` shows of one."""
    try:
        return catalog.load_table(namespace, name).describe()
    except NoSuchTableError:
        base, mark, suffix = name.partition(MARK)
        if not mark:
            raise
        try:
            table = catalog.load_table(namespace, base)
        except NoSuchTableError:
            pass
        else:
            return _view(table, sql_name(catalog.name, *namespace, name), suffix)
        raise


def _view(table: Table, name: str, suffix: str) -> dict[str, Any]:
    described = {**table.describe(), "name": name}
    if suffix.lower() == metadata.READ_OPTIMIZED:
        return described | {"view": "read-optimized"}
    found = metadata.ALL.get(suffix.lower())
    if found is None:
        known = ", ".join(f"${known}" for known in [*metadata.ALL, metadata.READ_OPTIMIZED])
        raise NotSupportedError(
            f"table {table.layout.name} has no metadata table ${suffix}; there are {known}"
        )
    return described | {
        "view": "metadata",
        "metadata": found.name,
        "columns": [column.to_json() for column in found.columns],
        "primary_key": [],
        "partitioning": [],
        "properties": {},
    }


def answer(channel: Channel, question: wire.Frame) -> None:
    """Send the rows of question["metadata"] with question["columns"]; points in time are shown as
    the clocks of question["zone"] show them.
    """
    doing = f"reading ${question['metadata']}"
    try:
        table = open_handle(question["table"], question["catalog"]["options"])
        found = metadata.ALL[question["metadata"]]
        columns = question["columns"]
        schema = pa.schema([column.field for column in found.wanted(columns)])
    except Exception as e:
        channel.send(wire.failure(e, doing))
        return
    channel.send({"ok": {}})
    try:
        channel.send_batches(schema, found.batches(table, columns, question["zone"]))
    except Disconnected:
        raise
    except Exception as e:
        channel.send(wire.failure(e, doing))
        return
    channel.send({"ok": {}})
