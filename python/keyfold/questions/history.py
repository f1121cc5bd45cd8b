"""Questions about a table's history (driver side): the procedures of tags, branches and rollback.

A procedure is a function from the table at its newest snapshot, and arguments of Paimon's names, to
rows: objects by the names of the procedure's columns.
"""

from collections.abc import Callable, Mapping
from inspect import signature
from typing import Any

from keyfold.bridge.frames import Frame
from keyfold.errors import TableError
from keyfold.options.values import duration
from keyfold.questions.serve import Questions
from keyfold.read.call_options import with_options
from keyfold.storage.branching import branches
from keyfold.storage.branching.rollback import rollback
from keyfold.storage.commits import commit
from keyfold.storage.history import tags, versions
from keyfold.storage.maintenance import automatic, tagging
from keyfold.storage.metadata.snapshots import Snapshot
from keyfold.storage.table import Table, open_handle

QUESTIONS = Questions()
Rows = list[dict[str, Any]]
_DONE: Rows = [{"result": True}]
Procedure = Callable[..., Rows]
PROCEDURES: dict[str, Procedure] = {}


def _procedure(function: Procedure) -> Procedure:
    """Declare a procedure; its name is the function's, without the underscore."""
    return PROCEDURES.setdefault(function.__name__[1:], function)


@QUESTIONS.plain
def change_history(question: Frame) -> Rows:
    """Do what question["procedure"] does, with question["arguments"]. Returns its rows."""
    table = open_handle(question["table"], question["catalog"]["options"], latest=True)
    procedure = PROCEDURES[question["procedure"]]
    given = {name: value for name, value in question["arguments"].items() if value is not None}
    for name, one in list(signature(procedure).parameters.items())[1:]:
        if one.default is one.empty and name not in given:
            raise TableError(f"argument {name} is missing, or NULL")
    return procedure(table, **given)


def _retained(text: str | None) -> float | None:
    try:
        return None if text is None else duration(text)
    except ValueError as error:
        raise TableError(f"time_retained is '{text}', expected {error}") from None


@_procedure
def _create_tag(
    table: Table,
    tag: str,
    snapshot: int | None = None,
    time_retained: str | None = None,
    if_not_exists: bool = False,
) -> Rows:
    kept = _retained(time_retained)
    made = tagging.create(table, tag, snapshot, kept, if_not_exists=if_not_exists)
    return [{"result": made is not None}]


@_procedure
def _create_tag_from_timestamp(
    table: Table, tag: str, timestamp: int, time_retained: str | None = None
) -> Rows:
    found = versions.snapshot_from(table, timestamp)
    tagging.create(table, tag, found.id, _retained(time_retained))
    told = {"commit_time": found.time_millis, "watermark": found.watermark}
    return [{"tag": tag, "snapshot": found.id} | told]


@_procedure
def _replace_tag(
    table: Table,
    tag: str,
    snapshot: int | None = None,
    time_retained: str | None = None,
    or_create: bool = False,
) -> Rows:
    tagging.replace(table, tag, snapshot, _retained(time_retained), may_be_new=or_create)
    return _DONE


@_procedure
def _rename_tag(table: Table, tag: str, target_tag: str) -> Rows:
    tagging.rename(table, tag, target_tag)
    return _DONE


@_procedure
def _delete_tag(table: Table, tag: str, if_exists: bool = True) -> Rows:
    """The text may name several tags, with commas between them. Missing ones are passed over, as
    Paimon does, unless `if_exists` is false.
    """
    names = [name.strip() for name in tag.split(",")]
    for name in () if if_exists else names:
        tags.require(table, name)
    deleted = [tagging.delete(table, name) for name in names]
    return [{"result": any(deleted)}]


@_procedure
def _expire_tags(table: Table, older_than: int | None = None) -> Rows:
    gone = tagging.expire(table, older_than)
    return [{"expired_tags": name} for name in gone] or [{"expired_tags": "No expired tags."}]


@_procedure
def _trigger_tag_automatic_creation(table: Table) -> Rows:
    automatic.tag_due(table)
    automatic.expire_due(table)
    return _DONE


@_procedure
def _create_branch(
    table: Table,
    branch: str,
    tag: str | None = None,
    ignoreIfExists: str = "false",
) -> Rows:
    may_exist = ignoreIfExists.strip().lower() == "true"
    branches.create(table, branch, tag, if_not_exists=may_exist)
    return _DONE


@_procedure
def _delete_branch(table: Table, branch: str) -> Rows:
    for name in branch.split(","):
        branches.delete(table, name.strip())
    return _DONE


@_procedure
def _rename_branch(table: Table, from_branch: str, to_branch: str) -> Rows:
    branches.rename(table, from_branch, to_branch)
    return _DONE


@_procedure
def _fast_forward(table: Table, branch: str) -> Rows:
    branches.fast_forward(table, branch)
    return _DONE


@_procedure
def _rollback(
    table: Table, version: str | None = None, snapshot: int | None = None, tag: str | None = None
) -> Rows:
    asked = {"version": version, "snapshot": snapshot, "tag": tag}
    given = [name for name, value in asked.items() if value is not None]
    if len(given) != 1:
        raise TableError(
            f"rollback of table {table.layout.name}: expected one of version, snapshot and tag, "
            f"found {', '.join(given) or 'none'}"
        )
    if snapshot is not None:
        return _rolled_back(table, *versions.snapshot_of_id(table, snapshot))
    if tag is not None:
        return _rolled_back(table, tags.require(table, tag).snapshot, tag)
    return _rolled_back(table, *versions.resolve(table, version or ""))


@_procedure
def _rollback_to_timestamp(table: Table, timestamp: int) -> Rows:
    return _rolled_back(table, versions.snapshot_at(table, timestamp))


@_procedure
def _rollback_to_watermark(table: Table, watermark: int) -> Rows:
    return _rolled_back(table, versions.snapshot_by_watermark(table, watermark, until=True))


def _rolled_back(table: Table, snapshot: Snapshot, tag: str = "") -> Rows:
    newest = rollback(table, snapshot, tag)
    return [{"previous_snapshot_id": table.snapshot_id, "current_snapshot_id": newest}]


@_procedure
def _compact_manifest(table: Table, options: Mapping[str, str] | None = None) -> Rows:
    commit.compact_manifests(with_options(table, options))
    return _DONE
