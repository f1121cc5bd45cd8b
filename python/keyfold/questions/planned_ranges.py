"""Plans of many files that tasks of one Spark job make, each of a range of partitions.

A task answers with the texts of its tasks in the arrays in which they travel on to the JVM, each
compressed: they become no objects on the driver.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import pyarrow as pa

from keyfold.bridge.frames import Frame, TaskArrays, TaskTexts
from keyfold.errors import TableError
from keyfold.questions.planned import splits_of, texts_of
from keyfold.questions.serve import Talk, functions_for
from keyfold.questions.spark import Spark
from keyfold.read import scan_plan
from keyfold.read.plan_ranges import of_range, opened_in_task
from keyfold.read.request import ReadRequest
from keyfold.read.scan_plan import ScanReport
from keyfold.storage.metadata.snapshot_files import listed_count
from keyfold.storage.table import Table
from keyfold.wire.layout import TableLayout
from keyfold.wire.specs import ScanSpec

_REQUEST = ("columns", "filters", "enforced", "aggregate", "cores")
_QUICK = 1  # a level that takes less than what is sent would
Json = dict[str, Any]


def plan_by_tasks(
    question: Frame, table: Table, request: ReadRequest, count: int, talk: Talk
) -> tuple[ScanSpec, TaskTexts, int, ScanReport]:
    """The scan of a request whose `count` ranges tasks plan, its tasks and their splits."""
    scan = scan_plan.scan_of(table, request)
    asked = {
        "question": "plan_range",
        **{name: question.get(name) for name in _REQUEST},
        "options": request.options,
        "layout": table.layout.to_json(),
        "snapshot": None if table.snapshot is None else table.snapshot.as_read(),
        "tag": table.tag,
        **functions_for(question, table.layout),
    }
    title = f"keyfold: plan of {table.layout.name}: {count} ranges of partitions"
    made = [Json()] * count
    for told in Spark(question, talk).answers(title, asked, map(str, range(count)), count):
        if told["ok"] is None:
            raise TableError(told["failure"])
        made[told["place"]] = told["ok"]
    older = [ScanSpec.from_json(one["scan"]).schemas for one in made]
    schemas = {number: columns for each in older for number, columns in each.items()}
    arrays = TaskArrays(_unpacked(made))
    return (
        replace(scan, schemas=dict(sorted(schemas.items()))),
        arrays,
        sum(one["splits"] for one in made),
        _together(table, [ScanReport(**one["report"]) for one in made]),
    )


def _together(table: Table, reports: Sequence[ScanReport]) -> ScanReport:
    snapshot = table.checked_snapshot
    assert snapshot is not None
    return replace(
        reports[0],
        rows=sum(one.rows for one in reports),
        bytes=sum(one.bytes for one in reports),
        files_total=listed_count(table.manifests, snapshot),
        files_read=sum(one.files_read for one in reports),
        unmerged=all(one.unmerged for one in reports),
        ranges=len(reports),
        waiting=sum(one.waiting for one in reports),
    )


def _unpacked(made: Sequence[Mapping[str, Any]]) -> Iterator[bytes]:
    codec = pa.Codec("zstd")
    for one in made:
        for size, text in one["tasks"]:
            yield codec.decompress(base64.b64decode(text), size, asbytes=True)


def plan_range(question: Frame) -> Json:
    """The range that question["task"] numbers, planned (executor side)."""
    layout = TableLayout.from_json(question["layout"])
    table = opened_in_task(layout, question["snapshot"], question["tag"])
    request = ReadRequest.from_json(question, question["options"])
    scan, tasks, report = scan_plan.plan_read(table, of_range(table, request, question["task"]))
    codec = pa.Codec("zstd", compression_level=_QUICK)
    packed = [
        (len(body), base64.b64encode(codec.compress(body, asbytes=True)).decode("ascii"))
        for body in texts_of(tasks).arrays()
    ]
    splits = splits_of(tasks)
    return {"scan": scan.to_json(), "report": asdict(report), "splits": splits, "tasks": packed}
