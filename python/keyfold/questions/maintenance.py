"""Questions of expiry and of orphan files (driver side)."""

import time
from typing import Any

from keyfold.bridge.frames import Frame
from keyfold.options import TableOptions, normalize
from keyfold.questions.serve import Questions
from keyfold.read.call_options import with_options
from keyfold.storage.maintenance.due import ROUND
from keyfold.storage.maintenance.expire import check_expirable, expire
from keyfold.storage.maintenance.orphans import remove_orphans
from keyfold.storage.maintenance.retained import Retention
from keyfold.storage.table import open_handle

QUESTIONS = Questions()


@QUESTIONS.plain
def expire_snapshots(question: Frame) -> dict[str, Any]:
    """Do one pass of an expiry by the table's options or the question's. The answer is how many
    snapshots it deleted and whether to ask for another pass. `deleted` counts those before.

    Every snapshot that may go does, unless the question has `snapshot.expire.limit` or
    `max_deletes`.
    """
    table = open_handle(question["table"], question["catalog"]["options"], latest=True)
    check_expirable(table)
    asked = question.get("options") or {}
    table = with_options(table, asked)
    older_than, most = question.get("older_than_millis"), question.get("max_deletes")
    if most is None and TableOptions.snapshot_expire_limit.name in normalize(asked):
        most = table.options.snapshot_expire_limit
    left = None if most is None else most - question.get("deleted", 0)
    retention = Retention.of(
        table,
        at_most=question.get("retain_max"),
        at_least=question.get("retain_min"),
        seconds=None if older_than is None else time.time() - older_than / 1000,
        limit=ROUND if left is None else min(left, ROUND),
    )
    deleted = expire(table, retention)
    return {"deleted": deleted, "more": deleted > 0 and deleted != left}


@QUESTIONS.plain
def remove_orphan_files(question: Frame) -> dict[str, Any]:
    """Remove or list files that nothing refers to; returns paths, their number and bytes."""
    table = open_handle(question["table"], question["catalog"]["options"], latest=True)
    table.check_writable()
    older_than = question.get("older_than_millis")
    seconds = None if older_than is None else older_than / 1000
    orphans = remove_orphans(table, seconds, dry_run=bool(question.get("dry_run")))
    return {
        "files": [orphan.path for orphan in orphans],
        "count": len(orphans),
        "bytes": sum(orphan.bytes for orphan in orphans),
    }
