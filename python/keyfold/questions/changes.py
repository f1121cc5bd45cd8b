"""Questions about the changes of a table (driver side): their range, and the tasks to read them."""

from collections.abc import Mapping
from typing import Any

from keyfold.bridge.frames import Frame
from keyfold.changelog import changes_plan, snapshot_ranges, views
from keyfold.changelog.changes_plan import ChangesReport
from keyfold.changelog.specs import ChangesRequest, ChangesSpec
from keyfold.options.calls import READ_BETWEEN, READ_CHANGES
from keyfold.questions.catalog import pushdown, table_of
from keyfold.questions.planned import planned
from keyfold.questions.serve import Questions
from keyfold.read.call_options import call_options
from keyfold.read.request import ReadRequest
from keyfold.storage.table import Table, open_handle

QUESTIONS = Questions()


@QUESTIONS.look
def load_changes(question: Frame) -> dict[str, Any]:
    """The changes of a table in a range, described as a table."""
    catalog, namespace, name = table_of(question)
    table = catalog.load_table(namespace, name)
    table.check_readable()
    found = snapshot_ranges.asked_for(table, question["range"])
    asked = ChangesRequest(
        views.CHANGES.name, found.after, found.until, question["net"], question["updates"]
    )
    columns = views.to_json(views.CHANGES, table.layout)
    described = {"columns": columns, "changes": asked.to_json()}
    return table.describe() | {"pushdown": pushdown(table.layout)} | described


@QUESTIONS.look
def plan_changes(question: Frame) -> dict[str, Any]:
    """The tasks that read changes, the rows and bytes they read, and a line for EXPLAIN."""
    table = open_handle(question["table"], question["catalog"]["options"])
    table.check_readable()
    call = READ_CHANGES if "until" in question["changes"] else READ_BETWEEN
    given = call_options(call, table, question.get("options"))
    asked = _asked(table, question["changes"], given, question.get("zone") or "UTC")
    spec, tasks, report = changes_plan.plan_changes(
        table, asked, ReadRequest.from_json(question, given)
    )
    return planned(question, spec.scan.layout, spec, tasks) | {
        "rows": report.rows,
        "bytes": report.bytes,
        "metrics": {"files": report.files, "bytes": report.bytes},
        "description": _description(asked, report, spec),
    }


def _asked(table: Table, changes: Frame, options: Mapping[str, str], zone: str) -> ChangesRequest:
    """The changes asked for: a range, those that a reader's options name, or all rows."""
    if "until" in changes:
        return ChangesRequest.from_json(changes)
    return snapshot_ranges.asked(table, changes["view"], options, zone)


def _description(asked: ChangesRequest, report: ChangesReport, spec: ChangesSpec) -> str:
    """The text EXPLAIN shows."""
    parts = [
        f"changes of snapshots {asked.after + 1} to {asked.until}",
        f"{report.snapshots} to compare",
        f"{report.files} files",
    ]
    if report.pushed:
        parts.append(f"pushed: {' AND '.join(report.pushed)}")
    if spec.limit is not None:
        parts.append(f"limit {spec.limit}")
    return ", ".join(parts)
