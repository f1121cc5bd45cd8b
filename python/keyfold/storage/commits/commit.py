"""Commits: a job's files become one snapshot, published exclusively; a lost race is tried again.

The commit user is the job, which commits once: a loser never takes the winner's snapshot for its
own. `turns` says who tries next, `attempts` makes one try, `outcomes` remembers the outcome of each
job. Files are neither read nor written here: a commit that needs other ones answers which.
"""

import contextlib
import json
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import Any, Literal

from keyfold.errors import ConflictError, SnapshotExpiredError, UnknownOutcomeError
from keyfold.storage.commits.answers import Answer, Late, NeedsChangelog, UnseenKeys
from keyfold.storage.commits.attempts import APPEND, CommitInfo, Entries, attempt
from keyfold.storage.commits.compaction import Compaction, fitting
from keyfold.storage.commits.conflicts import (
    COMPACT,
    UNREAD,
    Shares,
    check_buckets,
    check_levels,
    check_meanwhile,
    check_rescaled,
    check_rewritten,
    check_unseen,
    has_seen_keys,
    totals_of,
)
from keyfold.storage.commits.epochs import carried, epochs_of, is_committed, is_noted
from keyfold.storage.commits.hash_indexes import JobIndexes, indexed
from keyfold.storage.commits.job_places import JobPlaces
from keyfold.storage.commits.looked_at import LookedAt
from keyfold.storage.commits.made_records import MadeRecords
from keyfold.storage.commits.outcomes import OUTCOMES
from keyfold.storage.commits.replaced_rows import without_files
from keyfold.storage.commits.sequence_numbers import number_needed
from keyfold.storage.commits.turns import TURNS, tries
from keyfold.storage.metadata import table_statistics
from keyfold.storage.metadata.entries import (
    LiveFile,
    Record,
    added,
    changelog_of,
    rewritten,
    stamped,
)
from keyfold.storage.metadata.partition_bounds import SomePartitions
from keyfold.storage.metadata.snapshots import (
    EXPIRED,
    PARTITIONS,
    ROWS,
    SHOWN_ROWS,
    STATEMENT,
    Snapshot,
)
from keyfold.storage.metadata.table_statistics import TableStatistics
from keyfold.storage.table import Table
from keyfold.wire.partitions import POSTPONED
from keyfold.wire.specs import CommitMessage, Epoch, RowChanges, StoredKeys, WriteSpec

OVERWRITE = "OVERWRITE"
ANALYZE = "ANALYZE"

# Whether an overwrite replaces a partition's files.
Replaced = Callable[[tuple[Any, ...]], bool]
Partitions = Literal["all", "dynamic"] | Replaced


@dataclass(frozen=True)
class Changelog:
    """The changelog files of an overwrite. The files that come and go by it, of whose rows they
    tell, have the states `of`.
    """

    of: frozenset[tuple[Any, ...]] = frozenset()
    messages: Sequence[CommitMessage] = ()


@dataclass(frozen=True)
class Change:
    """The change that one commit makes to the newest snapshot, whichever that is."""

    job: str
    kind: str
    messages: Sequence[CommitMessage] = ()
    replaced: Callable[[LiveFile], bool] | None = None
    rewrites: frozenset[tuple[Any, ...]] = frozenset()  # states of files that must be live
    compactions: Sequence[Compaction] = ()
    conflicts: dict[str, ConflictError] = field(default_factory=dict)  # the compactions', by job
    planned: int | None = None  # the snapshot that rows were planned on
    buckets: int | None = None  # the count that all files have afterwards
    statistics: str | None = None  # the name of a file of them, which this commit publishes
    partitions: Replaced | None = None  # those an overwrite replaces; to others it appends
    epoch: Epoch | None = None  # nothing changes if the table has it already
    changes: RowChanges | None = None  # of a statement that has read rows
    shares: Shares = UNREAD
    merges_manifests: bool = False
    changelog: Changelog | None = None  # of an overwrite; None: none is written
    statement: str | None = None  # what changed rows, and how many
    choose: Callable[[Sequence[LiveFile]], Replaced] | None = None  # partitions, of live files
    is_silent: bool = False  # changes show nothing of it
    stored: StoredKeys | None = None  # of a job that has to know them
    indexes: JobIndexes = field(default_factory=JobIndexes)  # by which keys have their buckets


def append(
    table: Table,
    spec: WriteSpec,
    messages: Sequence[CommitMessage],
    shares: Shares = UNREAD,
) -> int | Late | UnseenKeys | None:
    """Add the files. Returns the new snapshot's id, None if there is nothing to add, or the table
    has the job's epoch already. Late: a file committed meanwhile shares a sequence number with one
    of ours in its bucket, or a compaction has merged later ones. UnseenKeys: keys may have been
    stored since the job looked them up.

    Raises ConflictError if a job that the statement has not seen wrote keys that it changes;
    `shares` says whether two files have keys in common.
    """
    found = _commit(table, _of_job(Change(spec.job, APPEND, messages), spec, shares))
    assert not isinstance(found, NeedsChangelog)
    return found


def _of_job(change: Change, spec: WriteSpec, shares: Shares) -> Change:
    """The change with what its job knows: what it was planned on, has read and looked up."""
    made, statement = spec.changes, None if spec.changes is None else spec.changes.statement
    changes = made if made is not None and made.reads is not None else None
    change = replace(change, planned=spec.snapshot, epoch=spec.epoch, stored=spec.stored)
    change = replace(change, indexes=JobIndexes(spec.hashes, shares, spec.stored))
    return replace(change, changes=changes, shares=shares, statement=statement)


def overwrite(
    table: Table,
    spec: WriteSpec,
    messages: Sequence[CommitMessage],
    partitions: Partitions,
    changelog: Changelog | None = None,
    shares: Shares = UNREAD,
) -> Answer:
    """Replace the files of `partitions` by ours; None if nothing changes, or the table has the
    job's epoch already. Late as for `append`, by files in partitions that are not replaced, and
    UnseenKeys. NeedsChangelog if the changelog, if one is given, is not that of the files which
    come and go. Raises ConflictError as `append`, and if a job that has read the table has not seen
    files that it replaces.

    `partitions` is `all`; `dynamic` (those our files are in); or a function of the partition's
    values.
    """
    change = _overwriting(spec.job, messages, partitions, changelog)
    return _commit(table, _of_job(change, spec, shares))


def truncate(
    table: Table,
    partitions: Partitions = "all",
    changelog: Changelog | None = None,
    epoch: Epoch | None = None,
    *,
    seen_only: bool = False,
) -> Answer:
    """Remove all files, or those of `partitions`, or those that have buckets; None if there were no
    files, or the table has the epoch. NeedsChangelog as for `overwrite`.
    """
    change = replace(_overwriting(str(uuid.uuid4()), (), partitions, changelog), epoch=epoch)
    if seen_only and (takes := change.partitions) is not None:
        change = replace(change, replaced=lambda f: f.bucket != POSTPONED and takes(f.partition))
    return _commit(table, change)


def expire(
    table: Table,
    choose: Callable[[Sequence[LiveFile]], Replaced],
    changelog: Changelog | None = None,
    *,
    is_silent: bool = True,
) -> Answer:
    """Remove the partitions that are chosen of the files which are live then; None if there are
    none. If it `is_silent`, changes show nothing of it. NeedsChangelog as for `overwrite`.
    """
    change = Change(str(uuid.uuid4()), OVERWRITE, choose=choose, is_silent=is_silent)
    return _commit(table, replace(change, changelog=changelog))


def _overwriting(
    job: str,
    messages: Sequence[CommitMessage],
    partitions: Partitions,
    changelog: Changelog | None,
) -> Change:
    takes = replaced_by(messages, partitions)
    change = Change(job, OVERWRITE, messages, lambda f: takes(f.partition), partitions=takes)
    return replace(change, changelog=changelog)


def rewrite(
    table: Table,
    job: str,
    removed: Sequence[LiveFile],
    messages: Sequence[CommitMessage],
    buckets: int | None = None,
) -> int | None:
    """Replace the files `removed` by files with their rows and sequence numbers. Returns None if
    there is nothing to do. Raises ConflictError if another commit took one of them away, or marked
    rows of it. With `buckets` all files have that number of buckets afterwards: raises
    ConflictError too if another job has added files of another number.
    """
    gone = frozenset(file.state for file in removed)
    change = Change(job, OVERWRITE, messages, lambda f: f.state in gone, gone)
    return _certain(_commit(table, replace(change, buckets=buckets)))


def analyze(table: Table, found: TableStatistics) -> int:
    """Store statistics of the table. Returns the id of the snapshot that names them."""
    name, job = table_statistics.new_name(), str(uuid.uuid4())
    path = table_statistics.path_of(table.layout.location, name)
    table.files.write(path, json.dumps(found.to_json()).encode())
    try:
        published = _certain(_commit(table, Change(job, ANALYZE, statistics=name)))
    except UnknownOutcomeError:
        raise
    except BaseException:
        table.files.remove(path)
        raise
    assert published is not None
    return published


def compact_manifests(table: Table) -> int | None:
    """Write all manifests anew, without deletes. Returns the id of the snapshot that has them, None
    if there is only one.
    """
    base = table.snapshots.latest()
    with table.reading(base):
        if base is None or len(table.manifests.listed(base)) < 2:
            return None
    return _certain(_commit(table, Change(str(uuid.uuid4()), COMPACT, merges_manifests=True)))


def compact(
    table: Table, compactions: Sequence[Compaction], shares: Shares = UNREAD
) -> tuple[int | None, dict[str, ConflictError]]:
    """Put merged files in the place of those they were made of, as the job of the first compaction.
    Returns the new snapshot's id, None if nothing changes, and errors by job.

    The errors are of compactions that were left out: another job took one of their files away, or
    appended records that come before merged ones, or to a row that went for its age.
    """
    change = Change(compactions[0].step.job, COMPACT, compactions=compactions, shares=shares)
    return _certain(_commit(table, change)), change.conflicts


def _certain(answer: Answer) -> int | None:
    """The snapshot of a job whose files need no numbers and no changelog."""
    assert not isinstance(answer, Late | UnseenKeys | NeedsChangelog)
    return answer


def _commit(table: Table, change: Change) -> Answer:
    table.check_writable()
    with OUTCOMES.committing(table, change.job) as known:
        if known is not None:
            return known
        ours = JobPlaces.of(change.messages)
        with TURNS.taken(table):
            return _tried(table, change, ours)


def _tried(table: Table, change: Change, ours: JobPlaces) -> Answer:
    for _ in tries(table):
        # A base that expires meanwhile has been followed by others: the race is lost.
        with contextlib.suppress(SnapshotExpiredError), table.held() as location:
            base = table.snapshots.latest()
            known = epochs_of(table, base)
            if change.epoch is not None and is_committed(table, known, change.epoch):
                return None
            with table.reading(base):
                found = _plan(table, change, base, ours)
                if not isinstance(found, tuple):
                    return found
                change, entries = found
                is_due = entries or change.statistics is not None or change.merges_manifests
                if not is_due and not is_noted(known, change.epoch):
                    return None
                kind = change.kind if is_due else APPEND  # of an overwrite, nothing is taken away
                properties = {**carried(table, known, change.epoch)}
                if change.statement is not None:
                    properties[STATEMENT] = change.statement
                if change.is_silent:
                    properties[EXPIRED] = PARTITIONS
                if any(c.gone for c in change.compactions if c.step.job not in change.conflicts):
                    properties[EXPIRED] = SHOWN_ROWS if table.options.row_changes else ROWS
                merges = change.merges_manifests
                by = CommitInfo(change.job, kind, change.statistics, properties, merges)
                published = attempt(table, by, base, entries, location)
            if published is not None:
                return published
    raise AssertionError("attempts end by an error")


def _plan(
    table: Table, change: Change, base: Snapshot | None, ours: JobPlaces
) -> tuple[Change, Entries] | Late | UnseenKeys | NeedsChangelog:
    """The change as it fits the snapshot `base`, and the manifest entries that it makes."""
    if base is not None:
        table.check_schema_of(base)
    if change.compactions:
        fit = fitting(table, change.compactions, base, change.conflicts, change.shares)
        return change, fit
    taken = change.partitions if change.changelog is None else None
    looked = LookedAt.of(table, base, ours, at_all=_takes_away(change), taken=taken)
    live = looked.files
    if change.choose is not None:
        chosen = change.choose(live)
        change = replace(change, replaced=lambda f: chosen(f.partition), partitions=chosen)
    kept = [file for file in live if not (change.replaced and change.replaced(file))]
    check_rewritten(table, change.rewrites, live)
    if change.buckets is not None:
        check_rescaled(table, change.buckets, change.rewrites, kept)
    elif not change.rewrites:
        check_meanwhile(table, change.messages, ours)
    is_added = change.replaced is None
    totals = looked.around.totals(ours.buckets) if is_added else totals_of(kept)
    check_buckets(table, ours, totals)
    if change.changes is not None and base is not None:
        takes = change.partitions
        check_unseen(table, change.messages, change.changes, base, change.shares, takes)
    stored = change.stored if change.messages else None
    if stored is not None and base is not None and not has_seen_keys(table, stored, base):
        return UnseenKeys(base)
    if not change.rewrites:
        late = number_needed(table, change.planned, base, change.messages, _appended(change), kept)
        if late is not None:
            return late
    change = replace(change, planned=None if base is None else base.id)
    deleted = [f.deleted() for f in live if change.replaced is not None and change.replaced(f)]
    made = partial(_added, table, change, 1 if base is None else base.id + 1)
    files = _compared(table, change, made)
    check_levels(table, files, kept)
    emitted, count = (change.messages, ours.changelog) if change.kind == APPEND else ((), 0)
    if change.changelog is not None:
        of = frozenset({f.state for f in live} ^ {f.state for f in (*kept, *files)})
        if of != change.changelog.of:
            return NeedsChangelog(of, base, live, [*kept, *files])
        emitted = change.changelog.messages
        count = JobPlaces.of(emitted).changelog
    index = indexed(table, base, change.messages, change.indexes, looked.around, change.partitions)
    index = without_files(table, base, index, deleted)
    delta = MadeRecords(len(deleted) + ours.files, lambda: chain(deleted, made()))
    return change, Entries(
        delta, MadeRecords(count, partial(changelog_of, table.shapes, emitted)), index
    )


def _takes_away(change: Change) -> bool:
    return bool(change.replaced or change.choose or change.rewrites or change.changelog)


def _appended(change: Change) -> Sequence[CommitMessage]:
    """The messages whose files are added to others, not put in their place."""
    if change.partitions is None:
        return change.messages
    return [m for m in change.messages if not change.partitions(m.partition.values)]


def _added(table: Table, change: Change, snapshot_id: int) -> Iterator[Record]:
    """The entries that add files."""
    ours = added(table.shapes, change.messages)
    if change.rewrites:
        return map(rewritten, ours)
    if table.options.snapshot_ordering:
        return (stamped(record, snapshot_id) for record in ours)
    return ours


def _compared(table: Table, change: Change, made: Callable[[], Iterator[Record]]) -> list[LiveFile]:
    """The files that come, as far as the commit compares them with those that stay: in a changelog
    all of them count, else those above level 0.
    """
    if change.kind == APPEND:
        return []
    every = change.changelog is not None
    return table.manifests.files_of(one for one in made() if every or one["_FILE"]["_LEVEL"])


def replaced_by(messages: Sequence[CommitMessage], partitions: Partitions) -> Replaced:
    """A function: whether a partition's files are taken away. With `all` they are. With `dynamic`
    they are if the messages have files in the partition. A function is returned as it is.
    """
    if callable(partitions):
        return partitions
    if partitions == "all":
        return lambda partition: True
    return SomePartitions({message.partition.values for message in messages})
