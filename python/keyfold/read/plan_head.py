"""The part of planning that scans, changes and look-ups share (driver side): the options of the
read, the filters by what they leave out, the files that are left and the schemas of these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from keyfold.files.column_mapping import check_types
from keyfold.merge.plan import check_mergeable
from keyfold.options.calls import OF_READS
from keyfold.options.declared import TableOptions
from keyfold.options.parsing import parse
from keyfold.predicates.condition import undecided
from keyfold.predicates.prune import Pruning, pruning
from keyfold.read.request import ReadRequest
from keyfold.read.splits import KeyedSection, Splitting, task_size
from keyfold.storage.metadata.entries import LiveFile
from keyfold.storage.table import Table
from keyfold.types import paimon as paimon_types
from keyfold.wire.layout import TableLayout
from keyfold.wire.specs import ScanSpec, SchemaColumns


@dataclass(frozen=True)
class PlanHead:
    """The head of a plan. `settings` are the table's options as the read sets them, `chosen` the
    filters of the request.
    """

    table: Table
    request: ReadRequest
    settings: TableOptions
    chosen: Pruning

    @staticmethod
    def of(table: Table, request: ReadRequest) -> PlanHead:
        """The head of the plan of a request."""
        layout = table.layout
        assert undecided(layout, request.enforced) is None, "a condition that Spark checks no more"
        given = {name: text for name, text in request.options.items() if name in OF_READS}
        settings = parse(replace(layout, options={**layout.options, **given}))
        return PlanHead(table, request, settings, pruning(layout, settings, request.filters))

    def files(self) -> list[LiveFile]:
        """The files of the table's snapshot that may hold rows of interest."""
        chosen = self.chosen
        by_partition = chosen.keeps_partition if chosen.by_partition else None
        files = self.table.live_files(None, by_partition, chosen.bucket_filter)
        return [file for file in files if not chosen.by_key or _is_kept(chosen, file)]

    def splitting(
        self, files: Iterable[LiveFile], may_cut: Callable[[KeyedSection], bool] = bool
    ) -> Splitting:
        """The rules by which a read of these files is split."""
        size = task_size(self.settings, files, self.request.cores)
        return Splitting(self.table.layout, self.settings, size, self.chosen.by_key, may_cut)

    def scan(self, columns: tuple[str, ...], files: Iterable[LiveFile]) -> ScanSpec:
        """The scan that reads these columns of files. Refuses what the tasks of this session could
        not merge (`check_mergeable`).
        """
        layout, schemas = self.table.layout, schemas_of(self.table, files)
        check_mergeable(layout, columns)
        is_verified = self.settings.verify_files
        return ScanSpec(layout, columns, schemas, key_filter=self.chosen.by_key, verify=is_verified)


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
