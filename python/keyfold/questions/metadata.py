"""Looking at a table (driver side): `t$files` and its kin, `t$ro`, and the health of its buckets.

The question `load_table` loads these tables, as any table. `read_metadata` answers with an ok
frame, an Arrow IPC stream and a trailer frame.
"""

from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa

from keyfold.bridge import frames
from keyfold.bridge.channel import Channel
from keyfold.changelog import views
from keyfold.errors import NoSuchTableError, NotSupportedError
from keyfold.options.calls import READ_METADATA
from keyfold.questions.serve import Questions, sending_errors
from keyfold.read import metadata
from keyfold.read.call_options import call_options
from keyfold.storage.branching import branches
from keyfold.storage.catalogs.interface import Catalog
from keyfold.storage.table import Table, open_handle
from keyfold.wire.layout import BRANCH_MARK, sql_name
from keyfold.wire.predicates import decoded

MARK = "$"
_BRANCH = BRANCH_MARK.removeprefix(MARK)
QUESTIONS = Questions()


def find(catalog: Catalog, namespace: list[str], name: str) -> tuple[Table, dict[str, Any]]:
    """A table, and the fields of its description that a `$` in the name replaces."""
    try:
        return catalog.load_table(namespace, name), {}
    except NoSuchTableError:
        base, mark, suffix = name.rpartition(MARK)
        if not mark:
            raise
        try:
            table = catalog.load_table(namespace, base)
        except NoSuchTableError:
            pass
        else:
            return table, _view(table, sql_name(catalog.name, *namespace, name), suffix)
        raise


def _view(table: Table, name: str, suffix: str) -> dict[str, Any]:
    if suffix.startswith(_BRANCH):
        raise branches.missing(table, suffix.removeprefix(_BRANCH))
    if suffix.lower() == metadata.READ_OPTIMIZED:
        return {"name": name, "view": "read-optimized"}
    if suffix.lower() in (views.AUDIT_LOG.name, views.BINLOG.name):
        return _changes(table, name, views.view(suffix.lower()))
    found = metadata.ALL.get(suffix.lower())
    if found is None:
        every = [*metadata.ALL, metadata.READ_OPTIMIZED, views.AUDIT_LOG.name, views.BINLOG.name]
        known = [f"{MARK}{known}" for known in every]
        raise NotSupportedError(metadata.unknown(table.layout.name, f"{MARK}{suffix}", known))
    columns = [column.to_json() for column in found.columns]
    described = {"name": name, "view": "metadata", "metadata": found.name, "columns": columns}
    return _KEYLESS | _UNDECIDED | described


_UNDECIDED: dict[str, Any] = {"pushdown": {}}  # columns of the table may have the same names
_KEYLESS: dict[str, Any] = {"primary_key": [], "partitioning": [], "properties": {}}


def _changes(table: Table, name: str, view: views.View) -> dict[str, Any]:
    decided = {} if view.is_plain else _UNDECIDED
    columns, shown = views.to_json(view, table.layout), {"view": view.name}
    described = {"name": name, "view": "changes", "changes": shown, "columns": columns}
    return _KEYLESS | decided | described | {"metadata_columns": []}


@QUESTIONS.streamed
def read_metadata(channel: Channel, question: frames.Frame) -> None:
    """Send the rows of question["metadata"] with question["columns"], no more than
    question["limit"]; points in time are in the local time of question["zone"]. Spark applies
    question["filters"] to the rows.
    """

    def rows() -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
        table = open_handle(question["table"], question["catalog"]["options"])
        call_options(READ_METADATA, table, question.get("options"))
        found = metadata.ALL[question["metadata"]]
        columns, zone, limit = question["columns"], question["zone"], question.get("limit")
        filters = decoded(question.get("filters"))
        schema = pa.schema([column.field for column in found.wanted(columns)])
        return schema, found.batches(table, columns, zone, filters, limit)

    send_rows(channel, f"reading ${question['metadata']}", rows)


def send_rows(
    channel: Channel, doing: str, rows: Callable[[], tuple[pa.Schema, Iterator[pa.RecordBatch]]]
) -> None:
    """Send an ok frame, the rows and a trailer frame, or an error."""
    with sending_errors(channel, doing):
        schema, batches = rows()
    channel.send({"ok": {}})
    with sending_errors(channel, doing):
        channel.send_batches(schema, batches)
    channel.send({"ok": {}})
