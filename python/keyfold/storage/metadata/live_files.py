"""The live files of a snapshot, as the entries of its manifests that no other entry deletes.

Which entries live is decided on columns. Files become objects where a plan or commit hands them
out, and only those that its filters leave.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np

from keyfold.files import damage
from keyfold.storage.metadata.entries import LiveFile, Place, Record
from keyfold.storage.metadata.manifest_columns import ManifestColumns, Numbers, repeated
from keyfold.storage.metadata.partition_bounds import (  # fmt: skip
    Bounded,
    Partition,
    PartitionBounds,
    SomePartitions,
)
from keyfold.wire.specs import Vector

_MOST_ASKED = 1 << 15  # buckets of a partition
_BUCKETS = 1 << 31  # above the least number that a bucket may have
# The deletion vectors of data files, by partition, bucket and name.
Vectors = Mapping[tuple[Partition, int, str], Vector]


@dataclass(frozen=True)
class Asked:
    """The files that a statement is about: those in partitions that `takes` takes, by their values,
    and in buckets that `takes_bucket` takes, by their number and that of all buckets of the
    partition, at `least_level` or above. Manifests without such partitions are those that
    `may_hold` leaves out.
    """

    takes: Callable[[Partition], bool] | None = None
    takes_bucket: Callable[[int, int], bool] | None = None
    may_hold: Callable[[PartitionBounds], bool] | None = None
    least_level: int = 0

    @staticmethod
    def where(takes: Callable[[Partition], bool] | None) -> Asked:
        """The files of partitions that are taken."""
        if not isinstance(takes, Bounded):
            return Asked(takes)
        return Asked(takes, may_hold=lambda found: takes.may_hold(found.columns))

    @staticmethod
    def of_partitions(partitions: Collection[Partition]) -> Asked:
        """The files of some partitions."""
        return Asked.where(SomePartitions(partitions))

    @staticmethod
    def around(places: Iterable[Place]) -> Asked:
        """The files of some buckets, and those of the same numbers in their partitions."""
        partitions, buckets = set[Partition](), set[int]()
        for partition, bucket in places:
            partitions.add(partition)
            buckets.add(bucket)
        asked = Asked.of_partitions(partitions)
        return replace(asked, takes_bucket=lambda one, of: one in buckets)

    def within(self, partitions: Bounded) -> Asked:
        """The files that are asked for in some partitions."""
        takes, may_hold = self.takes, self.may_hold
        return replace(
            self,
            takes=lambda values: partitions(values) and (takes is None or takes(values)),
            may_hold=lambda found: (
                partitions.may_hold(found.columns) and (may_hold is None or may_hold(found))
            ),
        )

    def among(self, listed: Iterable[Record]) -> list[Record]:
        """The manifests of a list in which files in such buckets and at such levels may be, by what
        the list says of them.
        """
        takes_any = cache(self._takes_any)  # most manifests have the same buckets
        return [
            one
            for one in listed
            if (one.get("_MAX_LEVEL") is None or one["_MAX_LEVEL"] >= self.least_level)
            and takes_any(*map(one.get, ("_MIN_BUCKET", "_MAX_BUCKET", "_TOTAL_BUCKETS")))
        ]

    def _takes_any(self, low: int | None, high: int | None, total: int | None) -> bool:
        if self.takes_bucket is None or low is None or high is None or total is None:
            return True
        is_wide = high - low >= _MOST_ASKED
        return is_wide or any(self.takes_bucket(one, total) for one in range(low, high + 1))


@dataclass(frozen=True, eq=False)
class LiveFiles:
    """Entries of manifests, in the order in which their files were added: `rows` of each; and the
    deletion vectors of their snapshot.
    """

    manifests: tuple[ManifestColumns, ...]
    rows: tuple[Numbers, ...]
    vectors: Vectors = field(default_factory=dict)

    def __len__(self) -> int:
        return sum(map(len, self.rows))

    def __iter__(self) -> Iterator[LiveFile]:
        return iter(self.files())

    def chosen(self, asked: Asked) -> LiveFiles:
        """The files that a statement is about."""
        takes_bucket = asked.takes_bucket
        wanted = None if asked.takes is None else cache(asked.takes)
        found: list[Numbers] = []
        for one, rows in self.parts():
            if wanted is not None:
                taken = np.array([wanted(values) for values in one.partitions], dtype=bool)
                rows = rows[taken[one.codes[rows]]] if len(rows) else rows
            if takes_bucket is not None:
                rows = rows[_in_buckets(one, rows, takes_bucket)]
            if asked.least_level:
                rows = rows[one.level[rows] >= asked.least_level]
            found.append(rows)
        return replace(self, rows=tuple(found))

    def files(self) -> list[LiveFile]:
        """All of them as objects."""
        found = (file for one, rows in self.parts() for file in one.files(rows.tolist()))
        return list(map(self.marked, found))

    def each(self) -> Iterator[LiveFile]:
        """Each of them as an object that is not kept."""
        for one, rows in self.parts():
            yield from (self.marked(one.file(row)) for row in rows.tolist())

    def marked(self, file: LiveFile) -> LiveFile:
        """A file of them with its deletion vector."""
        if not self.vectors:
            return file
        vector = self.vectors.get((file.partition, file.bucket, file.name))
        return file if vector is None else file.marked_by(vector)

    def that(self, keeps: Callable[[LiveFile], bool]) -> LiveFiles:
        """The files that are kept by what only objects know."""
        found = [
            rows[np.fromiter(map(keeps, one.files(rows.tolist())), dtype=bool, count=len(rows))]
            for one, rows in self.parts()
        ]
        return replace(self, rows=tuple(found))

    def less(self, lack: Callable[[Sequence[LiveFile]], Collection[str]]) -> LiveFiles:
        """The files less those whose names `lack` gives, of those that may have an index: the
        others do not become objects.
        """
        odd = replace(self, rows=tuple(rows[one.more[rows]] for one, rows in self.parts()))
        gone = lack(odd.files())
        if not gone:
            return self
        pairs = zip(self.rows, odd.that(lambda file: file.name in gone).rows, strict=True)
        return replace(self, rows=tuple(rows[~np.isin(rows, of)] for rows, of in pairs))

    def in_places(self, places: Collection[Place]) -> list[LiveFile]:
        """The files in some buckets."""
        buckets: dict[Partition, set[int]] = {}
        for partition, bucket in places:
            buckets.setdefault(partition, set()).add(bucket)
        return self.in_buckets(buckets)

    def in_buckets(self, buckets: Mapping[Partition, Collection[int]]) -> list[LiveFile]:
        """The files in some buckets of each of some partitions."""
        every = set().union(*buckets.values())
        found = self.chosen(Asked(buckets.__contains__, lambda bucket, _: bucket in every))
        return [file for file in found if file.bucket in buckets[file.partition]]

    def crowded(self, least: int) -> LiveFiles:
        """The files of buckets that have `least` of them or more."""
        codes: dict[Partition, int] = {}
        places = list[Numbers]()
        for one, rows in self.parts():
            known = [codes.setdefault(values, len(codes)) for values in one.partitions]
            words = np.array(known, dtype=np.int64)[one.codes[rows]] << 32
            places.append(words + one.bucket[rows].astype(np.int64) + _BUCKETS)
        every = np.concatenate([np.empty(0, dtype=np.int64), *places])
        distinct, counts = np.unique(every, return_counts=True)
        distinct = distinct[counts >= least]
        pairs = zip(self.rows, places, strict=True)
        return replace(self, rows=tuple(rows[np.isin(of, distinct)] for rows, of in pairs))

    def totals(self, partitions: Collection[Partition]) -> dict[Partition, int]:
        """The number of buckets of the file of each partition that was added last to one."""
        found: dict[Partition, int] = {}
        for one, rows in self.parts():
            rows = rows[one.bucket[rows] >= 0][::-1]
            codes, lasts = np.unique(one.codes[rows], return_index=True)
            for code, row in zip(codes.tolist(), rows[lasts].tolist(), strict=True):
                if one.partitions[code] in partitions:
                    found[one.partitions[code]] = one.total_buckets.item(row)
        return found

    def buckets(self, partitions: Collection[Partition]) -> Iterator[tuple[Partition, int, str]]:
        """The buckets of some partitions that have files, and a file of each. A bucket may come
        more than once.
        """
        for one, rows in self.parts():
            for code, values in enumerate(one.partitions):
                of = rows[one.codes[rows] == code] if values in partitions else rows[:0]
                buckets, firsts = np.unique(one.bucket[of], return_index=True)
                for bucket, row in zip(buckets.tolist(), of[firsts].tolist(), strict=True):
                    yield values, bucket, one.name(row)

    def highest(self) -> LiveFile | None:
        """The file of the greatest sequence number."""
        best: tuple[int, ManifestColumns, int] | None = None
        for one, rows in self.parts():
            numbers = one.max_sequence[rows]
            if len(rows) and (best is None or numbers.max() > best[0]):
                place = int(numbers.argmax())
                best = numbers.item(place), one, rows.item(place)
        return None if best is None else best[1].files([best[2]])[0]

    def bucket_counts(self) -> set[int]:
        """The numbers of buckets that partitions have."""
        return {
            number
            for one, rows in self.parts()
            for number in np.unique(one.total_buckets[rows]).tolist()
        }

    def without_suffix(self, suffixes: Sequence[str], *, or_source: bool) -> list[LiveFile]:
        """The files whose names end otherwise, those that lie elsewhere or have other files, and
        those of an unknown source if it matters.
        """
        found: list[LiveFile] = []
        for one, rows in self.parts():
            is_odd = one.more | ~one.ends_in(tuple(suffixes))
            is_odd = is_odd | one.lacks_source if or_source else is_odd
            found += one.files(rows[is_odd[rows]].tolist())
        return found

    def parts(self) -> Iterator[tuple[ManifestColumns, Numbers]]:
        """The entries of each manifest."""
        return zip(self.manifests, self.rows, strict=True)


def schema_ids(files: Iterable[LiveFile]) -> set[int]:
    """The schemas that files were written by."""
    if not isinstance(files, LiveFiles):
        return {file.schema_id for file in files}
    found = (np.unique(one.schema_ids[rows]).tolist() for one, rows in files.parts())
    return {number for some in found for number in some}


def _in_buckets(one: ManifestColumns, rows: Numbers, takes: Callable[[int, int], bool]) -> Numbers:
    """Which rows are in buckets that are taken. Each pair of numbers is asked about once."""
    pairs = np.stack((one.bucket[rows], one.total_buckets[rows]), axis=1).astype(np.int32)
    words, places = np.unique(pairs.view(np.int64)[:, 0], return_inverse=True)
    asked = [takes(*pair) for pair in words.view(np.int32).reshape(-1, 2).tolist()]
    return np.array(asked, dtype=bool)[places]


def live_of(manifests: Sequence[ManifestColumns]) -> LiveFiles:
    """The files that some of the manifests add and none deletes. Raises CorruptDataError if two add
    the same file, whose rows would count twice.
    """
    every = [np.arange(len(one), dtype=np.int32) for one in manifests]
    lives = [~one.is_deleted for one in manifests]
    by_key: dict[tuple[Any, ...], list[tuple[int, int]]] = {}
    for place, row in repeated(manifests, every):
        by_key.setdefault(manifests[place].identifier(row), []).append((place, row))
    for entries in by_key.values():
        if any(manifests[place].is_deleted[row] for place, row in entries):
            for place, row in entries:
                lives[place][row] = False
        elif len(entries) > 1:
            place, row = entries[-1]
            name = manifests[place].name(row)
            raise damage.entry(f"data file {name} is added by two manifests")
    rows = tuple(all_of[lasts] for all_of, lasts in zip(every, lives, strict=True))
    return LiveFiles(tuple(manifests), rows)


def left_of(manifests: Sequence[ManifestColumns]) -> list[tuple[ManifestColumns, int]]:
    """The entries that delete files which none of the manifests adds."""
    added = {
        manifests[place].identifier(row)
        for place, row in repeated(manifests, [np.arange(len(one)) for one in manifests])
        if not manifests[place].is_deleted[row]
    }
    return [
        (one, row)
        for one in manifests
        for row in np.flatnonzero(one.is_deleted).tolist()
        if one.identifier(row) not in added
    ]
