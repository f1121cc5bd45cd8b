"""The questions `plan_scan` (driver side), asked once per scan: its tasks and an estimate; and
`plan_lookup`, asked once for each join with a table by its key.
"""

from dataclasses import replace
from typing import Any

from keyfold.bridge.frames import Frame
from keyfold.lookup.of_keys import lookups
from keyfold.questions.planned import planned, splits_of, texts_of
from keyfold.questions.planned_ranges import plan_by_tasks
from keyfold.questions.serve import Questions, Talk, functions_for
from keyfold.read import scan_plan
from keyfold.read.by_bucket import bucket_column, grouped
from keyfold.read.call_options import as_changed, scan_options
from keyfold.read.column_statistics import of_scan
from keyfold.read.folds.scan_aggregates import functions
from keyfold.read.nested_pruning import narrowed
from keyfold.read.plan_ranges import ranges
from keyfold.read.request import ReadRequest
from keyfold.read.scan_plan import ScanReport
from keyfold.storage.table import Table, open_handle
from keyfold.wire.predicates import decoded
from keyfold.wire.specs import ScanSpec

QUESTIONS = Questions()


@QUESTIONS.look_asking
def plan_scan(question: Frame, talk: Talk | None = None) -> dict[str, Any]:
    """The scan, its tasks, the rows and bytes they hold before merging, and a line for EXPLAIN.
    Tasks of the session that asks may plan it, if there is one to talk to.
    """
    table = open_handle(question["table"], question["catalog"]["options"])
    table = as_changed(table) if question.get("is_of_change") else table
    options = scan_options(table, question.get("options"), is_past=table.is_past)
    request = ReadRequest.from_json(question, options)
    is_whole = request.limit is None and request.aggregate is None
    column = bucket_column(table, options) if is_whole else None
    if column:
        request = replace(request, cores=1)
    by_bucket = None
    count = 0 if column or talk is None else len(ranges(table, request))
    if talk is not None and count:
        scan, tasks, splits, report = plan_by_tasks(question, table, request, count, talk)
    else:
        scan, found, report = scan_plan.plan_read(table, request)
        by_bucket = grouped(table, column, found) if column else None
        found = by_bucket.tasks if by_bucket else found
        tasks, splits = texts_of(found), splits_of(found)
    scan = narrowed(scan, question.get("parts") or {})
    statistics = of_scan(table, scan.columns, report.rows, request.enforced)
    return planned(question, scan.layout, scan, tasks) | {
        "by_bucket": by_bucket.to_json() if by_bucket else None,
        "splits": splits,
        "rows": report.rows,
        "bytes": report.bytes,
        "statistics": statistics,
        "metrics": metrics(report),
        "description": description(table, report, scan),
    }


def metrics(report: ScanReport) -> dict[str, int]:
    """The files the plan reads and those it leaves out, by their names in Spark's UI."""
    return {
        "files": report.files_read,
        "files_skipped": report.files_total - report.files_read,
        "bytes": report.bytes,
    }


def description(table: Table, report: ScanReport, scan: ScanSpec) -> str:
    """The text EXPLAIN shows behind the table: snapshot, files, and what was pushed down."""
    parts = [
        "no snapshot" if report.snapshot is None else f"snapshot {report.snapshot}",
        f"{report.files_read} of {report.files_total} files",
    ]
    if report.pushed:
        parts.append(f"pushed: {' AND '.join(report.pushed)}")
    if scan.aggregate is not None:
        shown = ", ".join(map(str, functions(scan.layout, scan.aggregate)))
        parts.append(f"PushedAggregation: [{shown}]")
        if scan.aggregate.by:
            parts.append(f"PushedGroupBy: [{', '.join(scan.aggregate.by)}]")
    if report.waiting:
        parts.append(f"{report.waiting} of rows without buckets")
    if report.ranges:
        parts.append(f"planned by {report.ranges} tasks")
    if report.unmerged:
        parts.append("without merge")
    if scan.limit is not None:
        parts.append(f"{'first' if scan.is_top else 'limit'} {scan.limit}")
    return ", ".join(parts)


@QUESTIONS.look
def plan_lookup(question: Frame) -> dict[str, Any]:
    """The plan by which tasks look keys up, and the snapshot that they look into: the newest if
    their join has `inserted` keys before. Then it is an error if one is not found.
    """
    inserted = question["inserted"]
    table = open_handle(question["table"], question["catalog"]["options"], latest=inserted)
    table.check_format()
    filters, parts = decoded(question.get("filters")), question.get("parts") or {}
    read = as_changed(table) if inserted else table
    found = lookups(read, question["columns"], filters, parts)
    own = {"finds_all": inserted and all(one.op == "IS_NOT_NULL" for one in filters)}
    return {
        "lookup": found.to_json() | functions_for(question, read.layout) | own,
        "snapshot": table.snapshot_id,
    }
