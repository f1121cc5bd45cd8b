"""Columns of the files that a plan is about, which stay entries of their manifests until their
tasks are sent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from keyfold.storage.metadata import entry_columns as at
from keyfold.storage.metadata.entries import LiveFile, Place
from keyfold.storage.metadata.live_files import LiveFiles
from keyfold.storage.metadata.manifest_columns import Numbers, joined
from keyfold.storage.metadata.partition_bounds import Partition

_SENT = at.SIZE, at.ROWS, at.DELETES, at.FIRST_SEQUENCE, at.LAST_SEQUENCE, at.SCHEMA, at.LEVEL


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

    def may_have_index(self, numbers: Numbers) -> Numbers:
        """Which of some files may have an index."""
        found, sources = np.zeros(len(numbers), dtype=bool), self.sources[numbers]
        for source in np.unique(sources).tolist():
            of = sources == source
            found[of] = self.live.manifests[source].more[self.entries[numbers[of]]]
        return found

    def texts(self, numbers: Numbers) -> pa.Array:
        """Some files as JSON, as a `DataFile` without deletion vector travels."""
        spots, made = [np.empty(0, dtype=np.int64)], [pa.array([], pa.string())]
        sources = self.sources[numbers]
        for source in np.unique(sources).tolist():
            spots.append(np.flatnonzero(sources == source))
            one, entries = self.live.manifests[source], self.entries[numbers[spots[-1]]]
            fields = [pa.array(one.numbers[number][entries]).cast(pa.string()) for number in _SENT]
            if one.lacks_deletes[entries].any():
                place = _SENT.index(at.DELETES)
                lacks = pa.array(one.lacks_deletes[entries])
                fields[place] = pc.if_else(lacks, "null", fields[place])
            made.append(pc.binary_join_element_wise(one.quoted_names(entries), *fields, ","))
        order = np.argsort(np.concatenate(spots), kind="stable")
        return joined("[", pa.concat_arrays(made).take(pa.array(order)), "]")

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
