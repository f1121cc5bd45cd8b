"""From a table and the filters of a query to the splits Spark reads (driver side).

Files are left out before anything is merged; what stays is cut, bucket by bucket, into sections of
overlapping keys, and sections are packed into splits of about `source.split.target-size`. A
section larger than that is cut by key range, so that parallelism does not end at the number of
buckets.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from keyfold import types
from keyfold.journey import Json, ScanSpec, SchemaColumns, Split
from keyfold.layout import TableLayout
from keyfold.options import TableOptions, parse
from keyfold.read.cuts import cuts
from keyfold.read.files import store_of
from keyfold.read.paths import bucket_path
from keyfold.read.prune import Pruning, pruning
from keyfold.read.sections import KeyedFile, runs, sections
from keyfold.storage.entries import LiveFile, partition_batch
from keyfold.storage.table import Table

MOST_FOOTERS = 64
_OPTIONS = ("source.split.target-size", "source.split.open-file-cost")


@dataclass(frozen=True)
class ScanReport:
    """What planning found: rows and bytes of the files to read (before merging), and what was
    pushed.
    """

    rows: int
    bytes: int
    pushed: list[str]
    files_total: int
    files_read: int
    snapshot: int | None


def plan(
    table: Table,
    columns: Sequence[str],
    filters: Sequence[Json],
    limit: int | None,
    options: Mapping[str, str],
) -> tuple[ScanSpec, list[Split], ScanReport]:
    """The scan of a table's snapshot. All `filters` (predicate JSON) must hold; they need checking
    again on the rows. `options` may override the split sizes.
    """
    layout = table.layout
    overridden = {name: options[name] for name in _OPTIONS if name in options}
    settings = parse(replace(layout, options={**layout.options, **overridden}))
    chosen = pruning(layout, settings, filters)
    total = table.live_files()
    files = files_to_read(table, chosen)
    splits = list(_splits(layout, settings, files))
    scan = ScanSpec(
        layout, tuple(columns), schemas_of(table, files), limit, chosen.by_key, chosen.by_value
    )
    report = ScanReport(
        rows=sum(file.rows for file in files),
        bytes=sum(file.size for file in files),
        pushed=chosen.pushed,
        files_total=len(total),
        files_read=len(files),
        snapshot=table.snapshot_id,
    )
    return scan, splits, report


def files_to_read(table: Table, chosen: Pruning) -> list[LiveFile]:
    """The files of the table's snapshot that may hold rows of interest."""
    by_partition = chosen.keeps_partition if chosen.by_partition else None
    files = table.live_files(partition_filter=by_partition, bucket_filter=chosen.bucket_filter)
    if not chosen.by_key:
        return files
    return [file for file in files if _is_kept(chosen, file)]


def _is_kept(chosen: Pruning, file: LiveFile) -> bool:
    return chosen.keeps_file(file.partition, file.min_key, file.max_key, lambda: file.key_stats)


def schemas_of(table: Table, files: Iterable[LiveFile]) -> dict[int, SchemaColumns]:
    """The columns of each older schema that the files were written under."""
    older = {file.schema_id for file in files} - {table.layout.schema_id}
    return {number: _schema_columns(table.schema(number)) for number in sorted(older)}


def _schema_columns(layout: TableLayout) -> SchemaColumns:
    return tuple((c.id, c.name, types.to_paimon(c.type)) for c in layout.columns)


def _splits(
    layout: TableLayout, settings: TableOptions, files: Iterable[LiveFile]
) -> Iterator[Split]:
    by_place: dict[tuple[tuple[Any, ...], int], list[LiveFile]] = {}
    for file in files:
        by_place.setdefault((file.partition, file.bucket), []).append(file)
    footers = MOST_FOOTERS
    for (values, bucket), found in sorted(by_place.items(), key=lambda item: str(item[0][0])):
        partition = partition_batch(layout, values)
        whole = Split(partition, bucket, bucket_path(layout, partition, bucket), ())
        files_of_bucket = [keyed(file, settings) for file in found]
        for packed in _packed(sections(files_of_bucket), settings):
            parts = _parts(layout, settings, whole, packed, footers > 0)
            footers -= len(parts) > 1
            yield from parts


def _parts(
    layout: TableLayout,
    settings: TableOptions,
    whole: Split,
    packed: Sequence[Sequence[KeyedFile]],
    may_cut: bool,
) -> list[Split]:
    """The splits of some sections: one, or for a single large section one a key range."""
    split = replace(whole, sections=tuple(runs(section) for section in packed))
    # Every piece opens every run: what opening costs is no reason to cut, only bytes are.
    size = sum(file.size for file in split.files)
    pieces = math.ceil(size / settings.split_target_size) if may_cut and len(packed) == 1 else 1
    if pieces < 2:
        return [split]
    ends = cuts(layout, store_of(whole.path, layout.options), whole.path, packed[0], pieces)
    return [
        replace(split, after=after, until=until)
        for after, until in zip([None, *ends], [*ends, None], strict=True)
    ]


def _packed(
    found: Sequence[Sequence[KeyedFile]], settings: TableOptions
) -> Iterator[list[Sequence[KeyedFile]]]:
    """Neighbouring sections together as long as they stay below the target size."""
    held: list[Sequence[KeyedFile]] = []
    size = 0
    for section in found:
        weight = _weight(section, settings)
        if held and size + weight > settings.split_target_size:
            yield held
            held, size = [], 0
        held.append(section)
        size += weight
    if held:
        yield held


def _weight(section: Sequence[KeyedFile], settings: TableOptions) -> int:
    return sum(max(keyed.file.size, settings.split_open_file_cost) for keyed in section)


def keyed(file: LiveFile, settings: TableOptions) -> KeyedFile:
    """The file as sections see it."""
    stored = file.data_file(is_ordered_by_snapshot=settings.snapshot_ordering)
    return KeyedFile(stored, file.first, file.last, file.max_key)
