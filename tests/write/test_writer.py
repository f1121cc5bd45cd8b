"""The writer: what it writes is what was folded, however much of it had to be spilled."""

import random
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyfold.errors import CorruptDataError, TableError
from keyfold.files.buckets import split
from keyfold.merge import fan_in
from keyfold.merge.plan import plan_merge
from keyfold.options.parsing import parse
from keyfold.wire.layout import TableLayout
from keyfold.wire.specs import ORDINAL, CommitMessage
from keyfold.write import buffer
from keyfold.write.job import Job
from keyfold.write.renumber import renumber
from keyfold.write.writer import write
from tests import readers
from tests.draws import draws
from tests.read import harness
from tests.storage import tables

KINDS = ("+I", "-U", "+U", "-D")


def stored(folder: Path, messages: list[CommitMessage]) -> list[dict[str, Any]]:
    """Every stored row, system columns too."""
    found = []
    for message in messages:
        for file in message.files:
            path = next(folder.rglob(file.name))
            found += pq.read_table(path, partitioning=None).to_pylist()
    return found


def test_pypaimon_reads_the_same_rows(tmp_path: Path) -> None:
    new = tables.new_table(
        tables.column("p", "string"),
        tables.column("k"),
        tables.column("v", "decimal(20,3)"),
        tables.column("d", "date"),
        tables.column("t", "timestamp_ntz"),
        tables.column("a", {"type": "array", "elementType": "integer", "containsNull": True}),
        key="p,k",
        by="p",
        bucket="3",
    )
    table = tables.table(tmp_path, new)
    draw = random.Random(5)
    for _ in range(3):
        rows = [
            {
                "p": draw.choice(["x", "y z", "a/b"]),
                "k": draw.randrange(40),
                "v": draw.choice([None, 1, Decimal("2.5")]),
                "d": draw.choice([None, 19000]),
                "t": draw.choice([None, 1_000_000]),
                "a": draw.choice([None, [], [1, None]]),
            }
            for _ in range(50)
        ]
        harness.upsert(table, rows)
    ours = sorted(harness.rows(table), key=str)
    assert ours
    assert ours == sorted(readers.read(tmp_path, "default.t").to_pylist(), key=str)


def test_later_rows_of_a_job_win(tmp_path: Path) -> None:
    found = harness.layout(tmp_path, ("k", "INT NOT NULL"), ("v", "INT"))
    messages = write(
        harness.job(found), harness.batches(found, [{"k": 1, "v": i} for i in range(20)])
    )
    (row,) = stored(tmp_path, messages)
    assert (row["_KEY_k"], row["v"], row["_VALUE_KIND"]) == (1, 19, 0)


def test_ordinal_decides_not_arrival(tmp_path: Path) -> None:
    found = harness.layout(tmp_path, ("k", "INT NOT NULL"), ("v", "INT"))
    rows = [{"k": 1, "v": i, ORDINAL: 100 - i} for i in range(20)]
    messages = write(harness.job(found, ordinal=True), harness.batches(found, rows))
    assert [row["v"] for row in stored(tmp_path, messages)] == [0]


def test_columns_not_named_are_null(tmp_path: Path) -> None:
    found = harness.layout(tmp_path, ("k", "INT NOT NULL"), ("v", "INT"), ("w", "STRING"))
    incoming = pa.record_batch({"w": pa.array(["x"]), "k": pa.array([3], pa.int32())})
    messages = write(harness.job(found, columns=("w", "k")), [incoming])
    (row,) = stored(tmp_path, messages)
    assert (row["k"], row["v"], row["w"]) == (3, None, "x")


def test_null_in_a_not_null_column_is_refused(tmp_path: Path) -> None:
    found = harness.layout(tmp_path, ("k", "INT NOT NULL"), ("v", "INT NOT NULL"))
    with pytest.raises(TableError, match=r"Cannot write null to non-null column\(v\)"):
        write(harness.job(found), harness.batches(found, [{"k": 1}]))
    assert not list(tmp_path.rglob("*.parquet"))


def test_row_kinds_come_from_their_column(tmp_path: Path) -> None:
    columns = (("k", "INT NOT NULL"), ("kind", "STRING"))
    found = harness.layout(tmp_path, *columns, **{"rowkind.field": "kind"})
    rows = [{"k": i, "kind": kind} for i, kind in enumerate(KINDS)]
    messages = write(harness.job(found), harness.batches(found, rows))
    assert [row["_VALUE_KIND"] for row in stored(tmp_path, messages)] == [0, 1, 2, 3]
    assert [file.delete_rows for message in messages for file in message.files] == [2]
    with pytest.raises(TableError, match="Row kind cannot be null"):
        write(harness.job(found), harness.batches(found, [{"k": 1}]))


def test_ignored_deletes_leave_nothing(tmp_path: Path) -> None:
    options = {"rowkind.field": "kind", "ignore-delete": "true"}
    found = harness.layout(tmp_path, ("k", "INT NOT NULL"), ("kind", "STRING"), **options)
    assert write(harness.job(found), harness.batches(found, [{"k": 1, "kind": "-D"}])) == []


def test_abandoned_files_are_gone(tmp_path: Path) -> None:
    found = harness.layout(tmp_path, ("k", "INT NOT NULL"), bucket="4")
    spec = harness.job(found)
    messages = write(spec, harness.batches(found, [{"k": i} for i in range(50)]))
    assert len(list(tmp_path.rglob("*.parquet"))) == len(messages) == 4
    Job(spec.layout, messages).remove()
    assert not list(tmp_path.rglob("*.parquet"))


def test_an_error_while_reading_leaves_no_file(tmp_path: Path) -> None:
    found = harness.layout(
        tmp_path, ("k", "INT NOT NULL"), ("v", "TINYINT"), merge_engine="aggregation"
    )
    found.options["fields.v.aggregate-function"] = "sum"  # type: ignore[index]
    rows = [{"k": i, "v": 100} for i in range(50)] + [{"k": 49, "v": 100}]
    with pytest.raises(Exception, match="TINYINT"):
        write(harness.job(found), harness.batches(found, rows))
    assert not list(tmp_path.rglob("*.parquet"))


def test_renumbered_files_hold_the_same_rows(tmp_path: Path) -> None:
    found = harness.layout(tmp_path, ("k", "INT NOT NULL"), ("v", "STRING"), bucket="2")
    spec = harness.job(found)
    messages = write(spec, harness.batches(found, [{"k": i, "v": str(i)} for i in range(50)]))
    before = stored(tmp_path, messages)
    after = renumber(spec, messages, 77)
    assert {file.max_sequence for message in after for file in message.files} == {77}
    again = [row | {"_SEQUENCE_NUMBER": spec.sequence} for row in stored(tmp_path, after)]
    assert again == before
    assert len(list(tmp_path.rglob("*.parquet"))) == 2


def test_renumbered_files_that_wait_for_buckets_keep_the_form_of_their_names(
    tmp_path: Path,
) -> None:
    """Paimon's compactions find the writer of such a file in its name, and fail without it."""
    options = {"bucket": "-2", "postpone__batch_write_fixed_bucket": "false"}
    found = harness.layout(tmp_path, ("k", "INT NOT NULL"), **options)
    spec = harness.job(found)
    messages = write(spec, harness.batches(found, [{"k": i} for i in range(50)]))
    ((file,),) = [message.files for message in renumber(spec, messages, 77)]
    assert re.match(rf"data-u-{spec.job}-s-0-w-", file.name)


def test_renumbering_that_fails_leaves_no_new_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = harness.layout(tmp_path, ("k", "INT NOT NULL"), bucket="2")
    spec = harness.job(found)
    messages = write(spec, harness.batches(found, [{"k": i} for i in range(50)]))
    gone = messages[1].files[0].name
    next(tmp_path.rglob(gone)).unlink()
    with pytest.raises(CorruptDataError, match="it is missing"):
        renumber(spec, messages, 77)
    assert not list(tmp_path.rglob("*.parquet"))


ENGINES = (
    {},
    {"merge-engine": "aggregation"},
    {"merge-engine": "aggregation", "fields.v.aggregate-function": "first_value"},
    {"sequence.field": "s"},
)


@draws(30)
@given(st.data())
def test_spilled_equals_unspilled(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    options = data.draw(st.sampled_from(ENGINES))
    has_ordinal = data.draw(st.booleans())
    columns = (("k", "INT NOT NULL"), ("v", "INT"), ("s", "INT"))
    folder = tmp_path_factory.mktemp("spill")
    found = harness.layout(folder, *columns, bucket="2", **options)
    value = st.none() | st.integers(0, 5)
    draws = st.lists(st.tuples(st.integers(0, 6), value, value), max_size=60)
    rows = [dict(zip("kvs", row, strict=True)) for row in data.draw(draws)]
    if has_ordinal:
        rows = shuffled_tasks(rows, data.draw(st.integers(1, 4)), data.draw(st.randoms()))
    expected = folded(found, has_ordinal, rows, limit=1 << 30)
    limit = data.draw(st.sampled_from([1, 300, 900]))
    assert folded(found, has_ordinal, rows, limit) == expected


def shuffled_tasks(rows: list[dict[str, Any]], tasks: int, draw: Any) -> list[dict[str, Any]]:
    """Rows numbered as Spark numbers them, arriving map task by map task in any order."""
    parts = [rows[task::tasks] for task in range(tasks)]
    numbered = [
        [row | {ORDINAL: (task << buffer.ORDINAL_ROW_BITS) + i} for i, row in enumerate(part)]
        for task, part in enumerate(parts)
    ]
    draw.shuffle(numbered)
    return [row for part in numbered for row in part]


def folded(
    found: TableLayout, has_ordinal: bool, rows: list[dict[str, Any]], limit: int
) -> list[dict[str, Any]]:
    """What a buffer of a limit gives back for each bucket."""
    held = buffer.WriteBuffer(plan_merge(found, found.arrow_schema.names), has_ordinal, limit)
    for batch in harness.batches(found, rows):
        for place, part in split(found, parse(found), batch):
            held.add(place, part)
    output: list[dict[str, Any]] = []
    for place in sorted(held.places, key=lambda p: p.bucket):
        for batch in held.finish(place):
            output += batch.select(["k", "v", "s", "_VALUE_KIND"]).to_pylist()
    return output


def test_many_runs_are_merged_in_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fan_in, "OPEN_BYTES", 1 << 40)  # no two runs fit
    found = harness.layout(tmp_path, ("k", "INT NOT NULL"), ("v", "INT"), ("s", "INT"))
    rows = [{"k": i % 9, "v": i, "s": 0} for i in range(200)]
    assert folded(found, False, rows, limit=1) == folded(found, False, rows, limit=1 << 30)
