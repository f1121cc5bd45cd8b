"""`upsert(…, evolve=True)`: the table takes rows that it would refuse, and nothing else changes."""

import threading
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import keyfold
from keyfold.errors import TableError

COLUMNS = {
    "k": "INT",
    "n": "INT",
    "s": "STRUCT<a: INT, l: ARRAY<STRUCT<x: FLOAT>>>",
    "m": "MAP<STRING, SMALLINT>",
}


@pytest.fixture
def table(tmp_path: Path) -> Any:
    made = keyfold.connect(tmp_path).create_table("t", COLUMNS, ["k"])
    made.upsert([{"k": 0, "n": 7, "s": {"a": 1, "l": [{"x": 0.5}]}, "m": {"u": 3}}])
    return made


WIDE = pa.schema(
    [
        ("K", pa.int32()),
        ("n", pa.int64()),
        (
            "s",
            pa.struct(
                [
                    ("a", pa.int64()),
                    ("l", pa.list_(pa.struct([("x", pa.float64()), ("y", pa.date32())]))),
                    ("b", pa.string()),
                ]
            ),
        ),
        ("m", pa.map_(pa.string(), pa.int32())),
        ("new", pa.decimal128(9, 2)),
    ]
)


def test_columns_fields_and_types_follow_the_rows(table: Any) -> None:
    row = {"K": 1, "n": 1 << 40, "s": {"a": 1 << 40, "l": [{"x": 0.1, "y": None}], "b": "z"}}
    rows = pa.Table.from_pylist([row | {"m": [("v", 70000)], "new": None}], WIDE)
    with pytest.raises(TableError, match="it has no column new"):
        table.upsert(rows)
    table.upsert(pa.RecordBatchReader.from_stream(rows), evolve=True)
    assert table.columns == {
        "k": "INT NOT NULL",
        "n": "BIGINT",
        "s": "STRUCT<a: BIGINT, l: ARRAY<STRUCT<x: DOUBLE, y: DATE>>, b: STRING>",
        "m": "MAP<STRING, INT>",
        "new": "DECIMAL(9,2)",
    }
    old, new = sorted(table.scan().to_pylist(), key=lambda one: int(one["k"]))
    assert old["s"] == {"a": 1, "l": [{"x": 0.5, "y": None}], "b": None}
    assert (old["n"], old["m"], old["new"]) == (7, [("u", 3)], None)
    assert (new["n"], new["s"], new["m"]) == (row["n"], row["s"], [("v", 70000)])
    before = table.metadata("schemas").num_rows
    table.upsert(rows, evolve=True)
    table.upsert([{"k": 2, "n": 1}], evolve=True)
    assert table.metadata("schemas").num_rows == before  # nothing was needed


@pytest.mark.parametrize(
    "data",
    [
        [{"k": 1, "n": 5}, {"k": 2, "w": "a", "s": {"a": 1, "l": None, "z": 2}}],
        iter([{"k": 1, "n": 5}, {"k": 2, "w": "a", "s": {"a": 1, "l": None, "z": 2}}]),
    ],
)
def test_dictionaries_add_and_widen_nothing(table: Any, data: Any) -> None:
    table.upsert(data, evolve=True)
    assert table.columns["n"] == "INT"
    assert table.columns["w"] == "STRING"
    assert table.columns["s"].endswith("z: BIGINT>")
    found = {row["k"]: row for row in table.scan().to_pylist()}
    assert (found[1]["w"], found[2]["w"], found[2]["s"]["z"]) == (None, "a", 2)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_data_frames_and_batches_say_their_types(table: Any, frame: Any) -> None:
    table.upsert(frame({"k": [5], "n": [1 << 40], "f": [1.5]}), evolve=True)
    assert (table.columns["n"], table.columns["f"]) == ("BIGINT", "DOUBLE")
    batches = (pa.record_batch({"k": [6], "g": [True]}) for _ in range(2))
    table.upsert(batches, evolve=True)
    assert table.columns["g"] == "BOOLEAN"
    assert table.scan(["k"], "g").to_pylist() == [{"k": 6}]


def test_only_what_is_written_changes_the_table(table: Any) -> None:
    rows = pa.table(
        {"k": [1], "op": ["-D"], "n": [1], "m": pa.array([[("u", 1)]], WIDE.field("m").type)}
    )
    table.upsert(rows, columns=["k", "n"], row_kind="op", evolve=True)
    assert list(table.columns) == ["k", "n", "s", "m"]
    assert (table.columns["n"], table.columns["m"]) == ("BIGINT", "MAP<STRING, SMALLINT>")
    table.overwrite(pa.table({"k": [9], "w": [1]}), evolve=True)
    assert table.scan(["k", "w"]).to_pylist() == [{"k": 9, "w": 1}]


def test_what_can_not_be_is_refused_by_name(table: Any) -> None:
    table.upsert(pa.table({"k": pa.array([1], pa.int64())}), evolve=True)
    with pytest.raises(TableError, match=r"column k, of type INT.*, does not take"):
        table.upsert(pa.table({"k": pa.array([1 << 40], pa.int64())}), evolve=True)
    with pytest.raises(TableError, match=r"column w can't be added: .*null.*add it by alter"):
        table.upsert([{"k": 1, "w": None}], evolve=True)
    with pytest.raises(TableError, match="column n, of type INT, does not take"):
        table.upsert(pa.table({"k": pa.array([1], pa.int32()), "n": ["x"]}), evolve=True)
    assert list(table.columns) == ["k", "n", "s", "m"]


def test_writers_that_need_the_same_column_at_once_all_write(table: Any) -> None:
    errors: list[Exception] = []

    def write(number: int) -> None:
        rows = {"k": pa.array([number], pa.int32()), "w": [number], f"w{number % 3}": [1.5]}
        try:
            table.upsert(pa.table(rows), evolve=True)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(1, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert sorted(table.columns) == ["k", "m", "n", "s", "w", "w0", "w1", "w2"]
    assert sorted(row["w"] or 0 for row in table.scan().to_pylist()) == list(range(9))


def test_transactions_do_not_evolve(table: Any) -> None:
    with (
        pytest.raises(TableError, match="evolve changes the table at once"),
        table.transaction() as within,
    ):
        within.upsert([{"k": 1, "w": 1}], evolve=True)
    assert list(table.columns) == ["k", "n", "s", "m"]
