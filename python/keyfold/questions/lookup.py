"""The question `lookup`: rows of the keys that one task sends, until it ends (executor side).

Each frame `keys` is followed by one Arrow stream and answered with an ok frame and one more, which
has a row for each key in its order: whether it was found, and its columns. After an error nothing
more is read of what the JVM sends, until it closes the connection.
"""

import pyarrow as pa

from keyfold.bridge import frames, memory
from keyfold.bridge.channel import Channel, Disconnected, Traffic
from keyfold.lookup.places import LookupPlan
from keyfold.lookup.rows import look_up, schema_of
from keyfold.questions.serve import functions_of
from keyfold.resources.metering import Meter, metering

FOUND = pa.field("_FOUND", pa.bool_(), False)


def answer(channel: Channel, question: frames.Frame) -> None:
    """Look up what comes in by question["lookup"]."""
    doing = "looking keys up"
    try:
        plan = LookupPlan.from_json(question["lookup"])
        doing = f"looking keys up in table {plan.scan.layout.name}"
    except Exception as e:
        channel.send(frames.failure(memory.explained(e), doing))
        return
    channel.send({"ok": {}})
    with metering() as meter, functions_of(question["lookup"]):
        try:
            _serve(channel, plan, meter)
        except Disconnected:
            raise
        except Exception as e:
            channel.send(frames.failure(memory.explained(e), doing))
            channel.discard()


def _serve(channel: Channel, plan: LookupPlan, meter: Meter) -> None:
    """Take frames until the last one, or until the JVM leaves."""
    traffic = Traffic()
    schema = pa.schema([FOUND, *schema_of(plan)])
    while (frame := channel.receive()) is not None:
        match frame:
            case {"keys": True}:
                batches = traffic.counted(channel.receive_batches())
                found, rows = look_up(plan, _keys(plan, pa.concat_batches(list(batches))))
                arrays = [found, *rows.columns]
                channel.send({"ok": {"found": found.true_count}})
                channel.send_batches(
                    schema, iter([pa.RecordBatch.from_arrays(arrays, schema=schema)])
                )
            case {"end": True}:
                channel.send({"ok": {"metrics": traffic.metrics() | meter.figures()}})
                return
            case _:
                raise ValueError(f"unknown message {dict(frame)}")


def _keys(plan: LookupPlan, batch: pa.RecordBatch) -> pa.RecordBatch:
    """The keys in the table's types; the JVM has long offsets in texts."""
    layout = plan.scan.layout
    kinds = {name: layout.column(name).arrow_field.type for name in layout.primary_key}
    arrays = [batch.column(name).cast(kind) for name, kind in kinds.items()]
    return pa.RecordBatch.from_arrays(arrays, names=list(kinds))
