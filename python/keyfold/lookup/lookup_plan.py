"""The plan of lookups in a table's snapshot (driver side)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

import pyarrow as pa

from keyfold.errors import TableError
from keyfold.files.sections import sections_of_runs
from keyfold.lookup.key_places import ANY_BUCKET, BucketOfKeys, LookupPlan
from keyfold.options.unparsed import READS_INDEXES
from keyfold.read.plan_head import PlanHead
from keyfold.read.provenance import divided
from keyfold.read.request import ReadRequest
from keyfold.read.waiting.waiting_splits import WaitingParts, apart
from keyfold.resources.garbage import makes_many
from keyfold.storage.metadata.entries import LiveFile, Place, by_place, decode_keys, split_of
from keyfold.storage.metadata.partition_bounds import Partition
from keyfold.storage.metadata.snapshot_files import listed_count
from keyfold.storage.table import Table
from keyfold.types.literals import FLOATING, arrow_array
from keyfold.types.logical import Atomic
from keyfold.wire.layout import TableLayout
from keyfold.wire.predicates import Predicate


@makes_many
def plan_lookup(
    table: Table,
    columns: Sequence[str],
    filters: Sequence[Predicate] = (),
    partitions: Collection[Partition] | None = None,
    hashes: Collection[int] | None = None,
) -> LookupPlan:
    """The plan of lookups of `columns`, metadata columns among them, in the snapshot of the table.
    Rows that fail one of the `filters` that are over the primary key are not found; others are
    ignored. Keys of other partitions, or of other buckets than those of `hashes`, are not found;
    None is all of them. Raises TableError if the table has no key. Where rows wait for buckets that
    scans of the table read, those of the whole partition are one bucket.
    """
    layout = table.layout
    if not layout.key:
        raise TableError(f"looking keys up in table {layout.name}: it has no primary key")
    head = PlanHead.of(table, ReadRequest(columns, filters))
    if hashes is not None and head.chosen.bucket_hashes is None:
        head = replace(head, chosen=replace(head.chosen, bucket_hashes=tuple(hashes)))
    live, mixed = apart(head, head.live(partitions)[0], partitions)
    files = live.files()
    own, metadata = divided(layout, columns)
    read = tuple(dict.fromkeys((*own, *layout.key)))
    every = [*files, *mixed.files]
    scan = replace(head.scan(read, every), metadata=metadata, **table.named_by)
    decode_keys(files)
    found = sorted(by_place(files).items(), key=lambda item: str(item[0]))
    places = (_bucket(table, place, of_bucket) for place, of_bucket in found)
    return LookupPlan(tuple(columns), scan, (*places, *_mixed(layout, mixed)))


def is_by_partition(table: Table, most: int) -> bool:
    """Whether look-ups of whole keys are planned for the partitions of the keys: if the snapshot
    has more files than `most`. NaN is not found among values, and a key that is one across
    partitions names none.
    """
    layout = table.layout
    if not {*layout.partition_keys} <= {*layout.primary_key}:
        return False
    keys = map(layout.column, layout.partition_keys)
    kinds = {key.type.name for key in keys if isinstance(key.type, Atomic)}
    return bool(kinds) and not kinds & FLOATING and _files_of(table) > most


def _files_of(table: Table) -> int:
    """The number of files in the table's snapshot, as the lists of its manifests say it."""
    snapshot = table.snapshot
    if snapshot is None:
        return 0
    with table.reading(snapshot):
        return listed_count(table.manifests, snapshot)


def _bucket(table: Table, place: Place, files: Sequence[LiveFile]) -> BucketOfKeys:
    as_read = [file.as_read(table.options) for file in files]
    found = sections_of_runs(as_read)
    split = split_of(table.layout, place, found)
    listed = [file for section in found for run in section for file in run]
    buckets = {file.total_buckets for file in files}
    number = buckets.pop() if len(buckets) == 1 else ANY_BUCKET
    indexes = tuple(file.index() for file in listed)
    ends = _ends(table.layout, listed)
    is_asked = any(indexes) and table.options[READS_INDEXES]
    return BucketOfKeys(split, max(number, ANY_BUCKET), ends, indexes if is_asked else ())


def _mixed(layout: TableLayout, parts: WaitingParts) -> Iterator[BucketOfKeys]:
    """Partitions in which rows wait, each as one bucket."""
    for part in parts.partitions:
        files = [file for run in part.section for file in run]
        yield BucketOfKeys(part.split(layout), ANY_BUCKET, _ends(layout, files))


def _ends(layout: TableLayout, files: Sequence[LiveFile]) -> pa.RecordBatch:
    keys = zip(*(key for file in files for key in (file.min_key, file.max_key)), strict=True)
    arrays = [
        arrow_array(list(values), layout.column(name).type)
        for name, values in zip(layout.key, keys, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, names=list(layout.key))
