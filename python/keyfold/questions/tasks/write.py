"""The question `write`: one task's rows, answered with the files they became (executor side).

The JVM sends an Arrow IPC stream, then says whether the task may commit. If it may not, or leaves
before it has heard the answer, the files are deleted: nothing refers to them yet.
"""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa

from keyfold.bridge import frames, memory
from keyfold.bridge.channel import Channel, Disconnected, Traffic
from keyfold.lookup.of_tasks import CARRIED, NONE, TaskLookups
from keyfold.questions.serve import functions_of, sending_errors
from keyfold.resources import budget
from keyfold.resources.metering import Meter, metering
from keyfold.resources.threads import ahead
from keyfold.wire.message_texts import texts_of
from keyfold.wire.specs import CommitMessage, WriteSpec, totals
from keyfold.write import writer
from keyfold.write.buffer import AHEAD_FROM
from keyfold.write.job import Job


def answer(channel: Channel, question: frames.Frame) -> None:
    """Write the incoming rows as question["write"] says."""
    with metering() as meter:
        _answer(channel, question, meter)


def _answer(channel: Channel, question: frames.Frame, meter: Meter) -> None:
    with sending_errors(channel, "reading what to write"):
        spec, plans = job_of(question)
    channel.send({"ok": {}})
    traffic = Traffic()
    rows = traffic.counted(received(channel))
    with functions_of(question["write"]):
        messages = written(channel, spec, rows, plans)
    if messages is None:
        refuse(channel, rows)
    else:
        drain(rows)
        deliver(channel, spec, messages, metrics(messages, traffic, meter))


def job_of(question: frames.Frame) -> tuple[WriteSpec, TaskLookups]:
    """The job that a task is part of, and the plans by which it looks up."""
    found = question["write"]
    return WriteSpec.from_json(found), TaskLookups.from_json(found.get(CARRIED, {}))


def received(channel: Channel) -> Iterator[pa.RecordBatch]:
    """The incoming batches; if there is room, the next ones are taken while one is used."""
    batches = channel.receive_batches()
    return ahead(batches) if budget.bytes() >= AHEAD_FROM else batches


def written(
    channel: Channel,
    spec: WriteSpec,
    rows: Iterator[pa.RecordBatch],
    plans: TaskLookups = NONE,
) -> Sequence[CommitMessage] | None:
    """The files of the rows; None if the write failed, which the JVM then knows."""
    try:
        return writer.write(spec, rows, plans)
    except Disconnected:
        raise
    except Exception as e:
        channel.send(frames.failure(memory.explained(e), f"writing table {spec.layout.name}"))
        return None


def refuse(channel: Channel, rows: Iterator[pa.RecordBatch]) -> None:
    """Take the rows the JVM still sends after an error; raises Disconnected if that fails too.

    Without memory, or with a broken stream, nothing can follow on this connection.
    """
    try:
        drain(rows)
        verdict(channel)
    except Exception as e:
        raise Disconnected(f"no more can be received: {e}") from e


def deliver(
    channel: Channel, spec: WriteSpec, messages: Sequence[CommitMessage], metrics: Mapping[str, int]
) -> None:
    """Hand the files over if the JVM says commit, else delete them."""
    try:
        if not verdict(channel):
            Job(spec.layout, messages).remove()
            messages = ()
        texts = frames.TaskTexts(texts_of(messages))
        channel.send({"ok": {frames.TASKS: texts, "metrics": metrics}})
    except BaseException:
        Job(spec.layout, messages).remove()
        raise


def metrics(messages: Sequence[CommitMessage], traffic: Traffic, meter: Meter) -> dict[str, int]:
    """The rows that came in and the files they became, by their names in Spark's UI."""
    files = totals(file for message in messages for file in message.files)
    written = {"rows_in": traffic.rows, "rows_out": files.pop("rows")}
    return traffic.metrics() | meter.figures() | written | files


def drain(rows: Iterator[pa.RecordBatch]) -> None:
    """Take the rest of the stream, so that the verdict is the next thing to arrive."""
    deque(rows, maxlen=0)


def verdict(channel: Channel) -> bool:
    """Whether the task may commit: the frame that follows the rows."""
    frame = channel.receive()
    if frame is None:
        raise Disconnected("the JVM left without saying whether to commit")
    return bool(frame.get("commit"))
