"""Questions of a stream that reads a table (driver side): where it begins, how far the next batch
goes, its tasks. Each notes what a consumer has yet to read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from keyfold.bridge.frames import Frame
from keyfold.options.calls import STREAM_CHANGES, STREAM_FROM
from keyfold.questions.planned import planned
from keyfold.questions.serve import Questions
from keyfold.read.call_options import call_options
from keyfold.storage.maintenance import consumers
from keyfold.storage.metadata.snapshots import replanned
from keyfold.storage.table import Table, open_handle
from keyfold.streams import batches, offsets
from keyfold.streams.offsets import Offset, parsed, position_of
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
    return {"offset": _begun(question).text()}


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
    _note(table, options, begin)
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
    reading, spec, tasks = batches.plan_batch(
        table, begin, end, rows, question["columns"], asked, question["cores"]
    )
    _note(table, options, begin)
    return planned(question, table.layout, spec, tasks) | {"question": reading}


@replanned
def _begun(question: Frame) -> Offset:
    """The offset before the first batch. A consumer is noted first, and only then does it count
    whether that is still kept; a note that it can't go on from would be for ever.
    """
    table, options, _ = _opened(question)
    begin = offsets.initial(table, options, question["changes"].get("after"))
    if options.consumer is None or consumers.position(table, options.consumer) is not None:
        return begin
    consumers.note(table, options.consumer, position_of(begin))
    rows = batches.shown(question["changes"], ignores_deletes=options.ignores_deletes)
    try:
        batches.check_kept(table, begin, rows)
    except BaseException:
        consumers.forget(table, options.consumer)
        raise
    return begin


def _note(table: Table, options: StreamOptions, offset: Offset) -> None:
    """Note that the stream has read so far, if it is a consumer. Spark asks what follows an offset
    once the batch before it is in the log of the query, so this may be asked twice.
    """
    if options.consumer is not None:
        consumers.note(table, options.consumer, position_of(offset))
