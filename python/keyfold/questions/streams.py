"""Questions of a stream that reads a table (driver side): where it begins, how far the next batch
goes, its tasks, and that it has been read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from keyfold.bridge.frames import Frame
from keyfold.options.calls import STREAM_CHANGES, STREAM_FROM
from keyfold.questions.serve import Questions, planned
from keyfold.read.call_options import call_options
from keyfold.storage.maintenance import retained
from keyfold.storage.table import Table, open_handle
from keyfold.streams import batches, offsets
from keyfold.streams.offsets import parsed
from keyfold.streams.options import StreamOptions, stream_options

QUESTIONS = Questions()


def _opened(question: Frame) -> tuple[Table, StreamOptions, Mapping[str, str]]:
    table = open_handle(question["table"], question["catalog"]["options"], latest=True)
    table.check_readable()
    call = STREAM_CHANGES if "after" in question["changes"] else STREAM_FROM
    asked = call_options(call, table, question["options"])
    return table, stream_options(table.layout.name, asked, question["zone"]), asked


@QUESTIONS.look
def open_stream(question: Frame) -> dict[str, Any]:
    """Check the options of a stream. The answer says whether they limit batches."""
    _, options, _ = _opened(question)
    return {"limited": bool(options.limits)}


@QUESTIONS.look
def begin_stream(question: Frame) -> dict[str, Any]:
    """The offset before the first batch."""
    table, options, _ = _opened(question)
    return {"offset": offsets.initial(table, options, question["changes"].get("after")).text()}


@QUESTIONS.look
def newest_snapshot(question: Frame) -> dict[str, Any]:
    """The newest snapshot's number, 0 without data."""
    table, _, _ = _opened(question)
    return {"snapshot": table.snapshot_id or 0}


@QUESTIONS.look
def following_offset(question: Frame) -> dict[str, Any]:
    """The end of the batch after `start`. `limited`: it is no larger than the options say. `until`
    is the last snapshot that may be read, null for the newest. With the newest snapshot and its
    time in ms.
    """
    table, options, _ = _opened(question)
    limits = options.limits if question["limited"] else {}
    begin, until = parsed(question["start"]), question.get("until")
    rows = batches.shown(question["changes"], ignores_deletes=options.ignores_deletes)
    found = batches.following(table, begin, rows, limits, until)
    newest = table.snapshots.latest()
    return {
        "offset": found.text(),
        "snapshot": newest.id if newest else 0,
        "millis": newest.time_millis if newest else 0,
    }


@QUESTIONS.look
def plan_stream(question: Frame) -> dict[str, Any]:
    """The tasks of the batch from `start` to `end`, and the question by which workers read them."""
    table, options, asked = _opened(question)
    rows = batches.shown(question["changes"], ignores_deletes=options.ignores_deletes)
    begin, end = parsed(question["start"]), parsed(question["end"])
    reading, spec, tasks = batches.plan(
        table, begin, end, rows, question["columns"], asked, question["cores"]
    )
    return planned(question, table.layout, spec, tasks) | {"question": reading}


@QUESTIONS.plain
def commit_stream(question: Frame) -> None:
    """Note that the stream needs nothing before `end`, if it is a consumer."""
    table, options, _ = _opened(question)
    if options.consumer is not None:
        end = parsed(question["end"])
        retained.advance(table, options.consumer, end.snapshot + (end.index is None))
