"""A table that somebody tampers with, one beside it that nothing may touch, and all statements."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from keyfold.read import metadata
from tests.concurrency import jobs
from tests.storage import tables

NEW = [{"k": 1, "v": 7}]


def selected(folder: str) -> None:
    found = jobs.table_of(folder)
    found.check_readable()
    jobs.rows_of(found)


STATEMENTS: dict[str, Callable[[str], Any]] = {
    "SELECT": selected,
    "INSERT": lambda folder: jobs.written(folder, NEW),
    "INSERT OVERWRITE": lambda folder: jobs.written(folder, NEW, "overwrite"),
    "DELETE": lambda folder: jobs.deleted(folder, 3),
    "TRUNCATE": jobs.truncated,
    "compact": jobs.compacted,
    "rescale": lambda folder: jobs.rescaled(folder, 2),
    "expire_snapshots": lambda folder: jobs.expired(folder, 1),
    "remove_orphan_files": lambda folder: jobs.orphans_removed(folder, time.time()),
    "ALTER TABLE": lambda folder: jobs.altered(
        folder, [{"change": "set_property", "key": "snapshot.expire.limit", "value": "7"}]
    ),
    **{
        f"${found}": lambda folder, found=found: [  # type: ignore[misc]
            *metadata.ALL[found].batches(
                jobs.table_of(folder), [c.name for c in metadata.ALL[found].columns], "UTC"
            )
        ]
        for found in metadata.ALL
    },
    "DROP": jobs.dropped,
}


def make(warehouse: Path) -> None:
    """A table `t` whose next expiry has work to do, and `other` beside it."""
    tables.table(warehouse, tables.new_table(bucket="1"))
    jobs.written(str(warehouse), [{"k": k, "v": 100} for k in range(5)])
    home = warehouse / "default.db"
    (home / "t").rename(home / "other")
    retained = {"snapshot__num_retained__min": "1", "snapshot__time_retained": "1 ms"}
    sync = {"snapshot__expire__execution_mode": "sync", "write_only": "true"}
    tables.table(warehouse, tables.new_table(bucket="1", **retained, **sync))
    for _ in range(2):
        jobs.written(str(warehouse), [{"k": k, "v": k} for k in range(9)])
    jobs.written(str(warehouse), NEW, "overwrite")
    change = {"change": "set_property", "key": "write-only", "value": "false"}
    jobs.altered(str(warehouse), [change])


def outside(folder: str) -> dict[str, tuple[bytes, int]]:
    """What there is beside the table."""
    inside = f"{folder}/default.db/t/"
    paths = [path for path in Path(folder).rglob("*") if not str(path).startswith(inside)]
    return {
        str(path): (path.read_bytes(), path.stat().st_mtime_ns) for path in paths if path.is_file()
    }
