"""Changes of a table's history as jobs of the concurrency tests."""

from __future__ import annotations

from typing import Any

from keyfold.storage.branching import branches
from keyfold.storage.history import tags
from tests.concurrency import jobs
from tests.procedures.called import called


def asked(folder: str, procedure: str, **arguments: Any) -> list[dict[str, Any]]:
    """The rows of a procedure of the table `t`."""
    return called(jobs.table_of(folder), procedure, **arguments)


def rolled_back(folder: str, version: str) -> int:
    """A whole rollback; the newest snapshot then."""
    return int(asked(folder, "rollback", version=version)[0]["current_snapshot_id"])


def tagged(folder: str, tag: str, snapshot: int) -> None:
    asked(folder, "create_tag", tag=tag, snapshot=snapshot)


def untagged(folder: str, tag: str) -> None:
    asked(folder, "delete_tag", tag=tag)


def branched(folder: str, branch: str, tag: str) -> None:
    asked(folder, "create_branch", branch=branch, tag=tag)


def forwarded(folder: str, branch: str) -> None:
    asked(folder, "fast_forward", branch=branch)


def written_to_branch(folder: str, branch: str, rows: list[jobs.Row]) -> None:
    """A whole write job on a branch."""
    jobs.Write(folder, rows, name=f"t$branch_{branch}").run().commit()


def tags_of(folder: str) -> list[str]:
    return tags.names(jobs.table_of(folder))


def branches_of(folder: str) -> list[str]:
    return branches.names(jobs.table_of(folder))
