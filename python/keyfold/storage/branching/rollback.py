"""Rollback: a snapshot becomes the newest again, those above it are removed.

They go from the newest down, so the table can be read at any moment: as it was before, or nearer to
the target. After each removal we look above it. If a job has committed there meanwhile, the removed
one is put back and the new one goes first. A job that commits later finds its base gone, and tries
again on the newest (`Snapshots.publish`). An expiry says what it removes before it does, and looks
afterwards for the newest snapshot and for the last one it has read, so one of the two gives way.

A program that gives a token may repeat a rollback. Then a snapshot with the content of the target,
which names the token, takes the place right above it, in the step that otherwise removes the last
of the others: the table goes back and knows the token at once. Tokens of removed snapshots are
unknown again, as is what they wrote. Where the one above the target has expired, another with the
content of the oldest of the others has that place until then, and names no token.
"""

import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from keyfold.errors import ConflictError, NotSupportedError
from keyfold.options.parsing import parse
from keyfold.storage.commits.attempts import unchanged
from keyfold.storage.commits.conflicts import changed_facts
from keyfold.storage.commits.epochs import carried, epochs_of, is_committed, is_known, is_named
from keyfold.storage.commits.rescale import take_back
from keyfold.storage.history import tags
from keyfold.storage.history.tags import PREFIX
from keyfold.storage.maintenance import consumers
from keyfold.storage.maintenance.orphans import free
from keyfold.storage.maintenance.tagging import content_of, too_late
from keyfold.storage.metadata.documents import text_of
from keyfold.storage.metadata.snapshots import STREAMS, Snapshot, Snapshots
from keyfold.storage.schema.schemas import Schemas
from keyfold.storage.table import Table, newest_schema
from keyfold.stores.files import Entry
from keyfold.stores.snapshot_folder import ROLLED_BACK
from keyfold.wire.specs import Epoch

_LOSSES, _LONGEST_WAIT = 20, 0.05
Removed = tuple[Snapshot, str, bytes]  # with the path and the content of its file


def rollback(
    table: Table,
    snapshot: Snapshot,
    tag: str = "",
    epoch: Epoch | None = None,
    *,
    notes: bool = True,
) -> int | None:
    """Make a snapshot the newest of the table, and return its id. Snapshots and tags above it are
    removed, with the files that only they held; consumers that have read further go on after it.
    `tag` is the one that keeps it if it has expired. With an epoch the newest is one above it of
    the same content, which names the epoch; None if another process did so meanwhile. What came
    after that stays. The caller `notes` the epoch itself if that is False.

    Raises SnapshotExpiredError if it expires meanwhile, ConflictError if other jobs commit again
    and again, NotSupportedError if the table's rows fold by other rules since then.
    """
    table.check_writable()
    check_alike(table, snapshot)
    if table.server is not None:
        check_no_token(table, epoch)

        def is_done() -> bool:
            return table.snapshots.latest_id() == snapshot.id

        table.server.roll_back(snapshot.id, tag, is_done)
        consumers.set_back(table, snapshot)
        return snapshot.id
    with table.held() as location:
        at = replace(table.snapshots, location=location)
        move = _Move(table, at, snapshot, epoch, notes)
        dropped = list[Removed]()
        try:
            _remove_tags(table, at, snapshot.id, dropped)
            _remove_above(move, tag)
        except BaseException:
            for _, path, content in dropped:
                table.files.publish(path, content)
            raise
        finally:
            if not move.is_placed:
                table.manifests.remove(move.written)
        has_moved = epoch is None or not notes or move.is_placed or bool(move.removed)
        if has_moved:
            dropped += _finish(table, at, snapshot)
        dropped = _gone(table, at, dropped)
    gone = {one.id: one for one, *_ in (*dropped, *move.removed)}
    free(table, list(gone.values()))
    return move.top.id if has_moved else None


def is_repeated(table: Table, epoch: Epoch | None) -> bool:
    """Whether the table has the epoch of a program. If that is the last thing it did, a rollback
    which was killed right after it is finished.
    """
    newest = None if epoch is None else table.snapshots.latest()
    if epoch is None or not is_committed(table, epochs_of(table, newest), epoch):
        return False
    target = None if newest is None else table.snapshots.find(newest.id - 1)
    if newest is None or target is None or not _is_note(newest, target):
        return True
    with table.held() as location:
        at = replace(table.snapshots, location=location)
        dropped = _finish(table, at, target)
    free(table, [one for one, *_ in dropped])
    return True


def _is_note(found: Snapshot, target: Snapshot) -> bool:
    """Whether a snapshot is the one with which the table went back to the one below."""
    return (found.properties or {}).get(ROLLED_BACK) == str(target.id)


def check_no_token(table: Table, epoch: Epoch | None) -> None:
    """Raises NotSupportedError if there is an epoch, where a server goes back by itself."""
    if epoch is not None:
        raise NotSupportedError(
            f"table {table.layout.name} is in a REST catalog, whose server moves it to older "
            "snapshots and notes no token with that: call it without one (txnAppId and txnVersion "
            "unset), and look at the newest snapshot before you repeat it"
        )


def check_alike(table: Table, snapshot: Snapshot) -> None:
    """Raises ConflictError if the files of a snapshot were made by other rules than the newest
    schema has, as of a table that was empty meanwhile.
    """
    newest = newest_schema(table)
    changed = changed_facts(table.schema(snapshot.schema_id), newest.layout)
    if changed:
        raise ConflictError(
            f"table {table.layout.name} can't go back to snapshot {snapshot.id}: ALTER TABLE has "
            f"changed {changed[0]} since; read it there (VERSION AS OF {snapshot.id}; in Python "
            f"table.scan(snapshot={snapshot.id})) and INSERT (table.upsert) its rows"
        )


@dataclass
class _Move:
    """One rollback on its way: what it goes back to, the epoch and whether it `notes` that, the
    snapshot that does so, files of that one, whether that one has been in its place, what has been
    there until then if nothing was, and what has been removed, of the snapshots that were there
    when it `began`, as their files were then.
    """

    table: Table
    at: Snapshots
    target: Snapshot
    epoch: Epoch | None
    notes: bool
    began: Mapping[int, Entry] = field(default_factory=dict)
    note: Snapshot | None = None
    written: list[str] = field(default_factory=list)
    is_placed: bool = False
    filled: Snapshot | None = None
    removed: list[Removed] = field(default_factory=list)

    @property
    def top(self) -> Snapshot:
        """The newest snapshot at the end."""
        return self.target if self.note is None else self.note

    def make_note(self) -> None:
        """Make the snapshot that notes the epoch, if there is to be one."""
        if self.epoch is not None and self.notes:
            known = epochs_of(self.table, self.target)
            told = {**carried(self.table, known, self.epoch), ROLLED_BACK: str(self.target.id)}
            self.note = unchanged(self.table, self.target, told, self.written)

    def names_epoch(self, found: Snapshot | None) -> bool:
        """Whether a snapshot comes after one that notes the epoch: ours, or that of a process which
        repeats the same.
        """
        return found is not None and self.epoch is not None and is_named(found, self.epoch)

    def is_passed_by(self, later: Sequence[int]) -> bool:
        """Whether the one right above the target notes the epoch, and is not ours, and all others
        have come after it: also those of another writer, which name no epoch. Where the caller
        notes it, one of several may.
        """
        if self.epoch is not None and not self.notes:
            return bool(later) and is_known(self.table, self.at.find(max(later)), self.epoch)
        first = self.at.find(self.target.id + 1)
        if first is None or first == self.note or not self.names_epoch(first):
            return False
        second = self.at.find(first.id + 1)
        is_next = second is None or second.time_millis >= first.time_millis
        return is_next and max(later, default=first.id) == self.target.id + len(later)

    def fill(self, note: Snapshot) -> None:
        """Publish the note, or what has its place as long as others are above: those may not name
        their epochs, which are then looked for below them (`epochs_of`).
        """
        at = self.at
        above = map(at.find, sorted(number for number in at.ids() if number > note.id))
        oldest = next((found for found in above if found is not None), None)
        if oldest is None:
            self.is_placed = True  # also where an error hides the outcome
            self.is_placed = bool(at.files.publish(at.path(note.id), text_of(note.to_json())))
            return
        told = {STREAMS: epochs_of(self.table, oldest).text()}
        self.filled = replace(oldest, id=note.id, properties=told)
        if not at.files.publish(at.path(note.id), text_of(self.filled.to_json())):
            self.filled = None

    def step(self, one: Removed) -> bool:
        """Remove a snapshot, or put the note in its place; False if another is there by now. It is
        known as removed before: an error may hide that it is.
        """
        found, path, content = one
        self.removed.append(one)
        if self.note is None or found.id != self.note.id:
            self.at.files.remove(path)
            return True
        was_placed, self.is_placed = self.is_placed, True
        if self.at.files.exchange(path, content, text_of(self.note.to_json())):
            return True
        self.is_placed = was_placed
        self.removed.pop()
        return False

    def put_back(self, one: Removed) -> bool:
        """Undo a step; False if others have gone on from where it left the table."""
        found, path, content = one
        files, note = self.at.files, self.note
        if note is None or self.at.find(found.id) != note:
            return bool(files.publish(path, content)) or self.at.find(found.id) == found
        ours = text_of(note.to_json())
        if not files.exchange(path, ours, content):
            return False
        if self.names_epoch(self.at.find(found.id + 1)):  # committed on the note
            files.exchange(path, content, ours)
            return False
        return True

    def undo(self) -> bool:
        """Put back what has been removed, from the oldest on, and take away what took no other's
        place. It ends, with False, where others have gone on from there.
        """
        at, note, now = self.at, self.note, self.at.listed()
        last = max(self.began, default=0)
        if any(self.top.id < n < last and n not in self.began for n in now):
            return False
        latest = {one[0].id: one for one in self.removed}  # of a number that was taken anew
        for number in sorted(latest):
            if self._is_overtaken(latest, number, now) or not self.put_back(latest[number]):
                return False
        found = None if note is None else at.find(note.id)
        if note is None or found is None or found not in (note, self.filled):
            return True
        if found == note and at.exists(note.id + 1):
            return False
        at.files.remove(at.path(note.id))
        if found == note and at.exists(note.id + 1):
            at.files.publish(at.path(note.id), text_of(note.to_json()))
            return False
        return True

    def _is_overtaken(
        self, latest: Mapping[int, Removed], number: int, now: Mapping[int, Entry]
    ) -> bool:
        """Whether the one below a removed one is another by now, as another has gone back further;
        not if it has expired, with all that were before it.
        """
        one, before = latest[number][0], latest.get(number - 1)
        if before is not None:
            is_later = before[0].time_millis > one.time_millis
            return is_later and one.in_order_from is not None and one.in_order_from < number
        was = self.began.get(number - 1, now.get(number - 1))
        return now.get(number - 1) != was and min(now, default=number) < number

    @property
    def is_done(self) -> bool:
        """Whether nothing is above but what was committed after the table had gone back."""
        later = max((n for n in self.at.ids() if n > self.top.id), default=None)
        return later is None or self.names_epoch(self.at.find(later))


def _remove_above(move: _Move, tag: str) -> None:
    """Remove the snapshots above the target. If that can't be done, they are put back."""
    table, at, target = move.table, move.at, move.target
    is_there = at.find(target.id) is not None
    if not (at.is_kept(target.id) if is_there else tag):
        raise too_late(table, target.id)
    move.make_note()
    move.began = at.listed()
    if is_there:
        at.start_anew(latest=target.id)  # readers climb from there: they pass no gap
    else:
        at.begin_at(target.id)  # first: a job that dies here can be repeated
        at.files.publish(at.path(target.id), text_of(content_of(table, target, tag)))
    try:
        _remove_all(move)
    except BaseException:
        if move.undo() and not is_there:
            at.files.remove(at.path(target.id))
        raise
    at.start_anew(latest=move.top.id)


def _remove_all(move: _Move) -> None:
    for _ in range(_LOSSES):
        if move.note is not None and move.at.find(move.note.id) is None:
            move.fill(move.note)
        if _remove_down(move):
            return
        time.sleep(random.uniform(0, _LONGEST_WAIT))
    raise ConflictError(
        f"table {move.table.layout.name} was not rolled back to snapshot {move.target.id}: other "
        f"jobs committed {_LOSSES} times meanwhile; stop them, or run it again"
    )


def _remove_down(move: _Move) -> bool:
    """Remove the snapshots above the target, from the newest on; False if a job has committed above
    one of them. Raises SnapshotExpiredError if an expiry is about to remove the target.
    """
    at, target = move.at, move.target
    later = sorted((n for n in at.ids() if n > target.id), reverse=True)
    if move.is_passed_by(later):
        return True
    for number in later:
        one = at.stored(number)
        if one is None or one[0] == move.note:
            continue
        if move.names_epoch(one[0]):
            return True
        if not move.step(one):
            return False
        above = at.find(number + 1)
        if above is not None and not move.names_epoch(above):
            move.put_back(one)
            move.removed.pop()  # last: where that fails, it is still to be put back
            return False
        if at.first_kept() > target.id:
            raise too_late(move.table, target.id)
    return move.is_done


def _finish(table: Table, at: Snapshots, target: Snapshot) -> list[Removed]:
    """Do what follows once the table has gone back to the target. Returns the snapshots of tags
    that were made meanwhile, and of changelogs.
    """
    dropped = list[Removed]()
    _remove_tags(table, at, target.id, dropped, is_back=True)
    dropped += _remove_changelogs(at, target.id)
    consumers.set_back(table, target)
    _set_buckets(table, at.location)
    return dropped


def _remove_tags(
    table: Table, at: Snapshots, snapshot_id: int, found: list[Removed], *, is_back: bool = False
) -> None:
    """Remove the tags of later snapshots; once the table `is_back`, of those that are gone. They
    are added to `found` beforehand.
    """
    for tag in tags.all_of(table):
        if tag.snapshot.id > snapshot_id and not (is_back and _is_there(at, tag.snapshot)):
            path = f"{at.location}/tag/{PREFIX}{tag.name}"
            found.append((tag.snapshot, path, table.files.read(path)))
            table.files.remove(path)


def _gone(table: Table, at: Snapshots, dropped: list[Removed]) -> list[Removed]:
    """Put tags back whose snapshots are there: they came after another process had gone back with
    the same token. Returns the others that were dropped.
    """
    for found, path, content in dropped:
        if content and _is_there(at, found):
            table.files.publish(path, content)
    return [one for one in dropped if not _is_there(at, one[0])]


def _is_there(at: Snapshots, found: Snapshot) -> bool:
    return at.find(found.id) == found


def _remove_changelogs(at: Snapshots, snapshot_id: int) -> list[Removed]:
    """Remove the changelogs of later snapshots that have expired: those after a tag's."""
    found = []
    for name in at.files.names(f"{at.location}/changelog"):
        number = name.removeprefix("changelog-")
        path = f"{at.location}/changelog/{name}"
        is_later = number.isdigit() and int(number) > snapshot_id
        if is_later and (changelog := at.parse(path)) is not None:
            found.append((changelog, path, b""))
            at.files.remove(path)
    return found


def _set_buckets(table: Table, location: str) -> None:
    """Give the schema the number of buckets that the files have: a rescale may lie between."""
    newest = newest_schema(table)
    count = parse(newest.layout).bucket
    take_back(newest, Schemas(table.files, location, table.layout.name), count, count)
