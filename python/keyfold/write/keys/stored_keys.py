"""The look-ups of stored keys by the tasks of a write, and what a commit makes of keys that
others have stored since.

Two jobs may write one new key at once. Each gives it a number, and the one that commits first is
right: the other finds its keys among the files that have come since it looked, writes its files
anew with the ids that are stored, and commits again. So no reader ever sees a key change its id.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from keyfold.errors import SnapshotExpiredError, TableError
from keyfold.ids.filling import MOST_KEYS, numbers
from keyfold.ids.id_ranges import Ranges
from keyfold.kernels.buffers import Rows
from keyfold.kernels.keys.comparable import encode
from keyfold.kernels.keys.membership import find
from keyfold.lookup.of_keys import lookups
from keyfold.lookup.of_tasks import PlannedLookups
from keyfold.lookup.rows_of_keys import look_up
from keyfold.options.ids import id_column
from keyfold.read.call_options import as_changed
from keyfold.read.formats.data_file import read_file
from keyfold.read.formats.wanted import Wanted
from keyfold.read.keyset import KeySet
from keyfold.storage.metadata.entries import LiveFile, added, by_place
from keyfold.storage.metadata.snapshot_files import in_partitions
from keyfold.storage.metadata.snapshots import Snapshot
from keyfold.storage.table import Table
from keyfold.stores.opened import store_of
from keyfold.wire.specs import CommitMessage, ScanSpec, StoredKeys, WriteSpec
from keyfold.write.job import Job
from keyfold.write.renumber import Changed, written_anew

_Flags = npt.NDArray[np.bool_]


def stored_keys(table: Table, reads: int | None, *, only_new: bool) -> StoredKeys | None:
    """The knowledge of stored keys that a job needs which is planned on a table; None if it needs
    none. `reads` is the snapshot that its statement has read, 0 without data, None if it has read
    no snapshot.

    Raises NotSupportedError if new keys need numbers that the table's store can't give out,
    TableError if only new keys are written and other columns are NOT NULL.
    """
    name, places = id_column(table.options), table.layout.spans_partitions
    if name is None and not only_new and not places:
        return None
    if only_new:
        _check_nullable(table)
    if name is not None:
        _begin(table)
    seen = table.snapshot_id if reads is None else reads or None
    snapshot = None if seen is None else table.snapshots.find(seen)
    job = None if snapshot is None else snapshot.commit_user
    return StoredKeys(name, seen, job, only_new, places)


def _check_nullable(table: Table) -> None:
    """Raises TableError, in Fluss' words, if a row needs more than its key."""
    columns, key = table.layout.columns, table.layout.primary_key
    lacking = [
        c.name for c in columns if not c.type.nullable and c.name not in key and c.default is None
    ]
    if lacking:
        raise TableError(
            f"Lookup with insertIfNotExists enabled cannot be created for table "
            f"'{table.layout.name}', because it contains non-nullable columns that are not primary "
            f"key columns or auto increment columns: [{', '.join(lacking)}]."
        )


def _begin(table: Table) -> None:
    """Begin the numbers of a table, above those that are stored, as another engine has them."""
    ranges = Ranges.of(table.layout, table.options)
    if not ranges.has_begun:
        ranges.begin(_greatest(table, ranges.column))


def _greatest(table: Table, name: str) -> int:
    """The greatest stored number, 0 without one."""
    greatest = 0
    for batch in _columns(table, table.live_files(), (name,)):
        found = pc.max(batch.column(name)).as_py()
        greatest = max(greatest, found or 0)
    return greatest


def key_lookups(table: Table, stored: StoredKeys | None) -> PlannedLookups | None:
    """The look-ups by which the tasks of a job find the keys that are stored."""
    if stored is None or stored.seen is None:
        return None
    read = replace(table, snapshot_id=stored.seen, known=None)
    read.check_format()
    return lookups(as_changed(read), _looked_up(table))


def _looked_up(table: Table) -> tuple[str, ...]:
    name = id_column(table.options)
    return (table.layout.key[0],) if name is None else (name,)


def settled(
    table: Table, spec: WriteSpec, messages: Sequence[CommitMessage], base: Snapshot
) -> tuple[WriteSpec, list[CommitMessage]]:
    """The job as it fits the snapshot `base`: files that have a key which was stored meanwhile are
    written anew, with the id that it has, or without it if only new keys are written. If that
    snapshot expires, others have followed it: then the job stays as it is, and is asked again.
    """
    assert spec.stored is not None
    now, made, written = table.at(base), list(messages), Job(spec.layout)
    seen = replace(spec.stored, seen=base.id, job=base.commit_user)
    try:
        with table.reading(base):
            come = _come(now, spec.stored, base, messages)
            for at, message in enumerate(messages):
                files = come.get((message.partition.values, message.bucket), [])
                changed = _changed(now, spec, message, files)
                if changed is not None:
                    made[at] = written_anew(spec, message, changed)
                    written.messages.append(made[at])
    except SnapshotExpiredError:
        seen = spec.stored
    except BaseException:
        written.remove()
        raise
    Job(spec.layout, (message for message in made if not message.files)).remove()
    return replace(spec, stored=seen), [message for message in made if message.files]


def _come(
    now: Table, stored: StoredKeys, base: Snapshot, messages: Sequence[CommitMessage]
) -> dict[tuple[tuple[object, ...], int], list[LiveFile]]:
    """The files of each bucket, in the partitions of the messages, that have come since the job
    looked, or all if that is not known.
    """
    partitions = {message.partition.values for message in messages}
    live = in_partitions(now.manifests, base, partitions)
    before = None if stored.seen is None else now.snapshots.find(stored.seen)
    names: set[str] = set()
    if before is not None and before.commit_user == stored.job and before.id <= base.id:
        with suppress(SnapshotExpiredError), now.reading(before):
            names = {file.name for file in in_partitions(now.manifests, before, partitions)}
    return by_place(file for file in live if file.name not in names)


def _changed(
    now: Table, spec: WriteSpec, message: CommitMessage, come: Sequence[LiveFile]
) -> Changed | None:
    """The change of rows of a message whose keys are among those of files that have come; None if
    there is none.
    """
    assert spec.stored is not None
    ours = now.manifests.files_of(added(now.shapes, [message]))
    come = [
        file
        for file in come
        if any(file.first <= one.last and one.first <= file.last for one in ours)
    ]
    if not come:
        return None
    own = spec.stored.ids
    rows = pa.Table.from_batches(
        [
            batch.select([*now.layout.primary_key, *(() if own is None else (own,))])
            for file in ours
            for batch in _of_file(spec, message, file, own)
        ]
    ).combine_chunks()
    (batch,) = rows.to_batches()
    is_there = _shared(now, [batch.column(name) for name in now.layout.key], come)
    batch = batch.filter(pa.array(is_there))
    if not batch.num_rows:
        return None
    found, ids = _stored(now, batch)
    if spec.stored.only_new:
        batch = batch.filter(pa.array(found))
        return partial(_left_out, _key_set(now, batch)) if batch.num_rows else None
    assert own is not None
    differs = found & (ids != 0) & (ids != numbers(batch.column(own)))
    batch = batch.filter(pa.array(differs))
    if not batch.num_rows:
        return None
    keys = _key_set(now, batch)
    return partial(_given, keys, ids[differs][_order(keys, batch)], own)


def _of_file(
    spec: WriteSpec, message: CommitMessage, file: LiveFile, own: str | None
) -> Iterator[pa.RecordBatch]:
    """Keys of a file of ours, with the partition's values, and their ids."""
    layout = spec.layout
    names = (*layout.key, *(() if own is None else (own,)))
    scan, store = ScanSpec(layout, names, {}), store_of(layout.location, layout.store)
    folder = message.partition.bucket_folder(layout, message.bucket)
    scalars = message.partition.scalars(layout)
    for batch in read_file(scan, store, folder, file, Wanted(names)):
        assert isinstance(batch, pa.RecordBatch)
        batch = batch.select(list(names))
        for name, value in scalars.items():
            batch = batch.append_column(
                layout.column(name).arrow_field, pa.repeat(value, batch.num_rows)
            )
        yield batch


def _shared(now: Table, columns: Sequence[pa.Array], files: Sequence[LiveFile]) -> _Flags:
    """Whether each key, of ascending ones, is in one of the files."""
    keys = encode(columns, now.layout.nullable_key)
    found = np.zeros(len(keys), dtype=np.bool_)
    for batch in _columns(now, files, now.layout.key):
        theirs = encode([batch.column(name) for name in now.layout.key], now.layout.nullable_key)
        places, is_there = find(keys, theirs)
        found[places[is_there]] = True
    return found


def _columns(
    table: Table, files: Sequence[LiveFile], names: tuple[str, ...]
) -> Iterator[pa.RecordBatch]:
    """Columns of all records of files."""
    layout = table.layout
    scan, store = ScanSpec(layout, names, table.stored_schemas(files)), table.files
    for file in files:
        for batch in read_file(scan, store, file.folder(layout), file, Wanted(names)):
            assert isinstance(batch, pa.RecordBatch)
            yield batch


def _stored(now: Table, keys: pa.RecordBatch) -> tuple[_Flags, Rows]:
    """Whether each key has a row now, and its id, or 0."""
    plans = lookups(as_changed(now), _looked_up(now))
    flags, ids = [], []
    for at in range(0, keys.num_rows, MOST_KEYS):
        some = keys.select(list(now.layout.primary_key)).slice(at, MOST_KEYS)
        found, rows = look_up(plans.of(some), some)
        flags.append(found.to_numpy(zero_copy_only=False))
        has_ids = id_column(now.options) is not None
        ids.append(numbers(rows.column(0)) if has_ids else np.zeros(len(found), dtype=np.int64))
    return np.concatenate(flags), np.concatenate(ids)


def _key_set(now: Table, batch: pa.RecordBatch) -> KeySet:
    return KeySet.of(now.layout, [batch.column(name) for name in now.layout.key])[0]


def _order(keys: KeySet, batch: pa.RecordBatch) -> Rows:
    """The row of each of the keys in a batch that has all of them, once or more."""
    rows = np.empty(len(keys), dtype=np.int64)
    rows[keys.places(batch)] = np.arange(batch.num_rows)
    return rows


def _places(keys: KeySet, batch: pa.RecordBatch) -> tuple[Rows, _Flags]:
    return find(keys.keys, encode([batch.column(name) for name in keys.names], keys.nullable))


def _left_out(keys: KeySet, batch: pa.RecordBatch) -> pa.RecordBatch:
    """The rows of other keys."""
    return batch.filter(pa.array(~_places(keys, batch)[1]))


def _given(keys: KeySet, ids: Rows, name: str, batch: pa.RecordBatch) -> pa.RecordBatch:
    """The rows, of which those of the keys get these ids."""
    places, is_there = _places(keys, batch)
    at = batch.schema.get_field_index(name)
    field = batch.schema.field(at)
    own = pa.array(ids[np.where(is_there, places, 0)]).cast(field.type)
    is_changed = is_there & pc.is_valid(batch.column(at)).to_numpy(zero_copy_only=False)
    return batch.set_column(at, field, pc.if_else(pa.array(is_changed), own, batch.column(at)))
