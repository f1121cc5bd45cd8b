"""A real worker, forked and with little memory, folds rows to groups and says what it sent."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from keyfold.wire.specs import Aggregate, ScanSpec
from tests.bridge import tables
from tests.bridge.client import Server, server

ROWS = 200_000


@pytest.fixture(scope="module")
def running() -> Iterator[Server]:
    with server() as started:
        yield started


@pytest.mark.parametrize(("by", "groups"), [((), 1), (("id",), ROWS)])
def test_groups_come_out(running: Server, tmp_path: Path, by: tuple[str, ...], groups: int) -> None:
    table = tables.layout(tmp_path)
    asked = Aggregate(by, (("COUNT", None), ("SUM", "value"), ("MAX", "value")))
    worker = running.connect(memory=384 << 20)
    written = tables.write(worker, table, [tables.rows(0, ROWS)])
    question = tables.read_question(table, written)
    scan = replace(ScanSpec.from_json(question["scan"]), aggregate=asked, columns=())
    for _ in range(2):
        assert worker.ask("read", **question | {"scan": scan.to_json()}) == {"ok": {}}
        found = worker.rows()
        metrics = (worker.receive() or {})["ok"]["metrics"]
        assert metrics["groups"] == found.num_rows
        assert metrics["rows_out"] == ROWS
        if by:
            assert sorted(found["id"].to_pylist()) == list(range(ROWS))
        counts, sums, most = (pa.chunked_array(column) for column in found.columns[len(by) :])
        assert found.num_rows >= groups
        assert sum(counts.to_pylist()) == ROWS
        assert sum(filter(None, sums.to_pylist())) == ROWS * (ROWS - 1)
        assert max(filter(None, most.to_pylist())) == 2 * (ROWS - 1)
