"""Batches that are written exactly once: every snapshot names the streams that write to the table
and the last epoch of each that is in it.

The name of a stream is the id of its query, or a job's `txnAppId`; epochs only grow: the last one
again changes nothing, and a lower one is refused, as its rows may be others than those that the
table has. Each commit of keyfold carries the property on, so that it outlives the snapshot of the
epoch itself. A commit of another writer drops it. It is then taken from the newest older snapshot
that has it. If that may have expired, the entries that it had are lost, which is carried on too.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from keyfold.errors import CorruptDataError, TableError, UnknownOutcomeError
from keyfold.options.declared import TableOptions
from keyfold.storage.metadata.avro_records import is_long
from keyfold.storage.metadata.snapshots import STREAMS, Snapshot
from keyfold.storage.table import Table
from keyfold.wire.specs import Epoch

_MOST = 1000  # streams that a snapshot names


@dataclass(frozen=True)
class Epochs:
    """The last epoch of each stream in a snapshot and the time of its commit (ms). `lost` is the
    latest time at which an entry that is missing may have been made, None if all are there.
    """

    last: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    lost: int | None = None

    def text(self) -> str:
        """The value of the property."""
        lost = {} if self.lost is None else {"lost": self.lost}
        return json.dumps({"last": self.last, **lost}, ensure_ascii=False)


def epochs_of(table: Table, snapshot: Snapshot | None) -> Epochs:
    """The epochs that a snapshot and those before it have. Raises CorruptDataError if the property
    can't be read.
    """
    found = snapshot
    while found is not None:
        text = (found.properties or {}).get(STREAMS)
        if text is not None:
            return _parsed(table, found.id, text)
        if found.id == 1:
            return Epochs()
        lost = found.time_millis
        found = table.snapshots.find(found.id - 1)
        if found is None:
            return Epochs(lost=lost)
    return Epochs()


def _parsed(table: Table, snapshot_id: int, text: str) -> Epochs:
    try:
        stored = json.loads(text)
        last = {str(name): (number, millis) for name, (number, millis) in stored["last"].items()}
        lost = stored.get("lost")
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise _damaged(table, snapshot_id, text) from error
    numbers = [number for pair in last.values() for number in pair]
    if not all(map(is_long, [*numbers, 0 if lost is None else lost])):
        raise _damaged(table, snapshot_id, text)
    return Epochs(last, lost)


def _damaged(table: Table, snapshot_id: int, text: str) -> CorruptDataError:
    return CorruptDataError(
        f"property {STREAMS} of {table.snapshots.path(snapshot_id)}: expected the last epoch of "
        f"each stream, found {text[:200]}"
    )


def is_committed(table: Table, found: Epochs, epoch: Epoch) -> bool:
    """Whether the epoch is in the table. Raises TableError if a later one of its stream is.

    Raises UnknownOutcomeError if that is not known: another writer's commits have dropped the
    entries, and the snapshots that had them have expired. The first epoch of a stream is new then.
    """
    last = found.last.get(epoch.stream)
    if last is not None:
        if epoch.number < last[0]:
            raise _lower(table, epoch, last[0])
        return epoch.number == last[0]
    if found.lost is None or epoch.number <= 0 or epoch.accepts_loss:
        return False
    raise UnknownOutcomeError(
        f"whether epoch {epoch.number} of stream {epoch.stream} was committed to table "
        f"{table.layout.name} is not known: commits of another writer have dropped property "
        f"{STREAMS} of the snapshots, and those that had it have expired. If the last rows of the "
        "stream are not in the table, or may be there twice, write with the option "
        "accept-lost-epochs = true"
    )


def _lower(table: Table, epoch: Epoch, last: int) -> TableError:
    return TableError(
        f"commit to table {table.layout.name}: version {epoch.number} of '{epoch.stream}' is lower "
        f"than {last}, the last one that the table has; expected {last}, which changes nothing as "
        "it is there, or a greater one. Where versions begin anew, as with a new checkpoint, and "
        "for each statement of one batch, set a name of its own by option txnAppId, or "
        "token=(name, version) in Python; a streaming query needs the checkpoint with which it "
        "wrote last"
    )


def is_named(snapshot: Snapshot, epoch: Epoch) -> bool:
    """Whether a snapshot itself names an epoch, or a later one, as the last one of its stream."""
    text = (snapshot.properties or {}).get(STREAMS, "")
    with contextlib.suppress(ValueError, TypeError, LookupError):  # damage, or one that names none
        return bool(json.loads(text)["last"][epoch.stream][0] >= epoch.number)
    return False


def is_known(table: Table, snapshot: Snapshot | None, epoch: Epoch) -> bool:
    """Whether a snapshot, or one before it, names an epoch, or a later one of its stream."""
    last = epochs_of(table, snapshot).last.get(epoch.stream)
    return last is not None and last[0] >= epoch.number


def passed_over(table: Table, epoch: Epoch) -> str:
    """The line of a log that tells the user of a statement which the table had already."""
    return (
        f"NOTE: table {table.layout.name} has version {epoch.number} of '{epoch.stream}' already: "
        "this statement has changed nothing"
    )


def is_noted(found: Epochs, epoch: Epoch | None) -> bool:
    """Whether an epoch is committed even if it changes no rows. One of a program is: its statement
    could change rows that others write before it is repeated. A query repeats the rows of a batch,
    so only the first is, if that tells later ones to be new.
    """
    if epoch is None:
        return False
    return not epoch.is_of_query or (found.lost is not None and epoch.stream not in found.last)


def carried(table: Table, found: Epochs, epoch: Epoch | None) -> Mapping[str, str]:
    """The property of the next snapshot: what is known, and the epoch that it commits. Entries
    older than the table's option are dropped.

    Raises TableError if the snapshot would name too many streams.
    """
    now, option = int(time.time() * 1000), TableOptions.streams_seconds
    oldest = now - int(table.options.streams_seconds * 1000)
    last = {name: entry for name, entry in found.last.items() if entry[1] >= oldest}
    if epoch is not None:
        last[epoch.stream] = (epoch.number, now)
        if len(last) > _MOST:
            raise TableError(
                f"commit to table {table.layout.name}: {len(last)} streams have written to it in "
                f"the time of option {option.name}, of at most {_MOST}; use few txnAppId, each "
                "with growing txnVersion, or shorten the time"
            )
    lost = found.lost if found.lost is not None and found.lost >= oldest else None
    return {STREAMS: Epochs(last, lost).text()}
