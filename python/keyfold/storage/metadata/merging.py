"""The manifests that a commit writes anew.

Small ones at the young end are joined when there are enough of them. An older one is taken in only
while it is no larger than what is being rewritten already, and not one that is full. So a commit
rewrites little, and the number of manifests stays low. If many hold deletes, these are worked off:
those manifests are written anew, with the ones that may have added what they delete.

What is written anew is sorted by partition, and by bucket within each. So that a statement about
one partition leaves most of the full ones unread, the young ones are sorted together with the last
few full ones if many of these have the same partitions, or the same buckets where there is but one
partition: each entry is written anew a few times, and no commit rewrites all.
"""

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

from keyfold.options.declared import TableOptions
from keyfold.storage.metadata import manifests as written
from keyfold.storage.metadata.entries import Record
from keyfold.storage.metadata.live_files import left_of, live_of
from keyfold.storage.metadata.manifest_columns import ManifestColumns
from keyfold.storage.metadata.manifests import Manifests
from keyfold.storage.metadata.partition_bounds import PartitionBounds

LEAST_DELETES = 64
_TOGETHER = 8  # full manifests, of which each then has an eighth of the partitions
_MIXED = 0.4  # of their pairs: two of three are apart where three of them were sorted together
Entry = tuple[ManifestColumns, int]


def merge(
    manifests: Manifests,
    listed: Sequence[Record],
    options: TableOptions,
    schema_id: int,
    *,
    whole_table: bool = False,
) -> tuple[list[Record], list[str]]:
    """The manifests to list instead of `listed`, and the names of those written anew: those that
    are due, or those of the whole table.
    """
    if whole_table or _is_full(listed, options):
        due = listed if whole_table else _with_deletes(manifests, listed)
        taken = {one["_FILE_NAME"] for one in due}
        kept = [one for one in listed if one["_FILE_NAME"] not in taken]
        rewritten, names = _rewrite(manifests, due, schema_id, whole_table=not kept)
        return [*kept, *rewritten], names
    count = _young(listed, options)
    if count == 0:
        return list(listed), []
    count += _mixed(manifests, listed[:-count], listed[-count:], options)
    older, young = listed[:-count], listed[-count:]
    rewritten, names = _rewrite(manifests, young, schema_id, whole_table=count == len(listed))
    return [*older, *rewritten], names


def _is_full(listed: Sequence[Record], options: TableOptions) -> bool:
    if len(listed) < 2:
        return False
    deleted = sum(record["_NUM_DELETED_FILES"] for record in listed)
    added = sum(record["_NUM_ADDED_FILES"] for record in listed)
    changed = sum(record["_FILE_SIZE"] for record in listed if record["_NUM_DELETED_FILES"])
    is_large: bool = changed >= options.manifest_full_compaction_size
    is_mostly_deleted: bool = deleted >= LEAST_DELETES and 2 * deleted >= added
    return is_large or is_mostly_deleted


def _with_deletes(manifests: Manifests, listed: Sequence[Record]) -> list[Record]:
    """The manifests that hold deletes, and those that may have added what these delete: files of
    the same partitions and buckets.
    """
    bounds = [PartitionBounds.of(one, manifests.shapes.partition) for one in listed]
    pairs = list(zip(listed, bounds, strict=True))
    deleting = [(one, found) for one, found in pairs if one["_NUM_DELETED_FILES"]]
    return [
        one
        for one, found in pairs
        if any(found.may_share(of) and _may_share(one, other) for other, of in deleting)
    ]


def _may_share(one: Record, other: Record) -> bool:
    """Whether manifests may have a bucket in common."""
    (low, high), (least, most) = _buckets(one), _buckets(other)
    if low is None or high is None or least is None or most is None:
        return True
    return low <= most and least <= high


def _buckets(listed: Record) -> tuple[int | None, int | None]:
    return listed.get("_MIN_BUCKET"), listed.get("_MAX_BUCKET")


def _young(listed: Sequence[Record], options: TableOptions) -> int:
    """The number of manifests at the young end to join, 0 if there are too few."""
    total, count = 0, 0
    for record in reversed(listed):
        size = record["_FILE_SIZE"]
        is_outweighed = count >= options.manifest_merge_min_count and size > total
        if _has_enough([record], options) or is_outweighed:
            break
        total, count = total + size, count + 1
    return count if count >= options.manifest_merge_min_count else 0


def _has_enough(listed: Sequence[Record], options: TableOptions) -> bool:
    """Whether manifests fill one, by their bytes or by their entries."""
    count = sum(one["_NUM_ADDED_FILES"] + one["_NUM_DELETED_FILES"] for one in listed)
    size = sum(one["_FILE_SIZE"] for one in listed)
    return bool(size >= options.manifest_target_file_size) or 2 * count > written.MOST_ENTRIES


def _mixed(
    manifests: Manifests, older: Sequence[Record], young: Sequence[Record], options: TableOptions
) -> int:
    """The number of full manifests before the young ones that are sorted with them: some if the
    young ones fill one too, and if many of those may have the same partitions, or the same buckets
    of one partition.
    """
    beside = older[-_TOGETHER + 1 :]
    if len(beside) < _TOGETHER - 1 or not _has_enough(young, options):
        return 0
    bounds = [PartitionBounds.of(one, manifests.shapes.partition) for one in beside]
    pairs = [one.overlaps(other) for one, other in combinations(bounds, 2)]
    if all(found.is_one for found in bounds):
        pairs = [_share_buckets(one, other) for one, other in combinations(beside, 2)]
    return 0 if sum(pairs) < _MIXED * len(pairs) else len(beside)


def _share_buckets(one: Record, other: Record) -> bool:
    """Whether manifests have some buckets in common, which can be told from others of them."""
    (low, high), (least, most) = _buckets(one), _buckets(other)
    return low is not None and _may_share(one, other) and (low != high or least != most)


def _rewrite(
    manifests: Manifests, chosen: Sequence[Record], schema_id: int, *, whole_table: bool
) -> tuple[list[Record], list[str]]:
    decoded = [manifests.decoded(record) for record in chosen]
    entries = by_partition(merged_entries(decoded, whole_table=whole_table))
    made = manifests.write_again(entries, schema_id)
    return made, [record["_FILE_NAME"] for record in made]


def merged_entries(manifests: Sequence[ManifestColumns], *, whole_table: bool) -> list[Entry]:
    """Entries of the manifests with ADD and DELETE of one file cancelled.

    A DELETE whose ADD is in none of them is kept, unless they are the `whole_table`.
    """
    live = live_of(manifests)
    rest = [] if whole_table else left_of(manifests)
    parts = zip(live.manifests, live.rows, strict=True)
    return rest + [(one, row) for one, rows in parts for row in rows.tolist()]


def by_partition(entries: Sequence[Entry]) -> list[Entry]:
    """Entries in the order of their partitions and buckets; those of one keep their order."""
    partitions = {values for one, _ in entries for values in one.partitions}
    places = {values: place for place, values in enumerate(sorted(partitions, key=_in_order))}
    codes = {id(one): np.array([places[values] for values in one.partitions]) for one, _ in entries}
    found = np.array([codes[id(one)][one.codes[row]] for one, row in entries], dtype=np.int64)
    buckets = np.array([one.bucket.item(row) for one, row in entries], dtype=np.int64)
    return [entries[place] for place in np.lexsort((buckets, found)).tolist()]


def _in_order(values: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple((value is not None, 0 if value is None else value) for value in values)
