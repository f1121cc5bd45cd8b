"""The question `plan_scan` (driver side): asked once a scan; splits and an estimate."""

from collections.abc import Callable, Mapping
from typing import Any

from keyfold.merge.plan import plan
from keyfold.read import planner
from keyfold.read.planner import ScanReport
from keyfold.storage.table import Table, open_handle
from keyfold.worker import code
from keyfold.worker.wire import Frame


def plan_scan(question: Frame) -> dict[str, Any]:
    """The scan, its splits, the rows and bytes they hold before merging, and a line for EXPLAIN."""
    table = open_handle(question["table"], question["catalog"]["options"])
    table.check_readable()
    limit = question.get("limit")
    scan, splits, report = planner.plan(
        table, question["columns"], question["filters"], limit, question.get("options") or {}
    )
    plan(scan.layout, scan.columns)  # refuses here, not in a task, what this session lacks
    return {
        "scan": scan.to_json() | code.needed(question, scan.layout),
        "splits": [split.to_json() for split in splits],
        "rows": report.rows,
        "bytes": report.bytes,
        "metrics": metrics(report),
        "description": description(table, report, limit),
    }


def metrics(report: ScanReport) -> dict[str, int]:
    """What the plan reads and leaves out, by the names Spark's UI has."""
    return {
        "files": report.files_read,
        "files_skipped": report.files_total - report.files_read,
        "bytes": report.bytes,
    }


def description(table: Table, report: ScanReport, limit: int | None) -> str:
    """What EXPLAIN shows behind the table: snapshot, files, and what was pushed down."""
    parts = [
        "no snapshot" if report.snapshot is None else f"snapshot {report.snapshot}",
        f"{report.files_read} of {report.files_total} files",
    ]
    if report.pushed:
        parts.append(f"pushed: {' AND '.join(report.pushed)}")
    if limit is not None:
        parts.append(f"limit {limit}")
    return ", ".join(parts)


QUESTIONS: Mapping[str, Callable[[Frame], Any]] = {"plan_scan": plan_scan}
