"""A write job on the driver: planned on the newest snapshot, then published or abandoned, once."""

from __future__ import annotations

import random
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from keyfold.errors import NotSupportedError, TableError
from keyfold.lookup.of_keys import lookups
from keyfold.lookup.of_tasks import PlannedLookups, TaskLookups
from keyfold.merge.plan import check_mergeable
from keyfold.options.calls import (
    ACCEPT_LOST,
    MERGE_MODE,
    TARGET_COLUMNS,
    TRANSACTION_APP,
    TRANSACTION_VERSION,
    WRITE,
    WRITE_ONLY,
    value,
)
from keyfold.options.parsing import parse
from keyfold.options.values import boolean, whole
from keyfold.predicates.prune import on_partitions
from keyfold.read.call_options import as_changed, call_options, with_options
from keyfold.storage.commits import commit
from keyfold.storage.commits.answers import Late, UnseenKeys
from keyfold.storage.commits.outcomes import OUTCOMES, is_abandonable
from keyfold.storage.commits.sequence_numbers import RANDOM_NUMBERS
from keyfold.storage.commits.turns import TURNS, tries
from keyfold.storage.maintenance.due import followed
from keyfold.storage.table import Table
from keyfold.storage.waiting_files import check_none_read
from keyfold.wire.layout import TableLayout
from keyfold.wire.predicates import Predicate
from keyfold.wire.specs import CommitMessage, Epoch, RowChanges, StoredKeys, WriteSpec
from keyfold.write.changelog import writes_input
from keyfold.write.expired_partitions import before_commit, expire_due
from keyfold.write.incoming import time_of_job
from keyfold.write.job import remove_files
from keyfold.write.keys.hash_files import hash_files
from keyfold.write.keys.partition_buckets import partition_buckets
from keyfold.write.keys.shared_keys import SharedKeys
from keyfold.write.keys.stored_keys import key_lookups, settled, stored_keys
from keyfold.write.overwritten import truncated, with_changelog
from keyfold.write.renumber import renumber
from keyfold.write.row_changes import assigned_columns, check_deletes, check_seen
from keyfold.write.targets import (  # fmt: skip
    DEFAULT,
    OVERWRITE,
    check_ids_left,
    leaves_others,
    merge_mode,
    named_columns,
    target_text,
)


@dataclass(frozen=True)
class RowChangeJob:
    """A statement that changes rows, as its job is planned: `reads` is the snapshot that it has
    read, 0 without data, None if it has read none. Its UPDATEs set the columns `assigned`, None if
    nobody knows which. `stored`, `has_kinds`, `counts_deletes` and `read_job` are those of
    RowChanges.
    """

    command: str
    reads: int | None
    assigned: Sequence[str] | None = None
    stored: tuple[str, ...] = ()
    has_kinds: bool = True
    counts_deletes: bool = False
    read_job: str | None = None

    def wire(self, table: Table) -> RowChanges:
        """The part of it that tasks and the commit must know."""
        is_unique = self.command != "DELETE"
        given = self.has_kinds, self.stored, is_unique, self.counts_deletes
        return RowChanges(self.reads, *given, self.read_job)


def plan_job(
    table: Table,
    columns: Sequence[str],
    *,
    options: Mapping[str, str] | None = None,
    seen: str | None = None,
    mode: str = "append",
    filters: Sequence[Predicate] = (),
    ordinal: bool = False,
    query: str | None = None,
    changes: RowChangeJob | None = None,
    kinds: bool = False,
    own_columns: bool = False,
    only_new: bool = False,
) -> WriteSpec:
    """The write of rows with these columns, planned on the table's snapshot, the newest one.
    `options` are the writer's, `seen` the columns that its statement names, `query` is the id of
    the streaming query that the job is part of. With `kinds` each row brings its own, with
    `own_columns` the names of its columns. With `only_new` rows of stored keys are left out. Raises
    TableError if a table that takes no deletes gets a DELETE, or the auto-increment column a value.
    """
    table.check_writable(rows=True)
    asked = call_options(WRITE, table, options)
    table = with_options(table, {WRITE_ONLY: "true"}) if WRITE_ONLY in asked else table
    layout = table.layout
    told = asked.get(TARGET_COLUMNS, seen)
    check_ids_left(layout, told if changes is None else target_text(changes.assigned or ()))
    if changes is None:
        text, by_option = targets(layout, asked, seen), TARGET_COLUMNS in asked
        named = named_columns(layout, text, mode, by_option=by_option)
    else:
        named = assigned_columns(layout, table.options, changes.assigned)
        if changes.command == "DELETE":
            check_deletes(layout, table.options, "DELETE FROM")
    overwrites = changes is not None and not changes.has_kinds and table.options.orders_records
    spec = WriteSpec(
        layout=layout,
        columns=tuple(layout.column(name).name for name in columns),
        ordinal=ordinal,
        sequence=sequence_of_job(table.highest_sequence()),
        job=str(uuid.uuid4()),
        mode=mode,
        snapshot=table.snapshot_id,
        planned_by="" if table.snapshot is None else table.snapshot.commit_user,
        filters=tuple(filters),
        named=named,
        merge_mode=OVERWRITE if overwrites else merge_mode(layout, asked.get(MERGE_MODE), named),
        changes=None if changes is None else changes.wire(table),
        epoch=epoch_of(layout.name, asked, query),
        kinds=kinds,
        own_columns=own_columns,
        stored=_stored(table, changes, mode, filters, only_new=only_new),
        time=time_of_job(table.options),
        hashes=hash_files(table, mode, filters),
        buckets=partition_buckets(table),
    )
    if spec.mode == "overwrite":
        table.live_files(partition_filter=_replaced_by(layout, spec.filters))
    check_mergeable(layout)
    return spec


def _stored(
    table: Table,
    changes: RowChangeJob | None,
    mode: str,
    filters: Sequence[Predicate],
    *,
    only_new: bool,
) -> StoredKeys | None:
    """The keys that a job must know. Raises NotSupportedError if keys are one across partitions,
    and the job replaces some of these or leaves stored keys alone; or if it goes by stored rows and
    writes those that are not seen yet.
    """
    if changes is not None or only_new:
        doing = changes.command if changes else "insert if not there"
        check_seen(table.layout, table.options, doing)
        check_none_read(table, f"{doing} of")
    if table.layout.spans_partitions:
        if mode == "overwrite" and not filters:
            return None  # nothing that is stored stays
        asked = "write of new keys only" if only_new else f"{mode.replace('_', ' ')} of partitions"
        if only_new or mode != "append":
            raise NotSupportedError(
                f"{asked} in table {table.layout.name}: its keys are one across partitions, as its "
                "primary key lacks a partition column; expected an append, or an overwrite of all"
            )
    return stored_keys(table, None if changes is None else changes.reads, only_new=only_new)


def task_lookups(table: Table, spec: WriteSpec) -> TaskLookups:
    """The look-ups of the tasks of a job."""
    return TaskLookups(_rows_before(table, spec), key_lookups(table, spec.stored))


def _rows_before(table: Table, spec: WriteSpec) -> PlannedLookups | None:
    """The look-ups of the rows before a statement, for the changelog of tasks;
    None if it has the records as they came, or there is none.
    """
    changes, options = spec.changes, parse(spec.layout)
    if changes is None or not writes_input(spec, options):
        return None
    if not changes.has_kinds and not options.engine.is_default:
        return None  # rows that are inserted fold
    read = replace(table, snapshot_id=changes.reads or None, known=None)
    read.check_format()
    return lookups(as_changed(read), spec.layout.arrow_schema.names)


def targets(layout: TableLayout, asked: Mapping[str, str], seen: str | None) -> str | None:
    """The columns the write names; None for all. They are those of the user's option. Without it,
    a table whose writes leave other columns alone has those the session extension saw in the
    statement (`*`: all).
    """
    is_given = TARGET_COLUMNS in asked or seen in (None, "*") or not leaves_others(layout)
    return asked.get(TARGET_COLUMNS) if is_given else seen


def epoch_of(table: str, asked: Mapping[str, str], query: str | None) -> Epoch | None:
    """The epoch of a job with the options `asked`, or of the streaming query `query`, whose number
    is known at the commit. None if neither names one. Raises TableError if the options are wrong.
    """
    given = [name for name in (TRANSACTION_APP, TRANSACTION_VERSION) if asked.get(name)]
    if given and query is not None:
        raise TableError(
            f"streaming into table {table}: option {given[0]} is for batches; a streaming query is "
            "known by its own id"
        )
    if len(given) == 1:
        raise TableError(
            f"writing table {table}: options {TRANSACTION_APP} and {TRANSACTION_VERSION} go "
            f"together, found {given[0]} = {asked[given[0]]} alone"
        )
    doing = f"writing table {table}"
    number = value(doing, asked, TRANSACTION_VERSION, whole(0, 2**63 - 1))
    accepts = value(doing, asked, ACCEPT_LOST, boolean)
    stream = query or asked.get(TRANSACTION_APP)
    return Epoch(stream, number or 0, bool(accepts), query is not None) if stream else None


def sequence_of_job(highest: int) -> int:
    """The sequence number of a job's rows: above every live one and in the order jobs start.

    The start in ms is shifted, so that each ms has 2^20 numbers to draw from and jobs don't tie.
    """
    start = int(time.time() * 1000) << 20
    return max(highest + 1, start) + random.SystemRandom().randrange(RANDOM_NUMBERS)


def publish(
    table: Table,
    spec: WriteSpec,
    messages: Sequence[CommitMessage],
    takes: commit.Replaced | None = None,
) -> int | None:
    """Publish the job's files as one snapshot; returns its id, None if nothing changed. Files of an
    epoch that the table has already are gone then. An overwrite may be given the partitions that it
    `takes` away, if its mode and filters don't tell.

    After an error the caller abandons the job; files that this commit made instead are gone. So
    are files of partitions that are too old, if the table drops what is written there.
    """
    given, once = messages, _committing(table, spec, takes or replaced(spec, messages))
    as_asked = with_options(table, {WRITE_ONLY: "true"}) if is_write_only(spec) else table
    messages, looks = before_commit(as_asked, spec, messages)
    made = messages
    try:
        found = once(spec, messages)
        if isinstance(found, Late | UnseenKeys):
            with TURNS.taken(table):  # else commits that come between could make it late again
                for _ in tries(table):
                    spec, made = _again(table, spec, made, found)
                    found = once(spec, made)
                    if not isinstance(found, Late | UnseenKeys):
                        break
    except BaseException:
        # `abandon` is given the earlier files, not these.
        if made is not messages and OUTCOMES.give_up(spec.job):
            remove_files(spec.layout, made)
        raise
    assert not isinstance(found, Late | UnseenKeys)
    if found is None:
        abandon(table, spec, made)
    if messages is not given:
        kept = {one.partition for one in messages}
        remove_files(spec.layout, (one for one in given if one.partition not in kept))
    published = followed(as_asked, found)
    if published is not None and looks:
        expire_due(replace(table, snapshot_id=published, known=None))
    return published


def is_write_only(spec: WriteSpec) -> bool:
    """Whether a job leaves compaction and expiry to others, by its own option or its table's."""
    return parse(spec.layout).write_only


def _again(
    table: Table, spec: WriteSpec, messages: Sequence[CommitMessage], asked: Late | UnseenKeys
) -> tuple[WriteSpec, Sequence[CommitMessage]]:
    """The job with what a commit has asked for."""
    if isinstance(asked, UnseenKeys):
        return settled(table, spec, messages, asked.base)
    seen = replace(spec, snapshot=asked.seen, planned_by=asked.seen_by)
    return seen, renumber(spec, messages, asked.sequence)


def _committing(
    table: Table, spec: WriteSpec, takes: commit.Partitions | None
) -> Callable[[WriteSpec, Sequence[CommitMessage]], int | Late | UnseenKeys | None]:
    """The commit of files of a job, as it is planned. An overwrite takes partitions away."""
    shares = SharedKeys(table)
    if takes is None:
        return lambda spec, messages: commit.append(table, spec, messages, shares)
    return lambda spec, messages: with_changelog(
        table,
        lambda changelog: commit.overwrite(table, spec, messages, takes, changelog, shares),
    )


def abandon(table: Table, spec: WriteSpec, messages: Sequence[CommitMessage]) -> None:
    """Delete the job's files, unless they are, or may be, part of a snapshot."""
    if is_abandonable(table, spec.job, spec.snapshot, spec.planned_by):
        remove_files(spec.layout, messages)


def delete_partitions(
    table: Table, filters: Sequence[Predicate], epoch: Epoch | None = None
) -> int | None:
    """Remove the partitions that satisfy all filters, with what they hold when this commits; all of
    them without filters. Rows that wait for their buckets stay, as in a DELETE of rows. Returns the
    snapshot's id, None if nothing changed or the table has the epoch. Raises TableError if the
    table takes no deletes, NotSupportedError if it can't go by rows that are seen.
    """
    table.check_writable()
    check_deletes(table.layout, table.options, "DELETE FROM")
    check_seen(table.layout, table.options, "DELETE")
    check_none_read(table, "DELETE of")
    takes = on_partitions(table.layout, filters, f"deleting rows of table {table.layout.name}")
    return truncated(table, takes if filters else "all", epoch, seen_only=True)


def replaced(spec: WriteSpec, messages: Sequence[CommitMessage]) -> commit.Partitions | None:
    """The partitions an overwrite replaces; None for other jobs. Raises NotSupportedError if what
    it replaces is not all that it has to.
    """
    if spec.mode == "append":
        return None
    if spec.mode == "overwrite_dynamic":
        return "dynamic"
    if not spec.filters:
        return "all"
    takes = _replaced_by(spec.layout, spec.filters)
    _check_whole(spec, messages, takes)
    return takes


def _replaced_by(layout: TableLayout, filters: Sequence[Predicate]) -> commit.Replaced:
    """The test of whether an overwrite by these filters replaces a partition."""
    return on_partitions(layout, filters, f"overwrite of partitions of table {layout.name}")


def _check_whole(
    spec: WriteSpec, messages: Sequence[CommitMessage], replaces: commit.Replaced
) -> None:
    """Raises NotSupportedError if rows that name some columns, or overwrite, go to a partition that
    is not replaced: an overwrite writes whole rows, which would fold with stored ones there.
    """
    is_partial = spec.named is not None or (spec.own_columns and leaves_others(spec.layout))
    if not is_partial and spec.merge_mode == DEFAULT:
        return
    for partition in (message.partition for message in messages):
        if not replaces(partition.values):
            where = partition.text or "(all rows)"
            option = "target-columns" if is_partial else "merge_mode"
            raise NotSupportedError(
                f"table {spec.layout.name}: the overwrite's condition does not take partition "
                f"{where}, to which it brings rows, and {option} says what becomes of rows stored "
                f"there: INSERT those rows, or leave {option} out"
            )
