"""Merging manifests inside a commit, so that planning does not grow with the number of commits.

Small manifests at the young end are joined when there are enough of them. An older one is taken in
only while it is no larger than what is being rewritten already. So a commit rewrites little, and
the number of manifests stays low. A full rewrite works off deletes.
"""

from collections.abc import Sequence

from keyfold.options import TableOptions
from keyfold.storage.metadata.entries import Record
from keyfold.storage.metadata.manifests import Manifests, merged_records

LEAST_DELETES = 64


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
        return _rewrite(manifests, listed, schema_id, whole_table=True)
    young = _young(listed, options)
    if young == 0:
        return list(listed), []
    kept, chosen = listed[:-young], listed[-young:]
    rewritten, names = _rewrite(manifests, chosen, schema_id, whole_table=young == len(listed))
    return [*kept, *rewritten], names


def _is_full(listed: Sequence[Record], options: TableOptions) -> bool:
    if len(listed) < 2:
        return False
    deleted = sum(record["_NUM_DELETED_FILES"] for record in listed)
    added = sum(record["_NUM_ADDED_FILES"] for record in listed)
    changed = sum(record["_FILE_SIZE"] for record in listed if record["_NUM_DELETED_FILES"])
    is_large: bool = changed >= options.manifest_full_compaction_size
    is_mostly_deleted: bool = deleted >= LEAST_DELETES and 2 * deleted >= added
    return is_large or is_mostly_deleted


def _young(listed: Sequence[Record], options: TableOptions) -> int:
    """The number of manifests at the young end to join, 0 if there are too few."""
    total, count = 0, 0
    for record in reversed(listed):
        size = record["_FILE_SIZE"]
        is_outweighed = count >= options.manifest_merge_min_count and size > total
        if size >= options.manifest_target_file_size or is_outweighed:
            break
        total, count = total + size, count + 1
    return count if count >= options.manifest_merge_min_count else 0


def _rewrite(
    manifests: Manifests, chosen: Sequence[Record], schema_id: int, *, whole_table: bool
) -> tuple[list[Record], list[str]]:
    decoded = [manifests.decoded(record) for record in chosen]
    records = merged_records(decoded, whole_table=whole_table)
    written = manifests.write(records, schema_id)
    return written, [record["_FILE_NAME"] for record in written]
