"""rollback and its kin: an older snapshot becomes the newest, with Paimon's names and arguments."""

from collections.abc import Callable

from keyfold.errors import TableError
from keyfold.procedures.declare import Procedure, ProcedureCall, ProcedureParameter, Rows
from keyfold.storage.branching.rollback import is_repeated, rollback
from keyfold.storage.commits.epochs import passed_over
from keyfold.storage.history import tags, versions
from keyfold.storage.metadata.snapshots import Snapshot
from keyfold.storage.table import Table

_MOVED = {"previous_snapshot_id": "BIGINT", "current_snapshot_id": "BIGINT"}


def _moved(call: ProcedureCall, target: Callable[[Table], tuple[Snapshot, str]]) -> Rows:
    """The row of a call that goes back to a target, and the tag that keeps it; a repeated one looks
    for none, which may have expired since.
    """
    table, newest = call.newest(), None
    if not is_repeated(table, call.epoch):
        newest = rollback(table, *target(table), call.epoch)
    if newest is None and call.epoch is not None:
        call.caller.note(passed_over(table, call.epoch))
    return [{"previous_snapshot_id": table.snapshot_id, "current_snapshot_id": newest}]


def _rollback(
    call: ProcedureCall, version: str | None, snapshot: int | None, tag: str | None
) -> Rows:
    asked = {"version": version, "snapshot": snapshot, "tag": tag}
    given = [name for name, value in asked.items() if value is not None]
    if len(given) != 1:
        raise TableError(
            f"rollback of table {call.table.layout.name}: expected one of version, snapshot and "
            f"tag, found {', '.join(given) or 'none'}"
        )
    if snapshot is not None:
        return _moved(call, lambda table: versions.snapshot_of_id(table, snapshot))
    if tag is not None:
        return _moved(call, lambda table: (tags.require(table, tag).snapshot, tag))
    return _moved(call, lambda table: versions.resolve(table, version or ""))


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
    takes_token=True,
)


def _to_timestamp(call: ProcedureCall, timestamp: int) -> Rows:
    return _moved(call, lambda table: (versions.snapshot_at(table, timestamp), ""))


ROLLBACK_TO_TIMESTAMP = Procedure(
    "rollback_to_timestamp",
    "makes the newest snapshot until a time the newest",
    (ProcedureParameter("timestamp", "BIGINT", "in milliseconds since 1970", is_required=True),),
    _MOVED,
    _to_timestamp,
    "Makes the newest snapshot until that time the newest.",
    takes_token=True,
)


def _to_watermark(call: ProcedureCall, watermark: int) -> Rows:
    return _moved(
        call, lambda table: (versions.snapshot_by_watermark(table, watermark, until=True), "")
    )


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
    takes_token=True,
)
