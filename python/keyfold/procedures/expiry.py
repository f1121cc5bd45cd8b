"""expire_snapshots and remove_orphan_files: what no reader needs any more is deleted."""

import time
from collections.abc import Mapping

from keyfold.options.declared import TableOptions
from keyfold.options.names import normalize
from keyfold.procedures.declare import (
    CALL_OPTIONS,
    Procedure,
    ProcedureCall,
    ProcedureParameter,
    Rows,
)
from keyfold.read.call_options import with_options
from keyfold.storage.maintenance.due import ROUND
from keyfold.storage.maintenance.expire import check_expirable, expire
from keyfold.storage.maintenance.orphans import Orphan, remove_orphans
from keyfold.storage.maintenance.retained import Retention


def _expire(
    call: ProcedureCall,
    retain_max: int | None,
    retain_min: int | None,
    older_than: int | None,
    max_deletes: int | None,
    options: Mapping[str, str] | None,
) -> Rows:
    """In rounds, after each of which the log has a line: a call may be long, and be stopped."""
    table = call.newest()
    check_expirable(table)
    table = with_options(table, options)
    if max_deletes is None and TableOptions.snapshot_expire_limit.name in normalize(options or {}):
        max_deletes = table.options.snapshot_expire_limit
    seconds = None if older_than is None else time.time() - older_than / 1000
    deleted = 0
    while True:
        limit = ROUND if max_deletes is None else min(max_deletes - deleted, ROUND)
        asked = {"at_most": retain_max, "at_least": retain_min, "seconds": seconds, "limit": limit}
        found = expire(table, Retention.of(table, **asked))
        deleted += found
        call.caller.note(f"expire_snapshots: {table.layout.name}: {deleted} snapshots deleted")
        if not found or deleted == max_deletes:
            return [{"deleted_snapshots_count": deleted}]


EXPIRE_SNAPSHOTS = Procedure(
    "expire_snapshots",
    "deletes old snapshots and the files that only they hold",
    (
        ProcedureParameter("retain_max", "INT", "keep at most so many snapshots"),
        ProcedureParameter("retain_min", "INT", "keep at least so many"),
        ProcedureParameter("older_than", "TIMESTAMP", "delete those made before"),
        ProcedureParameter("max_deletes", "INT", "delete at most so many"),
        CALL_OPTIONS,
    ),
    {"deleted_snapshots_count": "BIGINT"},
    _expire,
    "Deletes old snapshots now: all that may be deleted, or `max_deletes` of them. "
    "(`snapshot.expire.limit` counts if `options` names it.) What tags, branches and consumers "
    "need is kept. The log counts the snapshots, and what is deleted stays deleted if the call is "
    "stopped.",
    short="expire",
)


def orphans(call: ProcedureCall, older_than: int | None, *, dry_run: bool) -> list[Orphan]:
    """The files that nothing refers to, which are removed unless `dry_run`; those last changed
    before a time in ms since 1970.
    """
    table = call.newest()
    table.check_writable()
    seconds = None if older_than is None else older_than / 1000
    return remove_orphans(table, seconds, dry_run=dry_run)


def _remove(call: ProcedureCall, older_than: int | None, dry_run: bool) -> Rows:
    found = orphans(call, older_than, dry_run=dry_run)
    return [
        {
            "deletedFileCount": len(found),
            "deletedFileTotalLenInBytes": sum(orphan.bytes for orphan in found),
            "files": [orphan.path for orphan in found],
        }
    ]


REMOVE_ORPHAN_FILES = Procedure(
    "remove_orphan_files",
    "deletes files that no snapshot knows",
    (
        ProcedureParameter(
            "older_than", "TIMESTAMP", "only files last changed before; a day ago when left out"
        ),
        ProcedureParameter("dry_run", "BOOLEAN", "name the files, and delete none", False),
    ),
    {
        "deletedFileCount": "BIGINT",
        "deletedFileTotalLenInBytes": "BIGINT",
        "files": "ARRAY<STRING>",
    },
    _remove,
    "Deletes files that no snapshot refers to and that are older than a day: what failed jobs "
    "left.",
    short="orphans",
)
