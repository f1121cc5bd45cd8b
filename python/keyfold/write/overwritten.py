"""The changelog files of an overwrite: what differs between the rows that the changelog has shown
and those that stay. The commit, which alone knows what it replaces, answers between which files;
the driver writes the changelog of these, and commits again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import chain, groupby

from keyfold.changelog.changed_rows import compared
from keyfold.changelog.parts import compared_parts, cut
from keyfold.changelog.specs import ChangeSplit
from keyfold.changelog.steps import seen, unshared
from keyfold.errors import SnapshotExpiredError, UnknownOutcomeError
from keyfold.options.changelogs import NONE, changelog_level
from keyfold.predicates.prune import pruning
from keyfold.read.splits import Splitting, task_size
from keyfold.storage.commits.answers import Answer, Late, NeedsChangelog, UnseenKeys
from keyfold.storage.commits.commit import (
    Changelog,
    Partitions,
    truncate,
)
from keyfold.storage.commits.turns import tries
from keyfold.storage.maintenance.due import followed
from keyfold.storage.table import Table
from keyfold.wire.specs import CommitMessage, Epoch, ScanSpec
from keyfold.write.changelog import changelog_target
from keyfold.write.job import Job
from keyfold.write.parquet import write_files


def truncated(
    table: Table,
    partitions: Partitions = "all",
    epoch: Epoch | None = None,
    *,
    seen_only: bool = False,
) -> int | None:
    """Remove all rows, or those of `partitions`; with `seen_only` rows that wait for their buckets
    stay. Returns the snapshot's id, None if there were none, or the table has the epoch.
    """
    asked = partial(truncate, table, partitions, epoch=epoch, seen_only=seen_only)
    published = with_changelog(table, asked)
    assert not isinstance(published, Late | UnseenKeys)
    return followed(table, published)


def with_changelog(
    table: Table, overwrite: Callable[[Changelog | None], Answer]
) -> int | Late | UnseenKeys | None:
    """The answer to a commit that replaces files and takes the changelog of that, None if the table
    has no changelog. Without a snapshot the changelog's files are gone.
    """
    if table.options.changelog_producer == NONE:
        return _outcome(overwrite(None))
    written = Job(table.layout)
    try:
        found = overwrite(Changelog())
        if isinstance(found, NeedsChangelog):
            for _ in tries(table):  # each that follows lost to a commit of other files
                found = overwrite(_changelog(table, found, written))
                if not isinstance(found, NeedsChangelog):
                    break
    except UnknownOutcomeError:
        raise
    except BaseException:
        written.remove()
        raise
    if not isinstance(found, int):
        written.remove()
    return _outcome(found)


def _outcome(answer: Answer) -> int | Late | UnseenKeys | None:
    assert not isinstance(answer, NeedsChangelog)
    return answer


def _changelog(table: Table, asked: NeedsChangelog, written: Job) -> Changelog:
    """The changelog that a commit asks for, in place of what was `written` before; empty if the
    snapshot has expired, as then others have followed it, and the next answer is of those.
    """
    written.remove()
    written.messages.clear()
    with suppress(SnapshotExpiredError), table.reading(asked.base):
        _write(table, asked, written)
        return Changelog(asked.of, written.messages)
    return Changelog()


def _write(table: Table, asked: NeedsChangelog, written: Job) -> None:
    layout, options = table.layout, table.options
    states = seen(asked.before), seen(asked.after)
    touched = [(0, file) for file in unshared(*states)]
    all_keys = pruning(layout, options, ())
    parts = list(
        compared_parts(layout, options, 0, states, touched, changelog_level(options), all_keys)
    )
    files = [file for part in parts for file in part.files]
    how = Splitting(layout, options, task_size(options, [file.size for file in files], 1))
    names = tuple(layout.arrow_schema.names)
    scan = ScanSpec(layout, names, table.stored_schemas(files), verify=options.verify_files)
    scan = replace(scan, snapshot=table.snapshot_id)
    number = max((file.max_sequence for file in files), default=0)
    # By bucket; a path does not name one, as NULL and blank texts are stored in one folder.
    for _, of_place in groupby(parts, lambda part: id(part.base)):
        splits = [split for part in of_place for split, _ in cut(how, part, is_net=False)]
        written.messages.append(_of_bucket(table, scan, splits, number))


def _of_bucket(
    table: Table, scan: ScanSpec, splits: Sequence[ChangeSplit], number: int
) -> CommitMessage:
    """The changes of a bucket as its files; those of all buckets as files of the first."""
    place, options = splits[0].after, table.options
    directory = place.partition.bucket_folder(scan.layout, place.bucket)
    target = changelog_target(scan.layout, options, 0)
    found = chain.from_iterable(compared(scan, split) for split in splits)
    files = tuple(write_files(target, directory, found, number))
    return CommitMessage(place.partition, place.bucket, options.bucket, (), files)
