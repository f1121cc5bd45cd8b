"""create_branch and its kin: branches of a table, with Paimon's names and arguments."""

from keyfold.procedures.declare import Procedure, ProcedureCall, ProcedureParameter, Rows, listed
from keyfold.storage.branching import branches
from keyfold.storage.branching.rollback import is_repeated
from keyfold.storage.commits.epochs import passed_over

_DONE = {"result": "BOOLEAN"}
_BRANCH = ProcedureParameter("branch", "STRING", "its name", is_required=True)


def _create(call: ProcedureCall, branch: str, tag: str | None, ignoreIfExists: str) -> Rows:
    may_exist = ignoreIfExists.strip().lower() == "true"
    branches.create(call.newest(), branch, tag, if_not_exists=may_exist)
    return [{"result": True}]


CREATE_BRANCH = Procedure(
    "create_branch",
    "makes a branch of a tag, or an empty one",
    (
        _BRANCH,
        ProcedureParameter("tag", "STRING", "the tag that it begins at"),
        ProcedureParameter(
            "ignoreIfExists", "STRING", "'true': do nothing if there is such a branch", "false"
        ),
    ),
    _DONE,
    _create,
    "Makes a branch of a tag, or an empty one ([branches](history.md#branches)).",
)


def _delete(call: ProcedureCall, branch: str) -> Rows:
    table = call.newest()
    for name in listed(branch, branches.names(table)):
        branches.delete(table, name)
    return [{"result": True}]


DELETE_BRANCH = Procedure(
    "delete_branch",
    "deletes branches and the files that only they hold",
    (ProcedureParameter("branch", "STRING", "names, with commas between them", is_required=True),),
    _DONE,
    _delete,
    "Deletes branches and the files that only they hold.",
)


def _rename(call: ProcedureCall, from_branch: str, to_branch: str) -> Rows:
    branches.rename(call.newest(), from_branch, to_branch)
    return [{"result": True}]


RENAME_BRANCH = Procedure(
    "rename_branch",
    "gives a branch another name",
    (
        ProcedureParameter("from_branch", "STRING", "the old name", is_required=True),
        ProcedureParameter("to_branch", "STRING", "the new name", is_required=True),
    ),
    _DONE,
    _rename,
    "Gives a branch another name.",
)


def fast_forward(call: ProcedureCall, branch: str) -> int | None:
    """Make the table what a branch of it is; returns its newest snapshot, None if the table has the
    token of the call already.
    """
    table, newest = call.newest(), None
    if not is_repeated(table, call.epoch):
        newest = branches.fast_forward(table, branch, call.epoch)
    if newest is None and call.epoch is not None:
        call.caller.note(passed_over(table, call.epoch))
    return newest


def _fast_forward(call: ProcedureCall, branch: str) -> Rows:
    return [{"result": fast_forward(call, branch) is not None}]


FAST_FORWARD = Procedure(
    "fast_forward",
    "makes the table what a branch of it is",
    (_BRANCH,),
    _DONE,
    _fast_forward,
    "Makes the table what the branch is.",
    takes_token=True,
)
