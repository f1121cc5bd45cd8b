"""The health of all tables of a catalog in one call: buckets, lag of consumers, orphans; as JSON
and as the text that Prometheus reads.

A table that can't be looked at is a row with its error: one of them does not hide the others.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from keyfold.compact.health import of_table
from keyfold.errors import KeyfoldError
from keyfold.storage.maintenance import consumers
from keyfold.storage.maintenance.orphans import remove_orphans
from keyfold.storage.table import Table

_PREFIX = "keyfold"
# By the name of a figure: what Prometheus shows as its help.
FIGURES: Mapping[str, str] = {
    "snapshot": "The id of the newest snapshot.",
    "snapshots": "Snapshots that are kept.",
    "seconds_since_commit": "Seconds since the newest snapshot.",
    "buckets": "Buckets that have files.",
    "files": "Data files of the newest snapshot.",
    "level0_files": "Data files on level 0.",
    "bytes": "Bytes of data files.",
    "rows": "Records in data files.",
    "delete_rows": "Records that are deletes.",
    "most_runs": "The most sorted runs of a bucket.",
    "read_amplification": "Runs that a key may be in, averaged over bytes.",
    "buckets_with_advice": "Buckets that something would help.",
    "orphan_files": "Files that nothing refers to, older than a day.",
    "orphan_bytes": "Bytes of such files.",
}


@dataclass(frozen=True)
class TableReport:
    """One table. Figures that do not apply or were not asked for are None. `advice` has each
    sentence once; `consumers` the number of snapshots that each has yet to read.
    """

    table: str
    error: str | None = None
    snapshot: int | None = None
    snapshots: int | None = None
    seconds_since_commit: float | None = None
    buckets: int | None = None
    files: int | None = None
    level0_files: int | None = None
    bytes: int | None = None
    rows: int | None = None
    delete_rows: int | None = None
    most_runs: int | None = None
    read_amplification: float | None = None
    buckets_with_advice: int | None = None
    orphan_files: int | None = None
    orphan_bytes: int | None = None
    advice: tuple[str, ...] = ()
    consumers: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Report:
    """All tables, in order of their names, and the moment of the look in seconds since 1970."""

    tables: tuple[TableReport, ...]
    time: float

    def to_json(self) -> str:
        """One object."""
        found = {"time": self.time, "tables": [asdict(one) for one in self.tables]}
        return json.dumps(found, ensure_ascii=False)

    def to_prometheus(self) -> str:
        """The text format: a gauge for each figure, with the table as its label."""
        lines: list[str] = []
        for name, help_ in FIGURES.items():
            values = [(one.table, getattr(one, name)) for one in self.tables]
            known = [({"table": of}, value) for of, value in values if value is not None]
            lines += _gauge(name, help_, known)
        lags = [
            ({"table": one.table, "consumer": consumer}, lag)
            for one in self.tables
            for consumer, lag in one.consumers.items()
        ]
        lines += _gauge("consumer_lag", "Snapshots that a consumer has yet to read.", lags)
        readable = [({"table": one.table}, int(one.error is None)) for one in self.tables]
        lines += _gauge("readable", "1 if the table could be looked at.", readable)
        return "\n".join(lines) + "\n"


def _gauge(
    name: str, help_: str, values: Iterable[tuple[Mapping[str, str], float]]
) -> Iterator[str]:
    for number, (labels, value) in enumerate(values):
        if not number:
            yield f"# HELP {_PREFIX}_{name} {help_}"
            yield f"# TYPE {_PREFIX}_{name} gauge"
        told = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels.items())
        yield f"{_PREFIX}_{name}{{{told}}} {value}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


def report(loaders: Iterable[tuple[str, Callable[[], Table]]], *, orphans: bool) -> Report:
    """The report of tables by their names; `orphans`: their folders are listed too."""
    now = time.time()
    found = []
    for name, load in loaders:
        try:
            found.append(_of_table(name, load(), now, orphans=orphans))
        except (KeyfoldError, OSError) as error:
            found.append(TableReport(name, error=str(error)))
    return Report(tuple(sorted(found, key=lambda one: one.table)), now)


def _of_table(name: str, table: Table, now: float, *, orphans: bool) -> TableReport:
    snapshot = table.snapshot
    buckets = of_table(table)
    lost = remove_orphans(table, None, dry_run=True) if orphans else None
    size = sum(one.bytes for one in buckets)
    read = sum(one.bytes for one in buckets if one.runs)  # other rows wait for their buckets
    weighted = sum(one.read_amplification * one.bytes for one in buckets)
    return TableReport(
        name,
        snapshot=table.snapshot_id,
        snapshots=len(table.snapshots.ids()),
        seconds_since_commit=_since(now, None if snapshot is None else snapshot.time_millis),
        buckets=len(buckets),
        most_runs=max((one.runs for one in buckets), default=0),
        read_amplification=round(weighted / read, 2) if read else 1.0,
        buckets_with_advice=sum(1 for one in buckets if one.advice),
        orphan_files=None if lost is None else len(lost),
        orphan_bytes=None if lost is None else sum(one.bytes for one in lost),
        advice=tuple(dict.fromkeys(one.advice for one in buckets if one.advice)),
        consumers=_lags(table),
        files=sum(one.files for one in buckets),
        level0_files=sum(one.level0_files for one in buckets),
        bytes=size,
        rows=sum(one.rows for one in buckets),
        delete_rows=sum(one.delete_rows for one in buckets),
    )


def _since(now: float, millis: int | None) -> float | None:
    """Seconds since then; a clock that another writer has ahead gives 0."""
    return None if millis is None else round(max(0.0, now - millis / 1000), 3)


def _lags(table: Table) -> dict[str, Any]:
    """The snapshots after the last that each consumer has read."""
    newest, found = table.snapshot_id or 0, {}
    for name in sorted(consumers.names(table)):
        position = consumers.position(table, name)
        if position is not None:
            found[name] = max(0, newest + 1 - position.following)
    return found
