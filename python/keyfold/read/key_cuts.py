"""Cuts a section that is too large for one read task by key, without reading data.

The ends of files, or of row groups if those are too few, show how rows spread over the keys of all
runs. (Footers are read on the spot, so only those of the files that matter.) A cut is the key, or
a leading part of one, that closes a piece of about as many bytes as the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from keyfold.files import damage
from keyfold.files.column_mapping import StoredColumn
from keyfold.files.fetch import fetch_footers
from keyfold.files.footers import Footer, footer_of, has_footer
from keyfold.files.leaves import leaves_of
from keyfold.predicates.ranges import Ranges, ValueRange
from keyfold.predicates.statistics import ranges_of
from keyfold.storage.metadata.entries import LiveFile
from keyfold.stores.files import Files
from keyfold.stores.opened import store_of
from keyfold.types.literals import FLOATING, arrow_array
from keyfold.types.logical import Atomic, name_of
from keyfold.wire.layout import TableLayout
from keyfold.wire.specs import Split

ENDS_PER_PIECE = 4
MOST_FOOTERS = 64  # of one section: if more files matter, their ends are cuts enough
Keep = Callable[[Ranges], bool]


@dataclass(frozen=True)
class Stretch:
    """Some rows of one run: a file, or a row group. `end` has the values of leading key columns in
    its last key, as manifests hold them. `order` sorts ends.
    """

    end: tuple[Any, ...]
    order: tuple[Any, ...]
    bytes: int


def by_key(
    layout: TableLayout,
    split: Split,
    section: Sequence[LiveFile],
    pieces: int,
    stretches: Sequence[Stretch] | None = None,
) -> list[Split]:
    """The split, whose only section this is, as one split for each key range. There are at most
    `pieces`, or fewer if there are too few keys to cut at. `stretches` are those of the section, if
    the caller has them.
    """
    if pieces > 1 and stretches is None:
        store = store_of(layout.location, layout.store)
        stretches = stretches_of(layout, store, split.path, section, pieces)
    ends = [_batch(layout, end) for end in _quantiles(stretches or (), pieces)]
    ranges = zip([None, *ends], [*ends, None], strict=True)
    return [replace(split, after=after, until=until) for after, until in ranges]


def stretches_of(
    layout: TableLayout,
    store: Files,
    directory: str,
    section: Sequence[LiveFile],
    pieces: int,
    keep: Keep | None = None,
) -> list[Stretch]:
    """The stretches of a section, in key order. They are its files, or the row groups of a file
    that is large compared with a piece; only row groups that pass `keep` count.
    """
    most = sum(file.size for file in section) // max(pieces * ENDS_PER_PIECE, 1)
    by_size = sorted(section, key=lambda file: file.size, reverse=True)
    large = [file for file in by_size[:MOST_FOOTERS] if file.size > most]
    if not store.is_local:
        fetch_footers(store, {f"{directory}/{file.name}": file.size for file in large})
    found: list[Stretch] = []
    for place, file in enumerate(by_size):
        groups = None
        if place < len(large):
            groups = _of_groups(layout, store, f"{directory}/{file.name}", file, keep)
        found += [_of_file(layout, file)] if groups is None else groups
    return sorted(found, key=lambda stretch: stretch.order)


def _of_file(layout: TableLayout, file: LiveFile) -> Stretch:
    return Stretch(file.max_key, _order(file.last), file.size)


def _of_groups(
    layout: TableLayout, store: Files, path: str, file: LiveFile, keep: Keep | None
) -> list[Stretch] | None:
    """The row groups of a file that pass; None if their ends are not known."""
    names = layout.key
    if file.schema_id != layout.schema_id or not has_footer(path):
        return None
    if not all(isinstance(layout.column(name).type, Atomic) for name in names):
        return None
    footer = footer_of(store, path, file.size)
    columns = [layout.column(name) for name in names]
    with damage.decoding(path):
        known = group_ranges(footer, tuple(StoredColumn(c, c.name, c.type) for c in columns))
    sizes = [footer.metadata.row_group(at).total_byte_size for at in range(len(known))]
    share = file.size / max(sum(sizes), 1)
    found = []
    for ranges, size in zip(known, sizes, strict=True):
        end = highest(ranges, names)
        if not end:
            return None
        if keep is None or keep(ranges):
            found.append(Stretch(end, _order(_wrapped(layout, end)), int(size * share)))
    return found


def group_ranges(footer: Footer, sources: tuple[StoredColumn, ...]) -> list[dict[str, ValueRange]]:
    """The ranges of some columns, for each row group of a file."""
    metadata: pq.FileMetaData = footer.metadata

    def ranges() -> list[dict[str, ValueRange]]:
        leaves = leaves_of(metadata)
        groups = map(metadata.row_group, range(metadata.num_row_groups))
        return [ranges_of(group, leaves, sources) for group in groups]

    found: list[dict[str, ValueRange]] = footer.once(sources, ranges)
    return found


def highest(ranges: Ranges, names: Sequence[str]) -> tuple[Any, ...]:
    """The leading values of the last key of sorted rows, as far as ranges show them. A column after
    one that is not the same in all rows can have any value.
    """
    return tuple(_ends(ranges, names, is_last=True))


def lowest(ranges: Ranges, names: Sequence[str]) -> tuple[Any, ...]:
    """The leading values of the first key of sorted rows, if ranges show them; None means NULL."""
    return tuple(_ends(ranges, names, is_last=False))


def _ends(ranges: Ranges, names: Sequence[str], *, is_last: bool) -> Iterator[Any]:
    for name in names:
        found = ranges.get(name)
        if found is None or found.low is None or found.high is None or _is_floating(found):
            return
        if is_last:
            yield found.high
        else:
            yield None if found.may_hold_null else found.low
        if found.may_hold_null or found.low != found.high:
            return


def _is_floating(found: ValueRange) -> bool:
    return name_of(found.type) in FLOATING


def _wrapped(layout: TableLayout, values: Sequence[Any]) -> tuple[Any, ...]:
    """Values of leading key columns in the form of `LiveFile.first`."""
    columns = [layout.column(name) for name in layout.key]
    return tuple(
        ((value,) if value is not None else ()) if column.type.nullable else value
        for value, column in zip(values, columns, strict=False)
    )


def _order(values: Sequence[Any]) -> tuple[Any, ...]:
    """A form in which a leading part of a key sorts after all keys that begin with it."""
    return (*((0, value) for value in values), (1,))


def _quantiles(stretches: Sequence[Stretch], pieces: int) -> list[tuple[Any, ...]]:
    total, seen = sum(stretch.bytes for stretch in stretches), 0
    found: list[Stretch] = []
    for stretch in stretches:
        if stretch.order == stretches[-1].order:
            break  # no key is above it
        seen += stretch.bytes
        is_due = seen * pieces >= total * (len(found) + 1)
        if is_due and len(found) < pieces - 1 and not (found and found[-1].order == stretch.order):
            found.append(stretch)
    return [stretch.end for stretch in found]


def _batch(layout: TableLayout, end: Sequence[Any]) -> pa.RecordBatch:
    names = list(layout.key[: len(end)])
    arrays = [
        arrow_array([value], layout.column(name).type)
        for name, value in zip(names, end, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, names=names)
