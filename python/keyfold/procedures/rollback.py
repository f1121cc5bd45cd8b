"""rollback and its kin: an older snapshot becomes the newest, with Paimon's names and arguments."""

from keyfold.errors import TableError
from keyfold.procedures.declare import Procedure, ProcedureCall, ProcedureParameter, Rows
from keyfold.storage.branching.rollback import rollback
from keyfold.storage.history import tags, versions
from keyfold.storage.metadata.snapshots import Snapshot
from keyfold.storage.table import Table

_MOVED = {"previous_snapshot_id": "BIGINT", "current_snapshot_id": "BIGINT"}


def _moved(table: Table, snapshot: Snapshot, tag: str = "") -> Rows:
    newest = rollback(table, snapshot, tag)
    return [{"previous_snapshot_id": table.snapshot_id, "current_snapshot_id": newest}]


def _rollback(
    call: ProcedureCall, version: str | None, snapshot: int | None, tag: str | None
) -> Rows:
    table = call.newest()
    asked = {"version": version, "snapshot": snapshot, "tag": tag}
    given = [name for name, value in asked.items() if value is not None]
    if len(given) != 1:
        raise TableError(
            f"rollback of table {table.layout.name}: expected one of version, snapshot and tag, "
            f"found {', '.join(given) or 'none'}"
        )
    if snapshot is not None:
        return _moved(table, *versions.snapshot_of_id(table, snapshot))
    if tag is not None:
        return _moved(table, tags.require(table, tag).snapshot, tag)
    return _moved(table, *versions.resolve(table, version or ""))


ROLLBACK = Procedure(
    "rollback",
    "makes a snapshot or tag the newest",
    (
        ProcedureParameter("version", "STRING", "the id of a snapshot, or the name of a tag"),
        ProcedureParameter("snapshot", "BIGINT", "the id of a snapshot"),
        ProcedureParameter("tag", "STRING", "the name of a tag"),
    ),
    _MOVED,
    _rollback,
    "Makes that snapshot the newest ([rollback](history.md#rollback)); one of the three is given.",
    goes_back=True,
)


def _to_timestamp(call: ProcedureCall, timestamp: int) -> Rows:
    table = call.newest()
    return _moved(table, versions.snapshot_at(table, timestamp))


ROLLBACK_TO_TIMESTAMP = Procedure(
    "rollback_to_timestamp",
    "makes the newest snapshot until a time the newest",
    (ProcedureParameter("timestamp", "BIGINT", "in milliseconds since 1970", is_required=True),),
    _MOVED,
    _to_timestamp,
    "Makes the newest snapshot until that time the newest.",
    goes_back=True,
)


def _to_watermark(call: ProcedureCall, watermark: int) -> Rows:
    table = call.newest()
    return _moved(table, versions.snapshot_by_watermark(table, watermark, until=True))


ROLLBACK_TO_WATERMARK = Procedure(
    "rollback_to_watermark",
    "makes the newest snapshot until a watermark the newest",
    (
        ProcedureParameter(
            "watermark", "BIGINT", "as streams of other engines store it", is_required=True
        ),
    ),
    _MOVED,
    _to_watermark,
    "Makes the newest snapshot until that watermark the newest.",
    goes_back=True,
)
