"""The changelog files of an overwrite: what differs between the rows that the changelog has told
and those that stay. The driver writes them before the commit, which alone knows what it replaces.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain, groupby

from keyfold.changelog.changed_rows import compared
from keyfold.changelog.parts import compared_parts, cut
from keyfold.changelog.specs import ChangeSplit
from keyfold.changelog.steps import unshared
from keyfold.errors import UnknownOutcomeError
from keyfold.options.changelogs import NONE, told_from
from keyfold.predicates.prune import pruning
from keyfold.read.plan_head import schemas_of
from keyfold.read.splits import Splitting, task_size
from keyfold.storage.commits.commit import Partitions, Tells, truncate
from keyfold.storage.maintenance.due import followed
from keyfold.storage.metadata.entries import LiveFile, identifier
from keyfold.storage.table import Table
from keyfold.wire.specs import CommitMessage, ScanSpec
from keyfold.write.changelog import changelog_target
from keyfold.write.job import Job
from keyfold.write.parquet import write_files


def truncated(table: Table, partitions: Partitions = "all") -> int | None:
    """Remove all rows, or those of `partitions`. Returns the snapshot's id, None if there were
    none.
    """
    with telling(table) as tells:
        return followed(table, truncate(table, partitions, tells))


@contextmanager
def telling(table: Table) -> Iterator[Tells | None]:
    """The function that tells the changes of an overwrite; None if the table has no changelog.
    After an error its files are gone.
    """
    if table.options.changelog_producer == NONE:
        yield None
        return
    found = _Overwritten(table)
    try:
        yield found
    except UnknownOutcomeError:
        raise
    except BaseException:
        found.job.remove()
        raise


class _Overwritten:
    """The changes of one overwrite. An attempt to commit that has other files than the one before
    tells them anew.
    """

    def __init__(self, table: Table) -> None:
        self.job = Job(table.layout)
        self._table = table
        self._seen: Collection[object] = ()

    def __call__(
        self, before: Sequence[LiveFile], after: Sequence[LiveFile]
    ) -> Sequence[CommitMessage]:
        changed = list(unshared(before, after))
        seen = frozenset(identifier(file.record) for file in changed)
        if seen != self._seen:
            self.job.remove()
            self.job.messages.clear()
            self._seen = seen
            self._tell(before, after, changed)
        return self.job.messages

    def _tell(
        self, before: Sequence[LiveFile], after: Sequence[LiveFile], changed: Sequence[LiveFile]
    ) -> None:
        table, layout, options = self._table, self._table.layout, self._table.options
        touched = [(0, file) for file in changed]
        all_keys = pruning(layout, options, ())
        parts = list(
            compared_parts(
                layout, options, 0, (before, after), touched, told_from(options), all_keys
            )
        )
        files = [file for part in parts for file in part.files]
        how = Splitting(layout, options, task_size(options, files, 1))
        names = tuple(layout.arrow_schema.names)
        scan = ScanSpec(layout, names, schemas_of(table, files), verify=options.verify_files)
        scan = replace(scan, snapshot=table.snapshot_id)
        number = max((file.max_sequence for file in files), default=0)
        # By bucket; a path does not name one, as NULL and blank texts are stored in one folder.
        for _, of_place in groupby(parts, lambda part: id(part.base)):
            splits = [split for part in of_place for split, _ in cut(how, part, is_net=False)]
            self._write(scan, splits, number)

    def _write(self, scan: ScanSpec, splits: Sequence[ChangeSplit], number: int) -> None:
        """The changes of a bucket as its files; those of all buckets as files of the first."""
        place, options = splits[0].after, self._table.options
        directory = place.partition.bucket_folder(scan.layout, place.bucket)
        target = changelog_target(scan.layout, options, 0)
        found = chain.from_iterable(compared(scan, split) for split in splits)
        files = tuple(write_files(target, directory, found, number))
        message = CommitMessage(place.partition, place.bucket, options.bucket, (), files)
        self.job.messages.append(message)
