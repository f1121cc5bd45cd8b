"""A transaction: jobs of one table that see each other's rows, and one commit of all of them.

Each job is planned on, and committed to, snapshots that only the transaction sees
(`StagedState`). So rules, look-ups and numbers are those of jobs that commit one after another: a
later job has greater sequence numbers, and its rows win. What is published at the end are the files
that are left.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import replace

from keyfold.errors import NotSupportedError
from keyfold.options.clusters import is_postponing
from keyfold.options.declared import TableOptions
from keyfold.options.unparsed import TO_BUCKETS
from keyfold.storage.commits import commit
from keyfold.storage.commits.answers import Answer
from keyfold.storage.commits.commit import Replaced
from keyfold.storage.commits.epochs import epochs_of, is_committed
from keyfold.storage.metadata.staged import StagedState
from keyfold.storage.table import Table
from keyfold.wire.specs import CommitMessage, Epoch, RowChanges, WriteSpec
from keyfold.write import jobs
from keyfold.write.expired_partitions import admitted
from keyfold.write.job import Job
from keyfold.write.keys.hash_files import files_beside
from keyfold.write.keys.stored_keys import stored_keys


class TransactionJob:
    """The jobs of a transaction that began on `table`. `reads` says whether it has read rows: then
    what it writes may depend on them, and other jobs must not have changed them since.
    """

    def __init__(self, table: Table, epoch: Epoch | None) -> None:
        table.check_writable(rows=True)
        _check_order(table)
        base = table.snapshot
        self.is_repeated = epoch is not None and is_committed(table, epochs_of(table, base), epoch)
        self.table = table
        self.reads = False
        self._read_job = None if base is None else base.commit_user
        self._epoch = epoch
        self._staged = StagedState(table.layout.name, self.table.snapshot_id)
        self._messages: list[CommitMessage] = []
        self._gone: list[CommitMessage] = []  # files that a later job took away
        self._takes: list[Replaced] = []
        self._jobs = 0

    def now(self) -> Table:
        """The table with all that has been staged. Raises TableError after the end."""
        self._staged.check_open()
        return replace(self.table, snapshot_id=self._staged.latest_id, staged=self._staged)

    def stage(self, spec: WriteSpec, messages: Sequence[CommitMessage]) -> None:
        """Take over the files of a job that was planned on `now`."""
        if spec.changes is not None and spec.changes.reads is not None:
            self.reads = True
        given, messages = messages, admitted(self.now(), spec, messages)
        found = jobs.replaced(spec, messages)
        if found is None:
            staged: Answer = commit.append(self.now(), spec, messages)
        else:
            staged = self._overwritten(spec, messages, found)
        self._jobs += staged is not None
        self._messages += messages
        self._gone += [one for one in given if one not in messages]

    def _overwritten(
        self, spec: WriteSpec, messages: Sequence[CommitMessage], partitions: commit.Partitions
    ) -> Answer:
        staged = commit.overwrite(self.now(), spec, messages, partitions)
        takes = commit.replaced_by(messages, partitions)
        self._takes.append(takes)  # also if it has found no rows: others may write some
        self._gone += [one for one in self._messages if takes(one.partition.values)]
        self._messages = [one for one in self._messages if not takes(one.partition.values)]
        return staged

    def publish(self, newest: Table) -> int | None:
        """Publish all of it as one snapshot, on the newest one of the table; returns its id, None
        if nothing changed or the table has the epoch. Raises ConflictError, and nothing has
        changed, if the transaction has read rows and other jobs changed some that it writes.
        """
        takes = self._taken if self._takes else None
        spec, messages = self._spec(), self._messages
        if takes is not None:  # the commit writes the changelog of an overwrite
            self._gone += [replace(one, files=(), hashes=None) for one in messages]
            messages = [replace(one, changelog=()) for one in messages]
        self._messages = []
        self._gone += self._superseded(messages)
        try:
            return jobs.publish(newest, spec, messages, takes)
        except BaseException:
            jobs.abandon(newest, spec, messages)
            raise

    def _superseded(self, messages: Sequence[CommitMessage]) -> Iterator[CommitMessage]:
        """The index files of buckets that a later call has added keys to, whose file has them."""
        last: dict[tuple[object, ...], CommitMessage] = {}
        for one in messages:
            if one.hashes is not None:
                before = last.get((one.partition.values, one.bucket))
                if before is not None:
                    yield replace(before, files=(), changelog=())
                last[one.partition.values, one.bucket] = one

    def end(self) -> None:
        """Remove all files that were not published. What was read in it is not read any more."""
        self._staged.is_over = True
        Job(self.table.layout, [*self._messages, *self._gone]).remove()
        self.table.manifests.remove(self._staged.manifests)

    @property
    def messages(self) -> Sequence[CommitMessage]:
        """The files that it adds to the table."""
        return tuple(self._messages)

    def _taken(self, partition: tuple[object, ...]) -> bool:
        return any(takes(partition) for takes in self._takes)

    def _spec(self) -> WriteSpec:
        """The job of all of it."""
        base = self.table.snapshot_id
        told = json.dumps({"command": "TRANSACTION", "calls": self._jobs})
        changes = RowChanges(
            (base or 0) if self.reads else None,
            is_unique=False,  # old partitions were looked for when files were staged
            read_job=self._read_job,
            statement=told,
        )
        return WriteSpec(
            layout=self.table.layout,
            columns=tuple(self.table.layout.arrow_schema.names),
            ordinal=False,
            sequence=0,  # its files have numbers
            job=str(uuid.uuid4()),
            mode="overwrite" if self._takes else "append",
            snapshot=base,
            planned_by=self._read_job or "",
            epoch=self._epoch,
            changes=changes,
            stored=stored_keys(self.table, None, only_new=False),
            hashes=files_beside(self.table, self._taken if self._takes else None),
        )


def _check_order(table: Table) -> None:
    """Raises NotSupportedError if rows of one snapshot have no order in the table, or are not seen
    before they get their buckets.
    """
    if is_postponing(table.options):
        raise NotSupportedError(
            f"transaction of table {table.layout.name}: its rows would wait for their buckets, and "
            f"no call would see them, as {TO_BUCKETS.name} is 'false'; expected 'true': ALTER "
            "TABLE sets it"
        )
    if table.options.snapshot_ordering:
        option = TableOptions.snapshot_ordering.name
        raise NotSupportedError(
            f"transaction of table {table.layout.name}: with {option} = true rows are ordered by "
            "their snapshots, and all rows of a transaction are in one: write them by one call, or "
            f"by calls of their own, or set {option} = false in a new table"
        )
