"""The files of a snapshot, all or those that a statement is about, and what is kept of both.

A snapshot never changes, so its files and its list of manifests are kept by the names of its
manifest lists.
"""

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace

from keyfold.resources.cache import Cache
from keyfold.storage.metadata.entries import LiveFile, Record
from keyfold.storage.metadata.live_files import Asked, LiveFiles
from keyfold.storage.metadata.manifest_columns import Numbers
from keyfold.storage.metadata.manifests import Manifests, unless_missing
from keyfold.storage.metadata.partition_bounds import Partition
from keyfold.storage.metadata.snapshots import Snapshot
from keyfold.storage.metadata.vectors import vectors_of
from keyfold.wire.partitions import POSTPONED

_ROWS_KEPT = 40 << 20  # bytes: a few snapshots of millions of files
_LEAST_WEIGHT = _ROWS_KEPT // 100  # of a snapshot: older ones are rarely asked for again
# The live entries of each manifest of a snapshot: the columns are kept once, by `manifests.CACHE`.
LIVE: Cache[tuple[Numbers, ...]] = Cache(
    _ROWS_KEPT, lambda rows: _LEAST_WEIGHT + sum(one.nbytes for one in rows)
)
_MANIFESTS_KEPT = 10_000
_LOOKS_BACK = 30  # snapshots of other engines: beyond, all manifests cost no more
LISTS: Cache[list[Record]] = Cache(_MANIFESTS_KEPT, len)


def live_of_snapshot(manifests: Manifests, snapshot: Snapshot) -> LiveFiles:
    """The files of a snapshot; which entries they are is kept for the last few snapshots."""
    key, listed = _lists_of(manifests, snapshot), listed_of(manifests, snapshot)
    vectors = vectors_of(manifests, snapshot)
    known = LIVE.get(key)
    if known is not None:
        return LiveFiles(tuple(manifests.all_decoded(listed)), known, vectors)
    found = manifests.live_in(listed)
    LIVE.put(key, found.rows)
    return replace(found, vectors=vectors)


def live_where(manifests: Manifests, snapshot: Snapshot, asked: Asked) -> tuple[LiveFiles, int]:
    """The files of a snapshot that a statement asks for, and the number of all. Manifests that hold
    none of them are not read: then the number is what the lists of manifests say.
    """
    if asked != Asked(asked.takes):
        listed = listed_of(manifests, snapshot)
        some = listed
        if asked.may_hold is not None:
            some = manifests.that_may_hold(listed, asked.may_hold)
        fewer = asked.among(some)
        if sum(map(_entries, fewer)) <= sum(map(_entries, some)) // 2:
            some = fewer  # else not worth it: which entries of all are live is kept
        if len(some) < len(listed):
            found = replace(manifests.live_in(some), vectors=vectors_of(manifests, snapshot))
            return found.chosen(asked), _count_of(listed)
    every = live_of_snapshot(manifests, snapshot)
    return every.chosen(asked), len(every)


def seen_where(manifests: Manifests, snapshot: Snapshot, asked: Asked) -> tuple[LiveFiles, int]:
    """As `live_where`, of a table whose rows may have no buckets yet: without files of these. The
    number is then that of the files asked for.
    """
    takes = asked.takes_bucket or (lambda bucket, of: True)
    asked = replace(asked, takes_bucket=lambda bucket, of: bucket >= 0 and takes(bucket, of))
    found, _ = live_where(manifests, snapshot, asked)
    return found, len(found)


def postponed_of(
    manifests: Manifests, snapshot: Snapshot, takes: Callable[[Partition], bool] | None = None
) -> list[LiveFile]:
    """The files of a snapshot, in partitions that are taken, whose rows have no buckets yet."""
    asked = replace(Asked.where(takes), takes_bucket=lambda bucket, of: bucket == POSTPONED)
    return live_where(manifests, snapshot, asked)[0].files()


def are_all_of(manifests: Manifests, snapshot: Snapshot, buckets: int) -> bool:
    """Whether all files of a snapshot are surely of this number of buckets, as its lists say it."""
    return all(one.get("_TOTAL_BUCKETS") == buckets for one in listed_of(manifests, snapshot))


def listed_count(manifests: Manifests, snapshot: Snapshot) -> int:
    """The number of a snapshot's files, as the lists of its manifests say it."""
    return _count_of(listed_of(manifests, snapshot))


def _count_of(listed: Iterable[Record]) -> int:
    return sum(one["_NUM_ADDED_FILES"] - one["_NUM_DELETED_FILES"] for one in listed)


def _entries(listed: Record) -> int:
    found: int = listed["_NUM_ADDED_FILES"] + listed["_NUM_DELETED_FILES"]
    return found


def in_partitions(
    manifests: Manifests, snapshot: Snapshot | None, partitions: Collection[Partition]
) -> LiveFiles:
    """The files of a snapshot in some partitions."""
    if snapshot is None:
        return LiveFiles((), ())
    return live_where(manifests, snapshot, Asked.of_partitions(partitions))[0]


def number_above(
    manifests: Manifests, snapshot: Snapshot, earlier: Callable[[int], Snapshot | None]
) -> int:
    """A sequence number that none of the rows of a snapshot is above, -1 if it has no files. It may
    be that of a file which is deleted. Our snapshots say it; those of other engines that came
    after one of ours have added to it what is in their changes. `earlier` reads another snapshot.
    """
    found, highest = snapshot, -1
    with unless_missing():
        for _ in range(_LOOKS_BACK):
            known = found.number_above
            if known is not None:
                return max(highest, known)
            highest = max(highest, _highest_of(manifests, manifests.changed(found)))
            before = earlier(found.id - 1)
            if before is None:
                break
            found = before
    return _highest_of(manifests, listed_of(manifests, snapshot))


def _highest_of(manifests: Manifests, listed: Iterable[Record]) -> int:
    return max((manifests.decoded(one).highest_added for one in listed), default=-1)


def listed_of(manifests: Manifests, snapshot: Snapshot) -> list[Record]:
    """The manifests of a snapshot; those of the last few snapshots are kept."""
    key = _lists_of(manifests, snapshot)
    found = LISTS.get(key)
    if found is None:
        found = manifests.listed(snapshot)
        LISTS.put(key, found)
    return found


def keep_listed(manifests: Manifests, snapshot: Snapshot, listed: list[Record]) -> None:
    """Keep the manifests of a snapshot that this process has published: the next job, which is
    planned on it, need not decode them.
    """
    LISTS.put(_lists_of(manifests, snapshot), listed)


def _lists_of(manifests: Manifests, snapshot: Snapshot) -> tuple[str, str]:
    return manifests.location, f"{snapshot.base_manifest_list} {snapshot.delta_manifest_list}"
