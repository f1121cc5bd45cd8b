"""From a table and the filters of a query to the splits Spark reads (driver side).

Files are left out before anything is merged. The others are cut, bucket by bucket, into sections of
overlapping keys, which become tasks (splits.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from keyfold.files.column_mapping import bounds, check_types
from keyfold.files.sections import sections
from keyfold.options import TableOptions, parse
from keyfold.options.calls import OF_READS, READ_OPTIMIZED, value
from keyfold.options.values import boolean
from keyfold.predicates.condition import undecided
from keyfold.predicates.prune import Pruning, pruning
from keyfold.read.folds import footer_facts, without_merge
from keyfold.read.provenance import divided
from keyfold.read.splits import KeyedSection, Splitting, Task, task_size, tasks
from keyfold.storage.metadata.entries import LiveFile, Place, by_place
from keyfold.storage.table import Table, reads_files
from keyfold.types import paimon as paimon_types
from keyfold.wire.layout import TableLayout
from keyfold.wire.predicates import Predicate
from keyfold.wire.specs import Aggregate, ScanSpec, SchemaColumns, Split


@dataclass(frozen=True)
class ScanReport:
    """The findings of planning: rows and bytes of the files to read (before merging), and the
    predicates that were pushed. `unmerged`: records are folded to groups without a merge.
    """

    rows: int
    bytes: int
    pushed: list[str]
    files_total: int
    files_read: int
    snapshot: int | None
    unmerged: bool


@dataclass(frozen=True)
class Units:
    """A range of `units`: the first, the one after the last (None: all that follow), and the least
    level of their files.
    """

    first: int
    end: int | None
    least_level: int


@reads_files
def plan(
    table: Table,
    columns: Sequence[str],
    filters: Sequence[Predicate],
    limit: int | None,
    options: Mapping[str, str],
    *,
    cores: int = 1,
    enforced: Sequence[Predicate] = (),
    aggregate: Aggregate | None = None,
    is_top: bool = False,
    only: Units | None = None,
) -> tuple[ScanSpec, list[Task], ScanReport]:
    """The scan of a table's snapshot, and the splits of each of its tasks. `columns` may name
    metadata columns, which come after the others. All `filters` must hold;
    Spark has to check them again, except those in `enforced`. `options` may override the split
    sizes and whether checksums are compared; `cores` read at once. The option `read-optimized`
    leaves out all but the highest level, as Paimon's `t$ro` does: then nothing is merged, and rows
    are as old as the last full compaction. With `is_top` each split returns its first `limit` rows.
    `only` are some of its `units`, which the range of them says.
    """
    layout = table.layout
    overridden = {name: options[name] for name in OF_READS if name in options}
    settings = parse(replace(layout, options={**layout.options, **overridden}))
    assert undecided(layout, enforced) is None, "a condition that Spark checks no more"
    chosen = pruning(layout, settings, filters)
    files = _asked_for(files_to_read(table, chosen), settings, layout, options, only)
    places = _some(list(_sections(table, settings, chosen, files)), only)
    read = [file for _, found in places for section in found for file in section]
    unmerged = aggregate is not None and _is_unmerged(layout, aggregate, read)
    # of a section whose first rows are asked for, only the first piece would be of use
    cuts = _never if is_top else _cuts(layout, aggregate, unmerged)
    how = Splitting(layout, settings, task_size(settings, read, cores), chosen.by_key, cuts)
    found = list(tasks(how, places))
    if aggregate is not None and not aggregate.by and not found:
        found = [(Split(None, 0, layout.location, ()),)]  # one row that sums up no rows
    own, metadata = divided(layout, columns)
    scan = ScanSpec(
        layout=layout,
        columns=own,
        metadata=metadata,
        schemas=schemas_of(table, files),
        limit=limit,
        is_top=is_top,
        key_filter=chosen.by_key,
        value_filter=chosen.by_value,
        aggregate=aggregate,
        verify=settings.verify_files,
        **table.named_by,
    )
    report = ScanReport(
        rows=sum(file.rows for file in read),
        bytes=sum(file.size for file in read),
        pushed=chosen.pushed,
        files_total=len(table.live_files()),
        files_read=len(read),
        snapshot=table.snapshot_id,
        unmerged=unmerged,
    )
    return scan, found, report


def units(table: Table, least_level: int = 0) -> list[KeyedSection]:
    """The parts of a table's snapshot that can be read one after another, each whole: sections, in
    an order that the snapshot alone decides. Files below `least_level` are left out.
    """
    chosen = pruning(table.layout, table.options, ())
    files = [file for file in table.live_files() if file.level >= least_level]
    places = _sections(table, table.options, chosen, files)
    return [unit for _, unit in _units(places)]


def _some(
    places: list[tuple[Place, list[KeyedSection]]], only: Units | None
) -> list[tuple[Place, list[KeyedSection]]]:
    """The places that are left if only some units are read."""
    if only is None:
        return places
    return [(place, [unit]) for place, unit in _units(places)[only.first : only.end]]


def _units(places: Iterable[tuple[Place, list[KeyedSection]]]) -> list[tuple[Place, KeyedSection]]:
    return [(place, unit) for place, found in places for unit in found]


def _asked_for(
    files: list[LiveFile],
    settings: TableOptions,
    layout: TableLayout,
    options: Mapping[str, str],
    only: Units | None,
) -> list[LiveFile]:
    if only is not None:
        files = [file for file in files if file.level >= only.least_level]
    doing = f"reading table {layout.name}"
    is_optimized = value(doing, options, READ_OPTIMIZED, boolean)
    least = settings.highest_level if is_optimized else 0
    return [file for file in files if file.level >= least]


def _is_unmerged(layout: TableLayout, aggregate: Aggregate, files: Iterable[LiveFile]) -> bool:
    """Whether the records of files fold to groups without a merge."""
    foldable = without_merge.may_be_folded(layout, aggregate)
    return foldable and all(map(_takes_nothing_back, files))


def _cuts(
    layout: TableLayout, aggregate: Aggregate | None, unmerged: bool
) -> Callable[[KeyedSection], bool]:
    """The sections that may be cut."""
    if layout.key and aggregate is not None and footer_facts.answers(layout, aggregate):
        return _never if unmerged else _is_merged
    return bool if layout.key else _is_merged


def _is_merged(section: KeyedSection) -> bool:
    """Whether a section has to be read even if footers have what is asked for."""
    return len(section) > 1


def _never(section: KeyedSection) -> bool:
    return False


def _takes_nothing_back(file: LiveFile) -> bool:
    """Whether a file holds no -U, no -D and no marks, if its writer counted right."""
    return file.delete_rows == 0 and not file.is_marked


def files_to_read(table: Table, chosen: Pruning) -> list[LiveFile]:
    """The files of the table's snapshot that may hold rows of interest."""
    by_partition = chosen.keeps_partition if chosen.by_partition else None
    files = table.live_files(None, by_partition, chosen.bucket_filter)
    if not chosen.by_key:
        return files
    return [file for file in files if _is_kept(chosen, file)]


def _is_kept(chosen: Pruning, file: LiveFile) -> bool:
    return chosen.keeps_file(file.partition, file.min_key, file.max_key, lambda: file.key_stats)


def schemas_of(table: Table, files: Iterable[LiveFile]) -> dict[int, SchemaColumns]:
    """The columns of each older schema that the files were written under. Raises NotSupportedError
    if their values can't be converted to the types of today.
    """
    older = {file.schema_id for file in files} - {table.layout.schema_id}
    found = {number: table.schema(number) for number in sorted(older)}
    for stored in found.values():
        check_types(table.layout, stored)
    return {number: schema_columns(stored) for number, stored in found.items()}


def schema_columns(layout: TableLayout) -> SchemaColumns:
    """The columns of a schema, as scans have them."""
    return tuple((c.id, c.name, paimon_types.to_paimon(c.type)) for c in layout.columns)


def _sections(
    table: Table, settings: TableOptions, chosen: Pruning, files: Iterable[LiveFile]
) -> Iterator[tuple[Place, list[KeyedSection]]]:
    """The sections of each bucket that may hold rows of interest."""
    lone = _lone_filter(table, chosen)
    for place, found in sorted(by_place(files).items(), key=lambda item: str(item[0][0])):
        as_read = [file.as_read(settings) for file in found]
        # Without a key nothing overlaps: every row of every file is a result.
        everything = sections(as_read) if table.layout.key else [(f,) for f in as_read]
        kept = [section for section in everything if len(section) > 1 or lone(section[0])]
        if kept:
            yield place, kept


def _lone_filter(table: Table, chosen: Pruning) -> Callable[[LiveFile], bool]:
    """Whether a file that no other overlaps may hold rows that pass the value filters. The rows of
    such a file are results.
    """
    if not chosen.by_value:
        return lambda _: True

    def keeps(file: LiveFile) -> bool:
        if file.is_marked:
            return True
        stored = table.schema(file.schema_id)
        return chosen.keeps_values(bounds(table.layout, stored, file.value_stats(stored)))

    return keeps
