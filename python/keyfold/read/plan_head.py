"""The part of planning that scans, changes and look-ups share (driver side): the options of the
read, the filters by what they leave out and the files that are left.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from keyfold.merge.plan import check_mergeable
from keyfold.options.calls import OF_READS
from keyfold.options.declared import TableOptions
from keyfold.options.parsing import parse
from keyfold.predicates.condition import undecided
from keyfold.predicates.prune import Pruning, pruning
from keyfold.read.request import ReadRequest
from keyfold.read.splits import Splitting, task_size, whole_size
from keyfold.storage.metadata.entries import LiveFile
from keyfold.storage.metadata.live_files import Asked, LiveFiles
from keyfold.storage.metadata.manifest_columns import Numbers
from keyfold.storage.metadata.partition_bounds import Partition, PartitionBounds
from keyfold.storage.table import Table
from keyfold.wire.specs import ScanSpec


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
        names = None if request.aggregate is None else layout.arrow_schema.names
        left = undecided(layout, request.enforced, names)
        assert left is None, "a condition that Spark checks no more"
        asked = {name: text for name, text in request.options.items() if name in OF_READS}
        settings = parse(replace(layout, options={**layout.options, **asked}))
        return PlanHead(table, request, settings, pruning(layout, settings, request.filters))

    @property
    def has_vectors(self) -> bool:
        """Whether compactions mark the rows that newer ones replace, so that none needs a merge."""
        return bool(self.table.layout.key) and self.settings.has_vectors

    @property
    def least_level(self) -> int:
        """The least level of files that are read: rows of level 0 have marked none yet. A call of a
        transaction sees those of the calls before it.
        """
        if self.request.only is not None:
            return self.request.only.least_level
        merges = self.settings.vectors_merge_on_read or self.table.staged is not None
        return int(self.has_vectors and not merges)

    def live(
        self, partitions: Collection[Partition] | None = None, least_level: int = 0
    ) -> tuple[LiveFiles, int]:
        """The files of the table's snapshot that may hold rows of interest, of these partitions and
        from this level if they are given, and the number of all.
        """
        chosen, least = self.chosen, max(self.least_level, least_level)
        asked = Asked(takes_bucket=chosen.bucket_filter, least_level=least)
        if partitions is not None:
            kept = [values for values in partitions if chosen.keeps_partition(values)]
            of_partitions = Asked.of_partitions(kept)
            asked = replace(asked, takes=of_partitions.takes, may_hold=of_partitions.may_hold)
        elif chosen.by_partition:
            may_hold = _by_bounds(chosen)
            asked = replace(asked, takes=chosen.keeps_partition, may_hold=may_hold)
        if self.request.within is not None:
            asked = asked.within(self.request.within)
        found, total = self.table.to_read(asked)
        return found.that(partial(_is_kept, chosen)) if chosen.by_key else found, total

    def splitting(self, sizes: Sequence[int] | Numbers, cut_from: float = 1) -> Splitting:
        """The rules by which a read of files of these sizes is split."""
        asked, by_key = (self.settings, sizes, self.request.cores), self.chosen.by_key
        # footers also say which row groups may hold keys of interest
        whole = 0 if by_key else whole_size(*asked)
        layout = self.table.layout
        return Splitting(layout, self.settings, task_size(*asked), by_key, cut_from, whole)

    def scan(self, columns: tuple[str, ...], files: Iterable[LiveFile]) -> ScanSpec:
        """The scan that reads these columns of files. Refuses what the tasks of this session could
        not merge (`check_mergeable`).
        """
        layout, schemas = self.table.layout, self.table.stored_schemas(files)
        check_mergeable(layout, columns)
        is_verified = self.settings.verify_files
        return ScanSpec(layout, columns, schemas, key_filter=self.chosen.by_key, verify=is_verified)


def _by_bounds(chosen: Pruning) -> Callable[[PartitionBounds], bool]:
    return lambda found: chosen.keeps_partitions(found.columns)


def _is_kept(chosen: Pruning, file: LiveFile) -> bool:
    return chosen.keeps_file(file.partition, file.min_key, file.max_key, lambda: file.key_stats)
