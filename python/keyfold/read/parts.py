"""The parts of a scan: buckets with their sections of overlapping keys, in the order of its tasks.

A file that is alone in its bucket overlaps no other, and neither do files of a table without a key:
each is a part that stays an entry of its manifest. Files of other buckets become objects, whose
keys are compared.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from keyfold.read.request import Units
from keyfold.storage.metadata.entries import LiveFile, Place, decode_keys
from keyfold.storage.metadata.file_columns import FileColumns, takes_nothing_back
from keyfold.storage.metadata.live_files import LiveFiles
from keyfold.storage.metadata.manifest_columns import Numbers
from keyfold.wire.specs import MARKED_SUFFIX

KeyedSection = tuple[LiveFile, ...]


@dataclass(frozen=True)
class Reading:
    """The rules of a scan for files: as what they are read, the sections of a bucket's files, None
    if each file is one, and the lone files that may hold rows of interest, None for all.
    """

    as_read: Callable[[LiveFile], LiveFile] | None
    divide: Callable[[Sequence[LiveFile]], list[KeyedSection]] | None
    lone: Callable[[LiveFile], bool] | None

    def seen(self, file: LiveFile) -> LiveFile:
        """The file as it is read."""
        return file if self.as_read is None else self.as_read(file)

    def divided(self, files: Sequence[LiveFile]) -> list[KeyedSection]:
        """The sections of a bucket's files as they are read."""
        return [(file,) for file in files] if self.divide is None else self.divide(files)


@dataclass(frozen=True, eq=False)
class ScanParts:
    """Parts by their number: the first file of each, and the sections of those that are no file by
    itself.
    """

    reading: Reading
    files: FileColumns
    firsts: Numbers
    sections: Mapping[int, Sequence[KeyedSection]]

    @staticmethod
    def of(reading: Reading, live: LiveFiles) -> ScanParts:
        """The parts of files."""
        files = FileColumns.of(live)
        places, firsts = files.places
        if reading.divide is None:
            alone = np.ones(len(files), dtype=bool)
        else:
            alone = np.bincount(places, minlength=len(firsts))[places] == 1
        others = np.flatnonzero(~alone)
        sections = _sections(reading, files, places, others) if len(others) else {}
        if reading.lone is not None:
            numbers = np.flatnonzero(alone)
            alone[numbers] = list(map(reading.lone, map(reading.seen, files.files(numbers))))
        by_first = {int(firsts[place]): found for place, found in sections.items() if found}
        alone[list(by_first)] = True
        numbers = np.flatnonzero(alone)
        numbers = numbers[np.argsort(places[numbers], kind="stable")]
        ordered = enumerate(numbers.tolist()) if by_first else ()
        found = {part: by_first[number] for part, number in ordered if number in by_first}
        return ScanParts(reading, files, numbers, found)

    def __len__(self) -> int:
        return len(self.firsts)

    def place(self, part: int) -> Place:
        """The partition and the bucket of a part."""
        return self.files.place(self.firsts.item(part))

    def sections_of(self, part: int) -> Sequence[KeyedSection]:
        """The sections of a part."""
        found = self.sections.get(part)
        return [(self._alone(part),)] if found is None else found

    def _alone(self, part: int) -> LiveFile:
        return self.reading.seen(self.files.file(self.firsts.item(part)))

    def are_as_stored(self) -> bool:
        """Whether files are read as they are stored."""
        return self.reading.as_read is None and not self.files.live.vectors

    @property
    def units(self) -> Iterator[KeyedSection]:
        """The sections of all parts."""
        return (one for part in range(len(self)) for one in self.sections_of(part))

    def among(self, only: Units) -> ScanParts:
        """The parts of a range of all units."""
        counts = np.ones(len(self), dtype=np.int64)
        for part, found in self.sections.items():
            counts[part] = len(found)
        ends = np.cumsum(counts)
        last = int(ends[-1]) if len(ends) else 0
        wanted = range(last)[only.first : only.end]
        start, stop = wanted.start, max(wanted.stop, wanted.start)
        parts = np.flatnonzero((ends > start) & (ends - counts < stop))
        cut = {}
        for place, part in enumerate(parts.tolist()):
            if part in self.sections:
                begin = int(ends[part] - counts[part])
                cut[place] = self.sections[part][max(start - begin, 0) : stop - begin]
        return replace(self, firsts=self.firsts[parts], sections=cut)

    def less(self, lack: Callable[[Sequence[LiveFile]], Collection[str]]) -> ScanParts:
        """The parts less the files that are sections by themselves and whose names `lack` gives, of
        those that may have an index.
        """
        alone = np.flatnonzero(self._is_alone)
        alone = alone[self.files.may_have_index(self.firsts[alone])]
        files = list(map(self._alone, alone.tolist()))
        every = self.sections.values()
        ones = [one[0] for sections in every for one in sections if len(one) == 1]
        gone = set(lack([*files, *ones]))
        if not gone:
            return self
        left = {
            part: [one for one in sections if len(one) > 1 or one[0].name not in gone]
            for part, sections in self.sections.items()
        }
        is_kept = np.ones(len(self), dtype=bool)
        is_kept[alone] = [file.name not in gone for file in files]
        is_kept[list(left)] = list(map(bool, left.values()))
        numbers = np.cumsum(is_kept) - 1
        sections = {numbers.item(part): found for part, found in left.items() if found}
        return replace(self, firsts=self.firsts[is_kept], sections=sections)

    @property
    def sizes_alone(self) -> Numbers:
        """The bytes of the file of each part that is a file by itself."""
        return self.files.sizes[self.firsts]

    @property
    def sizes(self) -> Numbers:
        """The bytes of all files."""
        held = [file.size for file in self._held]
        return np.concatenate((self.sizes_alone[self._is_alone], np.array(held, dtype=np.int64)))

    @property
    def rows(self) -> int:
        """The rows of all files."""
        alone = int(self.files.rows[self.firsts[self._is_alone]].sum())
        return alone + sum(file.rows for file in self._held)

    def takes_nothing_back(self) -> bool:
        """Whether no file holds -U, -D or marks, if its writer counted right."""
        is_sound = all(file.delete_rows == 0 and not file.is_marked for file in self._held)
        alone = self.firsts[self._is_alone]
        return is_sound and takes_nothing_back(self.files, alone, (MARKED_SUFFIX,))

    @property
    def _held(self) -> Iterator[LiveFile]:
        every = self.sections.values()
        return (file for sections in every for section in sections for file in section)

    @property
    def _is_alone(self) -> Numbers:
        found = np.ones(len(self), dtype=bool)
        found[list(self.sections)] = False
        return found


def _sections(
    reading: Reading, files: FileColumns, places: Numbers, numbers: Numbers
) -> dict[int, list[KeyedSection]]:
    """The sections of the buckets of these files, by the numbers of their places. Files are looked
    at in the order of their manifests, which might be decompressed again for each bucket.
    """
    held: dict[int, list[LiveFile]] = {}
    every = list(map(reading.seen, files.files(numbers)))
    decode_keys(every)
    for place, file in zip(places[numbers].tolist(), every, strict=True):
        held.setdefault(place, []).append(file)
    found = {place: reading.divided(of_place) for place, of_place in held.items()}
    if reading.lone is None:
        return found
    alone = {id(one[0]) for sections in found.values() for one in sections if len(one) == 1}
    gone = {id(file) for file in every if id(file) in alone and not reading.lone(file)}
    return {
        place: [one for one in sections if len(one) > 1 or id(one[0]) not in gone]
        for place, sections in found.items()
    }
