"""Expiry of snapshots and removal of orphan files, as a program asks for them."""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import datetime

import pyarrow as pa

from keyfold.read.call_options import with_options
from keyfold.storage.maintenance.due import ROUND
from keyfold.storage.maintenance.expire import check_expirable, expire
from keyfold.storage.maintenance.orphans import remove_orphans
from keyfold.storage.maintenance.retained import Retention
from keyfold.storage.table import Table
from keyfold.tables.moments import millis_of

HEALTH = pa.schema(
    [
        pa.field("partition", pa.utf8()),
        pa.field("bucket", pa.int32()),
        *(
            pa.field(name, pa.int64())
            for name in ("runs", "level0_files", "files", "bytes", "rows")
        ),
        pa.field("largest_file", pa.int64()),
        pa.field("delete_rows", pa.int64()),
        pa.field("read_amplification", pa.float64()),
        pa.field("advice", pa.utf8()),
    ]
)
ORPHANS = pa.schema([pa.field("path", pa.utf8()), pa.field("bytes", pa.int64())])


def expired(
    table: Table,
    older_than: datetime | str | None,
    retain_max: int | None,
    retain_min: int | None,
    max_deletes: int | None,
    options: Mapping[str, str] | None,
) -> int:
    """Expire snapshots in passes of ROUND; returns how many went."""
    check_expirable(table)
    table = with_options(table, options)
    seconds = None if older_than is None else time.time() - _seconds(table, older_than)
    gone = 0
    while max_deletes is None or gone < max_deletes:
        limit = ROUND if max_deletes is None else min(max_deletes - gone, ROUND)
        asked = {"at_most": retain_max, "at_least": retain_min, "seconds": seconds, "limit": limit}
        found = expire(table, Retention.of(table, **asked))
        gone += found
        if not found:
            break
    return gone


def _seconds(table: Table, older_than: datetime | str) -> float:
    return millis_of(f"upkeep of table {table.layout.name}: older_than", older_than) / 1000


def orphans(table: Table, older_than: datetime | str | None, *, dry_run: bool) -> pa.Table:
    """The files that nothing refers to, which are removed unless `dry_run`."""
    table.check_writable()
    seconds = None if older_than is None else _seconds(table, older_than)
    found = remove_orphans(table, seconds, dry_run=dry_run)
    return pa.Table.from_pylist([{"path": f.path, "bytes": f.bytes} for f in found], ORPHANS)
