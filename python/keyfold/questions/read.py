"""The question `read`: the splits of one task of one scan, answered with its rows (executor side).

ok frame, Arrow IPC stream, trailer frame with the metrics. An error before the first batch replaces
the ok frame; a later one ends the stream properly and takes the trailer's place.
"""

import itertools
from collections.abc import Iterator, Sequence

import pyarrow as pa

from keyfold.bridge import frames, memory
from keyfold.bridge.channel import Channel, Disconnected, Traffic
from keyfold.bridge.prefetch import ahead
from keyfold.questions.serve import functions_of
from keyfold.read.task import read_task, schema_of
from keyfold.resources.metering import Meter, metering
from keyfold.wire.specs import ScanSpec, Split, totals


def answer(channel: Channel, question: frames.Frame) -> None:
    """Send the rows of question["splits"] under question["scan"]."""
    with metering() as meter:
        _answer(channel, question, meter)


def _answer(channel: Channel, question: frames.Frame, meter: Meter) -> None:
    doing = "reading splits"
    try:
        scan = ScanSpec.from_json(question["scan"])
        doing = f"reading table {scan.layout.name}"
        splits = [Split.from_json(split) for split in question["splits"]]
        with functions_of(question["scan"]):
            batches = opened(read_task(scan, splits))
    except Exception as e:
        channel.send(frames.failure(memory.explained(e), doing))
        return
    channel.send({"ok": {}})
    channel.send(rows_sent(channel, scan, splits, batches, meter))


def opened(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same batches, the first already made and the next ones being made ahead."""
    made = ahead(iter(batches))
    first = list(itertools.islice(made, 1))
    return itertools.chain(first, made)


def rows_sent(
    channel: Channel,
    scan: ScanSpec,
    splits: Sequence[Split],
    batches: Iterator[pa.RecordBatch],
    meter: Meter,
) -> frames.Frame:
    """Send the stream; returns the trailer that belongs after it."""
    try:
        traffic = channel.send_batches(schema_of(scan), batches)
    except Disconnected:
        raise
    except Exception as e:
        return frames.failure(memory.explained(e), f"reading table {scan.layout.name}")
    return {"ok": {"metrics": metrics(scan, splits, traffic, meter)}}


def metrics(
    scan: ScanSpec, splits: Sequence[Split], traffic: Traffic, meter: Meter
) -> dict[str, int]:
    """The input (rows, files and their bytes) and the output, by their names in Spark's UI."""
    # Each piece of a bucket that is cut by key range opens its files, so they count each time.
    stored = totals(file for split in splits for file in split.files)
    del stored["rows"]
    sent = {"rows_out" if scan.aggregate is None else "groups": traffic.rows}
    return traffic.metrics() | stored | meter.figures() | sent
