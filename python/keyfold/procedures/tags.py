"""create_tag and its kin: names for snapshots, with Paimon's names and arguments."""

from keyfold.procedures.declare import (
    Procedure,
    ProcedureCall,
    ProcedureParameter,
    Rows,
    duration_of,
    listed,
)
from keyfold.storage.history import tags, versions
from keyfold.storage.maintenance import automatic, tagging
from keyfold.storage.metadata.snapshots import Snapshot
from keyfold.storage.table import Table

_DONE = {"result": "BOOLEAN"}
_TAG = ProcedureParameter("tag", "STRING", "its name", is_required=True)
_SNAPSHOT = ProcedureParameter(
    "snapshot", "BIGINT", "the id of a snapshot; the newest when left out"
)
_RETAINED = ProcedureParameter(
    "time_retained",
    "STRING",
    "how long it is kept, as '7 d'; tag.default-time-retained when left out",
)


def _create(
    call: ProcedureCall,
    tag: str,
    snapshot: int | None,
    time_retained: str | None,
    if_not_exists: bool,
) -> Rows:
    kept = duration_of("time_retained", time_retained)
    made = tagging.create(call.newest(), tag, snapshot, kept, if_not_exists=if_not_exists)
    return [{"result": made is not None}]


CREATE_TAG = Procedure(
    "create_tag",
    "keeps a snapshot under a name",
    (
        _TAG,
        _SNAPSHOT,
        _RETAINED,
        ProcedureParameter("if_not_exists", "BOOLEAN", "do nothing if there is such a tag", False),
    ),
    _DONE,
    _create,
    "Keeps a snapshot, the newest if none is named, under a name ([history](history.md#tags)).",
    short="tag",
)


def _create_from(call: ProcedureCall, tag: str, timestamp: int, time_retained: str | None) -> Rows:
    table = call.newest()
    return _tagged(table, tag, versions.snapshot_from(table, timestamp), time_retained)


def _create_from_watermark(
    call: ProcedureCall, tag: str, watermark: int, time_retained: str | None
) -> Rows:
    table = call.newest()
    found = versions.snapshot_by_watermark(table, watermark, until=False)
    return _tagged(table, tag, found, time_retained)


def _tagged(table: Table, tag: str, found: Snapshot, time_retained: str | None) -> Rows:
    tagging.create(table, tag, found.id, duration_of("time_retained", time_retained))
    told = {"commit_time": found.time_millis, "watermark": found.watermark}
    return [{"tag": tag, "snapshot": found.id} | told]


_TAGGED = {"tag": "STRING", "snapshot": "BIGINT", "commit_time": "BIGINT", "watermark": "BIGINT"}


CREATE_TAG_FROM_TIMESTAMP = Procedure(
    "create_tag_from_timestamp",
    "tags the first snapshot of a time or later",
    (
        _TAG,
        ProcedureParameter("timestamp", "BIGINT", "in milliseconds since 1970", is_required=True),
        _RETAINED,
    ),
    _TAGGED,
    _create_from,
    "Tags the first snapshot of that time (in ms since 1970) or later; one that has expired too, "
    "if a tag keeps it.",
)


CREATE_TAG_FROM_WATERMARK = Procedure(
    "create_tag_from_watermark",
    "tags the first snapshot that has reached a watermark",
    (
        _TAG,
        ProcedureParameter(
            "watermark", "BIGINT", "as streams of other engines store it", is_required=True
        ),
        _RETAINED,
    ),
    _TAGGED,
    _create_from_watermark,
    "Tags the first snapshot that has reached that watermark.",
)


def _replace(
    call: ProcedureCall, tag: str, snapshot: int | None, time_retained: str | None, or_create: bool
) -> Rows:
    kept = duration_of("time_retained", time_retained)
    tagging.replace(call.newest(), tag, snapshot, kept, may_be_new=or_create)
    return [{"result": True}]


REPLACE_TAG = Procedure(
    "replace_tag",
    "gives a tag another snapshot",
    (
        _TAG,
        _SNAPSHOT,
        _RETAINED,
        ProcedureParameter("or_create", "BOOLEAN", "make the tag if it does not exist", False),
    ),
    _DONE,
    _replace,
    "Gives a tag another snapshot, the newest if none is named.",
)


def _rename(call: ProcedureCall, tag: str, target_tag: str) -> Rows:
    tagging.rename(call.newest(), tag, target_tag)
    return [{"result": True}]


RENAME_TAG = Procedure(
    "rename_tag",
    "gives a tag another name",
    (_TAG, ProcedureParameter("target_tag", "STRING", "the new name", is_required=True)),
    _DONE,
    _rename,
    "Gives a tag another name.",
)


def _delete(call: ProcedureCall, tag: str, if_exists: bool) -> Rows:
    """Missing tags are passed over, as Paimon does, unless `if_exists` is false."""
    table = call.newest()
    names = listed(tag, tags.names(table))
    for name in () if if_exists else names:
        tags.require(table, name)
    deleted = [tagging.delete(table, name) for name in names]
    return [{"result": any(deleted)}]


DELETE_TAG = Procedure(
    "delete_tag",
    "deletes tags and the files that only they hold",
    (
        ProcedureParameter("tag", "STRING", "names, with commas between them", is_required=True),
        ProcedureParameter(
            "if_exists",
            "BOOLEAN",
            "whether tags that do not exist are passed over: true when left out",
            True,
        ),
    ),
    _DONE,
    _delete,
    "Deletes a tag, or several with commas between their names, and the files that only they hold.",
)


def _expire(call: ProcedureCall, older_than: int | None) -> Rows:
    gone = tagging.expire(call.newest(), older_than)
    return [{"expired_tags": name} for name in gone] or [{"expired_tags": "No expired tags."}]


EXPIRE_TAGS = Procedure(
    "expire_tags",
    "deletes the tags whose time is over",
    (ProcedureParameter("older_than", "TIMESTAMP", "and all that were made before"),),
    {"expired_tags": "STRING"},
    _expire,
    "Deletes tags whose time is over, and all that were made before.",
)


def _make_due(call: ProcedureCall) -> Rows:
    table = call.newest()
    automatic.tag_due(table)
    automatic.expire_due(table)
    return [{"result": True}]


TRIGGER_TAG_AUTOMATIC_CREATION = Procedure(
    "trigger_tag_automatic_creation",
    "makes the automatic tags that are due",
    (),
    _DONE,
    _make_due,
    "Makes the automatic tags that are due.",
)
