"""Questions about a table's history (driver side): the procedures of tags, branches and rollback.

A procedure is a function from the table at its newest snapshot, and the arguments by Paimon's
names, to rows: objects by the names of the procedure's columns.
"""

from collections.abc import Callable, Mapping
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
Arguments = Mapping[str, Any]
Rows = list[dict[str, Any]]
_DONE: Rows = [{"result": True}]
Procedure = Callable[[Table, Arguments], Rows]
PROCEDURES: dict[str, Procedure] = {}


def _procedure(function: Procedure) -> Procedure:
    """Declare a procedure; its name is the function's, without the underscore."""
    return PROCEDURES.setdefault(function.__name__[1:], function)


@QUESTIONS.plain
def change_history(question: Frame) -> Rows:
    """Do what question["procedure"] does, with question["arguments"]. Returns its rows."""
    table = open_handle(question["table"], question["catalog"]["options"], latest=True)
    return PROCEDURES[question["procedure"]](table, question["arguments"])


def _needed(arguments: Arguments, name: str) -> Any:
    found = arguments.get(name)
    if found is None:
        raise TableError(f"argument {name} is missing, or NULL")
    return found


def _retained(arguments: Arguments) -> float | None:
    text = arguments.get("time_retained")
    try:
        return None if text is None else duration(text)
    except ValueError as error:
        raise TableError(f"time_retained is '{text}', expected {error}") from None


# ---- tags ----


@_procedure
def _create_tag(table: Table, arguments: Arguments) -> Rows:
    made = tagging.create(
        table,
        _needed(arguments, "tag"),
        arguments.get("snapshot"),
        _retained(arguments),
        if_not_exists=arguments.get("if_not_exists") or False,
    )
    return [{"result": made is not None}]


@_procedure
def _create_tag_from_timestamp(table: Table, arguments: Arguments) -> Rows:
    found = versions.snapshot_from(table, _needed(arguments, "timestamp"))
    name = _needed(arguments, "tag")
    tagging.create(table, name, found.id, _retained(arguments))
    told = {"commit_time": found.time_millis, "watermark": found.watermark}
    return [{"tag": name, "snapshot": found.id} | told]


@_procedure
def _replace_tag(table: Table, arguments: Arguments) -> Rows:
    tagging.replace(
        table,
        _needed(arguments, "tag"),
        arguments.get("snapshot"),
        _retained(arguments),
        may_be_new=arguments.get("or_create") or False,
    )
    return _DONE


@_procedure
def _rename_tag(table: Table, arguments: Arguments) -> Rows:
    tagging.rename(table, _needed(arguments, "tag"), _needed(arguments, "target_tag"))
    return _DONE


@_procedure
def _delete_tag(table: Table, arguments: Arguments) -> Rows:
    """The text may name several tags, with commas between them. Missing ones are passed over, as
    Paimon does, unless `if_exists` is false.
    """
    names = [name.strip() for name in _needed(arguments, "tag").split(",")]
    if arguments.get("if_exists") is False:
        for name in names:
            tags.require(table, name)
    deleted = [tagging.delete(table, name) for name in names]
    return [{"result": any(deleted)}]


@_procedure
def _expire_tags(table: Table, arguments: Arguments) -> Rows:
    gone = tagging.expire(table, arguments.get("older_than"))
    return [{"expired_tags": name} for name in gone] or [{"expired_tags": "No expired tags."}]


@_procedure
def _trigger_tag_automatic_creation(table: Table, _: Arguments) -> Rows:
    automatic.tag_due(table)
    automatic.expire_due(table)
    return _DONE


# ---- branches ----


@_procedure
def _create_branch(table: Table, arguments: Arguments) -> Rows:
    may_exist = (arguments.get("ignoreIfExists") or "false").strip().lower() == "true"
    name = _needed(arguments, "branch")
    branches.create(table, name, arguments.get("tag"), if_not_exists=may_exist)
    return _DONE


@_procedure
def _delete_branch(table: Table, arguments: Arguments) -> Rows:
    for name in _needed(arguments, "branch").split(","):
        branches.delete(table, name.strip())
    return _DONE


@_procedure
def _rename_branch(table: Table, arguments: Arguments) -> Rows:
    branches.rename(table, _needed(arguments, "from_branch"), _needed(arguments, "to_branch"))
    return _DONE


@_procedure
def _fast_forward(table: Table, arguments: Arguments) -> Rows:
    branches.fast_forward(table, _needed(arguments, "branch"))
    return _DONE


# ---- rollback ----


@_procedure
def _rollback(table: Table, arguments: Arguments) -> Rows:
    named = ("version", "snapshot", "tag")
    given = {name: arguments[name] for name in named if arguments.get(name) is not None}
    if len(given) != 1:
        raise TableError(
            f"rollback of table {table.layout.name}: expected one of version, snapshot and tag, "
            f"found {', '.join(given) or 'none'}"
        )
    if "snapshot" in given:
        return _rolled_back(table, *versions.snapshot_of_id(table, given["snapshot"]))
    if "tag" in given:
        return _rolled_back(table, tags.require(table, given["tag"]).snapshot, given["tag"])
    return _rolled_back(table, *versions.resolve(table, given["version"]))


@_procedure
def _rollback_to_timestamp(table: Table, arguments: Arguments) -> Rows:
    return _rolled_back(table, versions.snapshot_at(table, _needed(arguments, "timestamp")))


@_procedure
def _rollback_to_watermark(table: Table, arguments: Arguments) -> Rows:
    watermark = _needed(arguments, "watermark")
    return _rolled_back(table, versions.snapshot_until_watermark(table, watermark))


def _rolled_back(table: Table, snapshot: Snapshot, tag: str = "") -> Rows:
    newest = rollback(table, snapshot, tag)
    return [{"previous_snapshot_id": table.snapshot_id, "current_snapshot_id": newest}]


@_procedure
def _compact_manifest(table: Table, arguments: Arguments) -> Rows:
    commit.compact_manifests(with_options(table, arguments.get("options")))
    return _DONE
