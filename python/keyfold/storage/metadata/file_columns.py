"""Columns of the files that a plan is about, which stay entries of their manifests until their
tasks are sent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from json.encoder import encode_basestring as quoted

import numpy as np

from keyfold.storage.metadata import entry_columns as at
from keyfold.storage.metadata.entries import LiveFile, Place
from keyfold.storage.metadata.live_files import LiveFiles
from keyfold.storage.metadata.manifest_columns import Numbers
from keyfold.storage.metadata.partition_bounds import Partition

_SENT = at.SIZE, at.ROWS, at.DELETES, at.FIRST_SEQUENCE, at.LAST_SEQUENCE, at.SCHEMA, at.LEVEL
_FILE = "[%s,%s,%s,%s,%s,%s,%s,%s]"


@dataclass(frozen=True, eq=False)
class FileColumns:
    """Files in their order: the `entries` of manifests, of which `sources` has the places; the
    partition of each is a code, its place in `partitions`.
    """

    live: LiveFiles
    sources: Numbers
    entries: Numbers
    partitions: tuple[Partition, ...]
    codes: Numbers
    buckets: Numbers
    sizes: Numbers
    rows: Numbers

    @staticmethod
    def of(live: LiveFiles) -> FileColumns:
        """The columns of some files."""
        known: dict[Partition, int] = {}
        parts: list[list[Numbers]] = [[np.empty(0, dtype=np.int64)] for _ in range(6)]
        for place, (one, entries) in enumerate(live.parts()):
            own = [known.setdefault(values, len(known)) for values in one.partitions]
            parts[0].append(np.full(len(entries), place, dtype=np.int32))
            parts[1].append(entries)
            parts[2].append(np.array(own, dtype=np.int32)[one.codes[entries]])
            for column, number in enumerate((at.BUCKET, at.SIZE, at.ROWS), 3):
                parts[column].append(one.numbers[number][entries].astype(np.int64))
        sources, entries, codes, *numbers = map(np.concatenate, parts)
        return FileColumns(live, sources, entries, tuple(known), codes, *numbers)

    def __len__(self) -> int:
        return len(self.entries)

    def place(self, number: int) -> Place:
        """The partition and the bucket of a file."""
        return self.partitions[self.codes.item(number)], self.buckets.item(number)

    def file(self, number: int) -> LiveFile:
        """One file as an object, which is not kept."""
        manifest = self.live.manifests[self.sources.item(number)]
        return self.live.marked(manifest.file(self.entries.item(number)))

    def files(self, numbers: Numbers) -> list[LiveFile]:
        """Some files as objects; `numbers` are in order."""
        found: list[LiveFile] = []
        ends = np.flatnonzero(np.diff(self.sources[numbers])) + 1
        for some in np.split(numbers, ends) if len(numbers) else ():
            manifest = self.live.manifests[self.sources.item(some[0])]
            found += map(self.live.marked, manifest.files(self.entries[some].tolist()))
        return found

    def texts(self, numbers: Numbers) -> list[str]:
        """Some files as JSON, as a `DataFile` without deletion vector travels."""
        found, sources = [""] * len(numbers), self.sources[numbers]
        for source in np.unique(sources).tolist():
            spots = np.flatnonzero(sources == source)
            one, entries = self.live.manifests[source], self.entries[numbers[spots]]
            fields = [one.numbers[number][entries].tolist() for number in _SENT]
            for row in np.flatnonzero(one.lacks_deletes[entries]).tolist():
                fields[_SENT.index(at.DELETES)][row] = "null"
            names = map(quoted, one.names_at(entries))
            made = map(_FILE.__mod__, zip(names, *fields, strict=True))
            for spot, text in zip(spots.tolist(), made, strict=True):
                found[spot] = text
        return found

    @property
    def places(self) -> tuple[Numbers, Numbers]:
        """The bucket of each file as a number, and the numbers in the order in which plans have
        their buckets: by the text of the partition, then as their first files came.
        """
        words = (self.codes.astype(np.int64) << 32) + self.buckets
        _, firsts, places = np.unique(words, return_index=True, return_inverse=True)
        texts = list(map(str, self.partitions))
        ranks = {text: rank for rank, text in enumerate(sorted(set(texts)))}
        by_code = np.array([ranks[text] for text in texts], dtype=np.int64)
        order = np.lexsort((firsts, by_code[self.codes[firsts]]))
        numbers = np.empty(len(order), dtype=np.int64)
        numbers[order] = np.arange(len(order))
        return numbers[places], firsts[order]


def takes_nothing_back(columns: FileColumns, numbers: Numbers, marked: Sequence[str]) -> bool:
    """Whether some files hold no -U and no -D, if their writers counted right, and none of their
    names ends as `marked` ones do.
    """
    for place, one in enumerate(columns.live.manifests):
        entries = columns.entries[numbers[columns.sources[numbers] == place]]
        is_odd = one.lacks_deletes | (one.numbers[at.DELETES] != 0)
        if is_odd[entries].any() or (len(entries) and one.ends_in(marked)[entries].any()):
            return False
    return True
