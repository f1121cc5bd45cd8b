"""Changes of a table's history as jobs of the concurrency tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from keyfold.storage.branching import branches
from keyfold.storage.history import tags
from keyfold.wire.specs import Epoch
from tests.concurrency import jobs
from tests.procedures.called import called


def asked(folder: str, procedure: str, **arguments: Any) -> list[dict[str, Any]]:
    """The rows of a procedure of the table `t`."""
    return called(jobs.table_of(folder), procedure, **arguments)


def rolled_back(folder: str, version: str, epoch: Epoch | None = None) -> int | None:
    """A whole rollback; the newest snapshot then, None if the table has the epoch."""
    (row,) = asked(folder, "rollback", version=version, epoch=epoch)
    found: int | None = row["current_snapshot_id"]
    return found


def tagged(folder: str, tag: str, snapshot: int) -> None:
    asked(folder, "create_tag", tag=tag, snapshot=snapshot)


def untagged(folder: str, tag: str) -> None:
    asked(folder, "delete_tag", tag=tag)


def branched(folder: str, branch: str, tag: str) -> None:
    asked(folder, "create_branch", branch=branch, tag=tag)


def forwarded(folder: str, branch: str, epoch: Epoch | None = None) -> bool:
    """Whether a whole fast_forward has changed something."""
    return bool(asked(folder, "fast_forward", branch=branch, epoch=epoch)[0]["result"])


def written_to_branch(folder: str, branch: str, rows: list[jobs.Row]) -> None:
    """A whole write job on a branch."""
    jobs.Write(folder, rows, name=f"t$branch_{branch}").run().commit()


def without_properties(folder: str, snapshot: int) -> None:
    """Let a snapshot drop what those before it say, as those of other writers do."""
    path = Path(jobs.table_of(folder).snapshots.path(snapshot))
    path.write_text(json.dumps({**json.loads(path.read_text()), "properties": {}}))


def tags_of(folder: str) -> list[str]:
    return tags.names(jobs.table_of(folder))


def branches_of(folder: str) -> list[str]:
    return branches.names(jobs.table_of(folder))
