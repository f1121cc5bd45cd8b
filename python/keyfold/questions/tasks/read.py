"""The questions `read` and `read_changes`: the splits of one task of one scan, answered with its
rows (executor side).

ok frame, Arrow IPC stream, trailer frame with the metrics. An error before the first batch replaces
the ok frame; a later one ends the stream properly and takes the trailer's place.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import pyarrow as pa

from keyfold.bridge import frames
from keyfold.bridge.channel import Channel, Traffic
from keyfold.changelog import changed_rows
from keyfold.changelog.specs import ChangeSplit, ChangesSpec
from keyfold.questions.serve import functions_of, sending_errors
from keyfold.read import task
from keyfold.resources.metering import Meter, metering
from keyfold.resources.threads import ahead
from keyfold.wire.specs import ScanSpec, Split, totals


@dataclass(frozen=True)
class _Reading:
    """The rows of one task, the figures of the files they come from, and the name of their own."""

    table: str
    schema: pa.Schema
    begin: Callable[[], Iterator[pa.RecordBatch]]
    stored: dict[str, int]
    unit: str = "rows_out"


def answer(channel: Channel, question: frames.Frame) -> None:
    """Send the rows of question["splits"] under question["scan"]."""
    _metered(channel, question, _rows)


def answer_changes(channel: Channel, question: frames.Frame) -> None:
    """Send the changes of question["splits"] under question["scan"]."""
    _metered(channel, question, _changes)


def _rows(question: frames.Frame) -> _Reading:
    scan = ScanSpec.from_json(question["scan"])
    splits = [Split.from_json(split) for split in question["splits"]]
    # Each piece of a bucket that is cut by key range opens its files, so they count each time.
    stored = totals(file for split in splits for file in split.files)
    unit = "rows_out" if scan.aggregate is None else "groups"
    begin = partial(task.read_task, scan, splits)
    return _Reading(scan.layout.name, task.schema_of(scan), begin, stored, unit)


def _changes(question: frames.Frame) -> _Reading:
    spec = ChangesSpec.from_json(question["scan"])
    splits = [ChangeSplit.from_json(split) for split in question["splits"]]
    stored = totals(f for one in splits for side in (one.before, one.after) for f in side.files)
    begin = partial(changed_rows.read_task, spec, splits)
    return _Reading(spec.scan.layout.name, changed_rows.schema(spec), begin, stored)


def _metered(
    channel: Channel, question: frames.Frame, reading: Callable[[frames.Frame], _Reading]
) -> None:
    with metering() as meter:
        with sending_errors(channel, "reading splits"):
            found = reading(question)
        with sending_errors(channel, f"reading table {found.table}"):
            with functions_of(question["scan"]):
                batches = opened(found.begin())
            channel.send({"ok": {}})
            traffic = channel.send_batches(found.schema, batches)
        channel.send({"ok": {"metrics": _metrics(found, traffic, meter)}})


def opened(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Pass batches on: the first is made already, the next ones are made ahead."""
    made = ahead(iter(batches))
    first = list(itertools.islice(made, 1))
    return itertools.chain(first, made)


def _metrics(found: _Reading, traffic: Traffic, meter: Meter) -> dict[str, int]:
    """The input (rows, files and their bytes) and the output, by their names in Spark's UI."""
    files = {name: value for name, value in found.stored.items() if name != "rows"}
    return traffic.metrics() | files | meter.figures() | {found.unit: traffic.rows}
