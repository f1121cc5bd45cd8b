"""A table without a catalog: a layout, rows, and the questions a JVM would ask about them."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from keyfold.wire.layout import TableLayout
from keyfold.wire.message_texts import Messages
from keyfold.wire.partitions import UNPARTITIONED
from keyfold.wire.specs import DataFile, ScanSpec, Split, WriteSpec
from tests.bridge.client import Worker
from tests.read import harness


def layout(location: Path, **options: str) -> TableLayout:
    """`id` BIGINT PRIMARY KEY, `value` BIGINT, one bucket."""
    return harness.layout(location, ("id", "BIGINT"), ("value", "BIGINT"), key="id", **options)


def rows(start: int, count: int) -> pa.RecordBatch:
    """Keys start … start + count, value = 2 x key."""
    ids = np.arange(start, start + count)
    schema = pa.schema([pa.field("id", pa.int64(), False), pa.field("value", pa.int64())])
    return pa.record_batch([pa.array(ids), pa.array(ids * 2)], schema=schema)


def write_json(table: TableLayout) -> dict[str, Any]:
    """The write of one job."""
    return WriteSpec(table, tuple(table.arrow_schema.names), False, 7, "job").to_json()


def begin_write(worker: Worker, table: TableLayout) -> None:
    """Ask to write, and get the answer that says go on."""
    answer = worker.ask("write", write=write_json(table), task={"partition": 0, "attempt": 0})
    assert answer == {"ok": {}}


def write(
    worker: Worker, table: TableLayout, batches: list[pa.RecordBatch], commit: bool = True
) -> dict[str, Any]:
    """Write the batches as one task and return the last answer."""
    begin_write(worker, table)
    worker.send_batches(batches[0].schema, iter(batches))
    worker.send({"commit": commit})
    answer = worker.receive()
    assert answer is not None
    if "ok" in answer:
        answer["ok"]["tasks"] = worker.texts
    return answer


def read_question(table: TableLayout, answer: dict[str, Any]) -> dict[str, Any]:
    """The arguments of the read of what a write answered."""
    (message,) = Messages(answer["ok"]["tasks"])
    files = [
        DataFile(f.name, f.size, f.rows, f.delete_rows, f.min_sequence, f.max_sequence, 0, f.level)
        for f in message.files
    ]
    runs = (tuple(files),)
    split = Split(
        UNPARTITIONED, message.bucket, f"{table.location}/bucket-{message.bucket}", (runs,)
    )
    return {
        "scan": ScanSpec(table, ("id", "value"), {}).to_json(),
        "splits": [split.to_json()],
    }


def data_files(table: TableLayout) -> list[Path]:
    """Every file below the table's location."""
    return [path for path in Path(table.location).rglob("*") if path.is_file()]
