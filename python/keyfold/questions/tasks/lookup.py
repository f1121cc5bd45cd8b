"""The question `lookup`: rows of the keys that one task sends, until it ends (executor side).

Each frame `keys` is followed by one Arrow stream of the columns `by`. The answer is an ok frame, a
stream of the rows that the keys have, and an ok frame. If the join has inserted the keys before, it
is an error if one has no row. An error before the first row replaces the first of these, a later
one the last. After it nothing more is read of what the JVM sends, until it
closes the connection.
"""

import itertools
from collections.abc import Sequence

import pyarrow as pa

from keyfold.bridge import frames, memory
from keyfold.bridge.channel import Channel, Disconnected, Traffic
from keyfold.errors import ConflictError
from keyfold.lookup.key_places import LookupPlan
from keyfold.lookup.matches import matches, matches_schema
from keyfold.lookup.of_tasks import PlannedLookups
from keyfold.questions.serve import functions_of, sending_errors
from keyfold.read.formats.parquet import BYTES_READ
from keyfold.resources.metering import Meter, metering
from keyfold.wire.layout import TableLayout


def answer(channel: Channel, question: frames.Frame) -> None:
    """Look up what comes in by question["lookup"]."""
    with sending_errors(channel, "looking keys up"):
        plans = PlannedLookups.from_json(question["lookup"])
    doing = f"looking keys up in table {plans.layout.name}"
    channel.send({"ok": {}})
    with metering() as meter, functions_of(question["lookup"]):
        try:
            _serve(channel, plans, question, meter)
        except Disconnected:
            raise
        except Exception as e:
            channel.send(frames.failure(memory.explained(e), doing))
            channel.discard()


def _serve(channel: Channel, plans: PlannedLookups, question: frames.Frame, meter: Meter) -> None:
    """Take frames until the last one, or until the JVM leaves."""
    by, finds_all = question["by"], question["lookup"]["finds_all"]
    traffic = Traffic()
    meter.count(BYTES_READ, 0)
    while (frame := channel.receive()) is not None:
        match frame:
            case {"keys": True}:
                batches = traffic.counted(channel.receive_batches())
                keys = _keys(plans.layout, by, pa.concat_batches(list(batches)))
                _answer_keys(channel, plans.of(keys), keys, finds_all=finds_all)
            case {"end": True}:
                channel.send({"ok": {"metrics": traffic.metrics() | meter.figures()}})
                return
            case _:
                raise ValueError(f"unknown message {dict(frame)}")


def _answer_keys(
    channel: Channel, plan: LookupPlan, keys: pa.RecordBatch, *, finds_all: bool
) -> None:
    found = matches(plan, keys.schema.names, keys)
    first = list(itertools.islice(found, 1))
    if finds_all and (lacking := keys.num_rows - sum(batch.num_rows for batch in first)):
        raise ConflictError(
            f"{lacking} keys that this join inserted have no row now: other jobs delete them, a "
            "delete with a later sequence hides them, or the rows of its other side, computed "
            "again, have other keys: write those into a table first"
        )
    channel.send({"ok": {}})
    channel.send_batches(matches_schema(plan), itertools.chain(first, found))
    channel.send({"ok": {}})


def _keys(layout: TableLayout, by: Sequence[str], batch: pa.RecordBatch) -> pa.RecordBatch:
    """The keys in the table's types; the JVM has long offsets in texts."""
    kinds = {name: layout.column(name).arrow_field.type for name in by}
    arrays = [batch.column(name).cast(kind) for name, kind in kinds.items()]
    return pa.RecordBatch.from_arrays(arrays, names=list(kinds))
