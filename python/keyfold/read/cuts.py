"""Where a section too large for one read task is cut by key.

Ends of files of the longest run, or, where those are too few, of row groups (a footer read on the
driver, so only for few sections) are the quantiles. A cut is a key, or a leading part of one, that
closes a piece.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from keyfold.layout import TableLayout
from keyfold.read.files import Store, open_input
from keyfold.read.literals import arrow_array
from keyfold.read.sections import KeyedFile
from keyfold.read.statistics import leaf_positions, manifest_bounds
from keyfold.types import Atomic

Ends = list[tuple[pa.RecordBatch, int]]


def cuts(
    layout: TableLayout, store: Store, directory: str, section: Sequence[KeyedFile], pieces: int
) -> list[pa.RecordBatch]:
    """At most `pieces - 1` one-row batches of leading key columns, ascending; [] if none can be
    found.
    """
    leader = _longest_run(section)
    ends = list(_file_ends(layout, leader))
    if len(ends) < 2 * pieces:
        ends = [end for file in leader for end in _group_ends(layout, store, directory, file)]
    return _quantiles(ends, pieces)


def _longest_run(section: Sequence[KeyedFile]) -> list[KeyedFile]:
    """The disjoint files of most bytes, in key order, that share a level or a job."""
    by_origin: dict[tuple[int, int], list[KeyedFile]] = {}
    for file in section:
        number = 0 if file.file.level else file.file.max_sequence
        by_origin.setdefault((file.file.level, number), []).append(file)
    longest = max(by_origin.values(), key=lambda files: sum(f.file.size for f in files))
    return sorted(longest, key=lambda f: f.first)


def _file_ends(
    layout: TableLayout, files: Sequence[KeyedFile]
) -> Iterator[tuple[pa.RecordBatch, int]]:
    for file in files:
        arrays = [
            arrow_array([value], layout.column(name).type)
            for name, value in zip(layout.key, file.last_key, strict=True)
        ]
        yield pa.RecordBatch.from_arrays(arrays, names=list(layout.key)), file.file.rows


def _group_ends(
    layout: TableLayout, store: Store, directory: str, file: KeyedFile
) -> Iterator[tuple[pa.RecordBatch, int]]:
    """The greatest value of the leading key column of each row group."""
    lead = layout.column(layout.key[0])
    if file.file.schema_id != layout.schema_id or not isinstance(lead.type, Atomic):
        return
    with open_input(store, f"{directory}/{file.file.name}") as source:
        metadata = pq.read_metadata(source)
    place = leaf_positions(metadata).get(lead.name)
    if place is None:
        return
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        bounds = manifest_bounds(group.column(place), lead.type)
        if bounds is not None:
            end = arrow_array([bounds[1]], lead.type)
            yield pa.RecordBatch.from_arrays([end], names=[lead.name]), group.num_rows


def _quantiles(ends: Ends, pieces: int) -> list[pa.RecordBatch]:
    total, seen = sum(rows for _, rows in ends), 0
    found: list[pa.RecordBatch] = []
    for end, rows in ends:
        if end.equals(ends[-1][0]):
            break  # nothing lies above it
        seen += rows
        is_due = seen * pieces >= total * (len(found) + 1)
        if is_due and len(found) < pieces - 1 and not (found and found[-1].equals(end)):
            found.append(end)
    return found
