"""Branches: lines of snapshots that begin at a tag, or empty, and are written like tables.

A branch is a folder with schemas, snapshots and tags of its own. Manifests and data files of all
branches lie with the table's, whose expiry and orphan removal look at all of them.
"""

import contextlib
import itertools
from dataclasses import replace

from keyfold.errors import ConflictError, NotSupportedError, TableError
from keyfold.options.values import shown
from keyfold.storage.branching.rollback import check_no_token, rollback
from keyfold.storage.commits.attempts import unchanged
from keyfold.storage.commits.epochs import carried, epochs_of, is_known
from keyfold.storage.history import tags
from keyfold.storage.maintenance.orphans import free
from keyfold.storage.maintenance.retained import BRANCH, PAST, branches
from keyfold.storage.maintenance.tagging import (
    content_of,
    content_of_tag,
    is_held,
    too_late,
)
from keyfold.storage.metadata.avro_records import LONGEST, is_name
from keyfold.storage.metadata.documents import text_of
from keyfold.storage.metadata.snapshots import Snapshot, Snapshots
from keyfold.storage.table import Table, load
from keyfold.wire.layout import BRANCH_MARK
from keyfold.wire.specs import Epoch

MAIN = "main"


def names(table: Table) -> list[str]:
    """Names of all branches, sorted."""
    return sorted(f.rpartition("/")[2].removeprefix(BRANCH) for f in branches(table))


def open_branch(table: Table, name: str) -> Table:
    """A branch, as a table. Raises TableError, which names all branches, if it does not exist."""
    shown = f"{table.table}{BRANCH_MARK}{name}"
    where = table.layout.location, table.catalog, table.namespace, shown
    found = load(table.files, *where, name) if is_name(BRANCH + name) else None
    if found is None:
        raise missing(table, name)
    return found


def create(table: Table, name: str, tag: str | None, *, if_not_exists: bool = False) -> None:
    """Make a branch of a tag; without one it is empty, with the newest schema. Raises TableError if
    it exists, unless that is allowed, or if there is no such tag.
    """
    _check_own(table)
    _check_name(table, name)
    if if_not_exists and name in names(table):
        return
    start = None if tag is None else tags.require(table, tag)
    if table.server is not None:
        is_made = table.server.make_branch(name, tag, lambda: name in names(table))
        if not is_made and not if_not_exists:
            raise _there(table, name)
        return
    last = table.schemas.latest_id() if start is None else start.snapshot.schema_id
    numbers = sorted(n for n in table.schemas.ids() if last is None or n <= last)
    files = {f"schema/schema-{n}": table.files.read(table.schemas.path(n)) for n in numbers}
    if start is not None:
        keeper = "" if table.snapshots.find(start.snapshot.id) is not None else start.name
        snapshot = content_of(table, start.snapshot, keeper)
        files[f"tag/{tags.PREFIX}{start.name}"] = content_of_tag(table, start.name)
        files[f"snapshot/snapshot-{start.snapshot.id}"] = text_of(snapshot)
    with table.held() as location:
        folder = f"{location}/branch/{BRANCH}{name}"
        first, *others = files  # the first schema decides who makes the branch
        if not table.files.publish(f"{folder}/{first}", files[first]):
            if if_not_exists:
                return
            raise _there(table, name)
        for path in others:
            table.files.publish(f"{folder}/{path}", files[path])
        if start is not None and not is_held(table, start.snapshot):
            table.files.remove_folder(folder)
            raise too_late(table, start.snapshot.id)


def delete(table: Table, name: str) -> None:
    """Delete a branch, and the files that it alone held. Raises TableError if it does not exist."""
    _check_own(table)
    held = _held(_require(table, name))
    if table.server is not None:
        return table.server.delete_branch(name)
    with table.held() as location:
        if not table.files.keeps_folders:  # expiry must know that there was a branch
            table.files.publish(f"{location}/branch/{PAST}/{BRANCH}{name}", b"")
        table.files.remove_folder(f"{location}/branch/{BRANCH}{name}")
    free(table, held)


def _held(branch: Table) -> list[Snapshot]:
    found = [branch.snapshots.find(number) for number in branch.snapshots.ids()]
    kept = [tag.snapshot for tag in tags.all_of(branch)]
    return [*kept, *(snapshot for snapshot in found if snapshot is not None)]


def rename(table: Table, name: str, to: str) -> None:
    """Give a branch another name. Jobs that write to it fail. Raises TableError if the new name is
    taken, NotSupportedError if the store can't rename folders.
    """
    _check_own(table)
    _check_name(table, to)
    _require(table, name)
    if table.server is not None:
        if not table.server.rename_branch(name, to, lambda: to in names(table)):
            raise _there(table, to)
        return
    with table.held() as location:
        folder = f"{location}/branch/{BRANCH}"
        if not table.files.move_folder(f"{folder}{name}", f"{folder}{to}"):
            raise _there(table, to)


def fast_forward(table: Table, name: str, epoch: Epoch | None = None) -> int | None:
    """Make the table what a branch of it is: it is rolled back to the newest snapshot that both
    have, and gets the later ones of the branch. Returns the newest, which names the epoch if there
    is one; None if another process has done so meanwhile.

    Raises TableError if the branch has no snapshot, NotSupportedError if the two have none in
    common, ConflictError if a job commits to the table meanwhile.
    """
    _check_own(table)
    branch = _require(table, name)
    newest = branch.snapshots.latest_id()
    if newest is None:
        raise TableError(f"branch {name} of table {table.layout.name} has no snapshot")
    if table.server is not None:
        check_no_token(table, epoch)
        table.server.forward(name, lambda: table.snapshots.latest_id() == newest)
        return newest
    base, tag = _fork(table, branch)
    rollback(table, base, tag, epoch, notes=False)
    now = None if epoch is None else table.snapshots.latest()
    if epoch is not None and is_known(table, now, epoch):
        return None
    with table.held() as location:
        at = replace(table.snapshots, location=location)
        _take_schemas(table, branch, base, location)
        later = [branch.snapshots.read(number) for number in range(base.id + 1, newest + 1)]
        written = list[str]()
        if epoch is not None:
            later[-1:] = [_naming(table, branch, later[-1] if later else base, epoch, written)]
        for before, after in itertools.pairwise([base, *later[:-1]]):
            _publish(table, at, after, before, name)
        taken = _take_tags(table, branch, location)  # first: nothing is left to do after the last
        try:
            for before, after in itertools.pairwise([base, *later][-2:]):
                _publish(table, at, after, before, name)
        except ConflictError:
            table.files.remove_all(taken)
            table.manifests.remove(written)
            raise
    return later[-1].id if later else base.id


def _naming(
    table: Table, branch: Table, last: Snapshot, epoch: Epoch, written: list[str]
) -> Snapshot:
    """The last snapshot of a branch as it names the epoch, or, if the table has it, one above. The
    names of the files that it needs are added to `written`.
    """
    told = carried(table, epochs_of(branch, last), epoch)
    if table.snapshots.find(last.id) is None:
        return replace(last, properties={**(last.properties or {}), **told})
    return replace(unchanged(table, last, told, written), schema_id=last.schema_id)


def _publish(table: Table, at: Snapshots, after: Snapshot, before: Snapshot, name: str) -> None:
    if not at.publish(after, before):
        raise ConflictError(
            f"table {table.layout.name}: another job committed snapshot {after.id} while it was "
            f"moved on to branch {name}; run it again to replace what that job wrote"
        )


def _take_tags(table: Table, branch: Table, location: str) -> list[str]:
    """Give the table the tags of a branch. Returns the paths of those that it lacked."""
    taken = []
    for each in tags.names(branch):
        content = table.files.read(branch.snapshots.tag_path(each))
        path = f"{location}/tag/{tags.PREFIX}{each}"
        with contextlib.suppress(FileNotFoundError):
            if table.files.publish(path, content):
                taken.append(path)
    return taken


def _fork(table: Table, branch: Table) -> tuple[Snapshot, str]:
    """The newest snapshot of the table that the branch has too, and the tag that keeps it."""
    ids = sorted(branch.snapshots.ids(), reverse=True)
    own = {tag.snapshot.id: tag for tag in tags.all_of(table)}
    for number in ids:
        found, ours = branch.snapshots.find(number), table.snapshots.find(number)
        if found is not None and ours is not None and _is_same(ours, found):
            return ours, ""
        if found is not None and number in own and _is_same(own[number].snapshot, found):
            return own[number].snapshot, own[number].name
    raise NotSupportedError(
        f"table {table.layout.name} can't be moved on to its branch {branch.layout.branch}: the "
        "two have no snapshot in common, as the branch began empty, or the one that it began with "
        "has expired on either side; INSERT the branch's rows"
    )


def _is_same(ours: Snapshot, theirs: Snapshot) -> bool:
    """Whether two snapshots are one, though one of them may name an epoch (`fast_forward`)."""
    return replace(ours, properties=theirs.properties) == theirs


def _take_schemas(table: Table, branch: Table, base: Snapshot, location: str) -> None:
    """Put the branch's schemas since their common snapshot in the place of the table's own."""
    theirs = {n: table.files.read(branch.schemas.path(n)) for n in branch.schemas.ids()}
    for number in sorted(table.schemas.ids(), reverse=True):
        if number > base.schema_id and number not in theirs:
            table.files.remove(f"{location}/schema/schema-{number}")
    for number, content in sorted(theirs.items()):
        if number > base.schema_id:
            table.files.replace(f"{location}/schema/schema-{number}", content)


def _check_own(table: Table) -> None:
    if table.layout.branch:
        raise NotSupportedError(
            f"{table.layout.name} is a branch: branches are made, renamed and deleted for the "
            "table itself"
        )


def _require(table: Table, name: str) -> Table:
    if name not in names(table):
        raise missing(table, name)
    return open_branch(table, name)


def _there(table: Table, name: str) -> TableError:
    return TableError(f"table {table.layout.name} has a branch '{name}' already")


def missing(table: Table, name: str) -> TableError:
    """The error: the table has no such branch."""
    known = ", ".join(names(table)) or "none"
    return TableError(f"table {table.layout.name} has no branch '{name}'; it has {known}")


def _check_name(table: Table, name: str) -> None:
    is_plain = is_name(BRANCH + name) and name.strip() == name and "$" not in name
    if not is_plain or name == MAIN or name.isdigit():
        raise TableError(
            f"branch name '{shown(name)}' of table {table.layout.name} is not allowed: expected "
            f"one part of a path, of at most {LONGEST - len(BRANCH)} bytes, without $, which is "
            f"neither a number nor {MAIN}"
        )
