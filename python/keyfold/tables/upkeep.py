"""A table that is kept in order: its files merged, what is old removed."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import pyarrow as pa

from keyfold.procedures import partitions
from keyfold.procedures.compact import COMPACT
from keyfold.procedures.consumers import RESET_CONSUMER
from keyfold.procedures.done_partitions import MARK_PARTITION_DONE
from keyfold.procedures.expiry import EXPIRE_SNAPSHOTS
from keyfold.procedures.rescale import RESCALE
from keyfold.tables import calls
from keyfold.tables.doors import doors
from keyfold.tables.where.condition import Where, partition_filters
from keyfold.tables.writable import Writable


@doors(lambda table: f"table {table.name}")
class Upkeep(Writable):
    """A table by its name or path, and what keeps it in order."""

    def compact(
        self,
        strategy: str = "full",
        *,
        partitions: str | None = None,
        where: Where = None,
        partition_idle_time: str | None = None,
        max_bytes: int | None = None,
        options: Mapping[str, str] | None = None,
    ) -> pa.Table:
        """Merge files, as `CALL sys.compact` does; a row for each step, with what became of it.

        Args:
            strategy: `full` merges all files of a bucket, `minor` those that are worth it.
            partitions: Those to take, `"day=1,hour=2;day=3"`; `where` is a condition on them.
            partition_idle_time: Those last written so long ago, as `"2 h"`, or before.
            max_bytes: The most bytes to read.
            options: Options of the table for this call.
        """
        rows = calls.rows(
            self._session,
            self._load,
            COMPACT,
            compact_strategy=strategy,
            partitions=partitions,
            where=partition_filters(self._layout, where),
            partition_idle_time=partition_idle_time,
            max_bytes=max_bytes,
            options=options,
        )
        return calls.table_of(COMPACT, [row for row in rows if row["status"] != "skipped"])

    def rescale(self, buckets: int) -> dict[str, Any]:
        """Give the table another number of buckets, in one commit: its snapshot, files, bytes and
        rows. Raises ConflictError, with nothing changed, if another job committed meanwhile.
        """
        (row,) = calls.rows(self._session, self._load, RESCALE, buckets=buckets)
        told = {name: row[f"{name}_after"] for name in ("buckets", "files", "bytes", "rows")}
        return {"snapshot": row["snapshot_id"]} | told

    def expire(
        self,
        *,
        older_than: datetime | str | None = None,
        retain_max: int | None = None,
        retain_min: int | None = None,
        max_deletes: int | None = None,
        options: Mapping[str, str] | None = None,
    ) -> int:
        """Remove snapshots that may go, by the table's options or these; returns how many did."""
        (row,) = calls.rows(
            self._session,
            self._load,
            EXPIRE_SNAPSHOTS,
            older_than=calls.millis(self.name, older_than),
            retain_max=retain_max,
            retain_min=retain_min,
            max_deletes=max_deletes,
            options=options,
        )
        return int(row["deleted_snapshots_count"])

    def expire_partitions(
        self,
        *,
        expiration_time: str | None = None,
        timestamp_formatter: str | None = None,
        timestamp_pattern: str | None = None,
        expire_strategy: str | None = None,
        max_expires: int | None = None,
        dry_run: bool = False,
    ) -> list[str]:
        """Remove partitions that are too old, or with `dry_run` name them, as
        `CALL sys.expire_partitions` does; what is left out is as the table's options say.

        Args:
            expiration_time: Their age, as `"7 d"`.
            timestamp_formatter: How texts are times, as `"yyyyMMdd"`.
            timestamp_pattern: The text of a partition's time, as `"$dt $hour:00:00"`.
            expire_strategy: `values-time`, or `update-time`: the age of their last write.
            max_expires: The most that go.
        """
        with self._changing():
            rows = calls.rows(
                self._session,
                self._load,
                partitions.EXPIRE_PARTITIONS,
                expiration_time=expiration_time,
                timestamp_formatter=timestamp_formatter,
                timestamp_pattern=timestamp_pattern,
                expire_strategy=expire_strategy,
                max_expires=max_expires,
                dry_run=dry_run,
            )
        found = [str(row["expired_partitions"]) for row in rows]
        return [] if found == [partitions.NONE] else found

    def mark_partitions_done(self, partitions: str) -> None:
        """Tell other jobs that partitions, `"day=1,hour=2;day=3,hour=1"`, have all their rows, as
        `CALL sys.mark_partition_done` does: by a file `_SUCCESS` in the folder of each.
        """
        with self._changing():
            calls.rows(self._session, self._load, MARK_PARTITION_DONE, partitions=partitions)

    def reset_consumer(self, name: str, next_snapshot: int | None = None) -> bool:
        """Let a stream's consumer go on with the changes of a snapshot, or without one forget it;
        whether there was one to forget.
        """
        with self._changing():
            (row,) = calls.rows(
                self._session,
                self._load,
                RESET_CONSUMER,
                consumerId=name,
                nextSnapshotId=next_snapshot,
            )
        return bool(row["result"])

    def remove_orphans(
        self, *, older_than: datetime | str | None = None, dry_run: bool = False
    ) -> pa.Table:
        """Remove, or with `dry_run` list, files that nothing refers to: path and bytes of each."""
        millis = calls.millis(self.name, older_than)
        with self._session.working():
            called = calls.call(self._session, self._load)
            return calls.orphans(called, millis, dry_run=dry_run)
