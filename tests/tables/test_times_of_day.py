"""TIME columns: from Python and back, filters, keys, statistics, and the form in files."""

import datetime
import json
import random
from collections.abc import Callable
from datetime import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import keyfold
from keyfold import Catalog, NotSupportedError, TableError

MILLI = 1000
COLUMNS = {
    "k": "INT",
    "t": "TIME(3)",
    "s": "TIME(0)",
    "several": "ARRAY<TIME(3)>",
    "held": "STRUCT<x: TIME(3)>",
}


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    return keyfold.connect(tmp_path_factory.mktemp("times"), threads=1)


def at(millis: int) -> time:
    return (datetime.datetime(2000, 1, 1) + datetime.timedelta(milliseconds=millis)).time()


def test_values_come_back(catalog: Catalog) -> None:
    table = catalog.create_table("back", COLUMNS, ["k"], options={"bucket": 1})
    row = {
        "k": 1,
        "t": time(23, 59, 59, 999 * MILLI),
        "s": time(1, 2, 3),
        "several": [time(0), None],
        "held": {"x": time(12, 30)},
    }
    table.upsert([row, {"k": 2}])
    empty = dict.fromkeys(COLUMNS) | {"k": 2}
    assert table.get({"k": 1}) == row
    assert table.scan().schema.field("t").type == pa.time64("ns")
    frames = [table.scan(where="k < 3").to_pandas(), table.scan().to_polars(), table.scan()]
    for number, frame in enumerate([*frames[:2], frames[2].to_arrow()], 1):
        table.upsert(frame)
        assert table.scan().to_arrow().sort_by("k").to_pylist() == [row, empty], number
    table.compact()
    assert table.scan().to_arrow().sort_by("k").to_pylist() == [row, empty]


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("t", time(1, 2, 3, 4001)),
        ("s", time(1, 2, 3, 4 * MILLI)),
        ("t", time(1, tzinfo=datetime.timezone.utc)),
        ("t", "12:00"),
        ("t", 5),
        ("t", datetime.datetime(2026, 1, 1)),
    ],
)
def test_what_a_column_does_not_take(catalog: Catalog, column: str, value: Any) -> None:
    table = catalog.create_table("takes", COLUMNS, ["k"], options={"bucket": 1}, if_not_exists=True)
    with pytest.raises(TableError, match=f"column {column}, of type TIME.*a time of day with"):
        table.upsert([{"k": 1, column: value}])


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("t = TIME '06:00:00'", lambda t: t == time(6)),
        ("t > TIME '06:00:00.001'", lambda t: t > time(6, 0, 0, MILLI)),
        ("t <= '18:30:00'", lambda t: t <= time(18, 30)),
        ("t IN (TIME '06:00:00', TIME '18:30:00')", lambda t: t in (time(6), time(18, 30))),
        ("t BETWEEN TIME '05:00:00' AND TIME '07:00:00'", lambda t: time(5) <= t <= time(7)),
        ("NOT t < TIME '12:00:00'", lambda t: not t < time(12)),
    ],
)
@pytest.mark.parametrize("is_key", [True, False])
def test_conditions(
    catalog: Catalog, condition: str, holds: Callable[[time], bool], is_key: bool
) -> None:
    name = f"conditions_{is_key}"
    values = [at(n * 30 * 60_000) for n in range(48)] + [time(6, 0, 0, MILLI)]
    if name not in {str(one).rpartition(".")[2] for one in catalog.tables()}:
        columns = {"k": "INT", "t": "TIME(3)"}
        made = catalog.create_table(name, columns, ["t" if is_key else "k"], options={"bucket": 3})
        for least in range(0, len(values), 7):
            made.upsert([{"k": k, "t": v} for k, v in enumerate(values) if k >= least])
    found = catalog.table(name).scan(where=condition).to_arrow()["t"].to_pylist()
    assert sorted(found) == sorted(filter(holds, values))


def test_keys_and_aggregates(catalog: Catalog) -> None:
    columns = {"t": "TIME(3)", **dict.fromkeys(("low", "high", "last", "first"), "TIME(3)")}
    functions = {"low": "min", "high": "max", "last": "last_value", "first": "first_value"}
    options = {f"fields.{name}.aggregate-function": of for name, of in functions.items()}
    table = catalog.create_table(
        "keys", columns, ["t"], options={**options, "merge-engine": "aggregation", "bucket": 4}
    )
    source, seen = random.Random(29), dict[time, list[time]]()
    for _ in range(5):
        rows = {
            at(source.randrange(20) * 4_000_003): source.randrange(86_400_000) for _ in range(9)
        }
        for key, value in rows.items():
            seen.setdefault(key, []).append(at(value))
        table.upsert([{"t": k} | dict.fromkeys(functions, at(v)) for k, v in rows.items()])
    expected = {
        key: {"t": key, "low": min(of), "high": max(of), "last": of[-1], "first": of[0]}
        for key, of in seen.items()
    }
    assert {row["t"]: row for row in table.scan().to_arrow().to_pylist()} == expected
    key = next(iter(seen))
    assert table.get({"t": key}) == expected[key]
    assert table.get({"t": time(0, 0, 0, MILLI)}) is None


def test_files_hold_milliseconds_with_bounds(tmp_path: Path) -> None:
    catalog = keyfold.connect(tmp_path, threads=1)
    columns = {"k": "INT", "t": "TIME(3)"}
    table = catalog.create_table("stored", columns, ["k"], options={"bucket": 1})
    table.upsert([{"k": 1, "t": time(0, 0, 1)}, {"k": 2, "t": time(0, 0, 2)}])
    (path,) = tmp_path.rglob("bucket-0/*.parquet")
    schema = pq.read_schema(path)
    assert schema.field("t").type == pa.time32("ms")
    described = pq.ParquetFile(path).schema.column(schema.names.index("t"))
    assert described.physical_type == "INT32"
    (file,) = table.metadata("files").to_pylist()
    assert json.loads(file["min_value_stats"])["t"] == "00:00:01"
    assert json.loads(file["max_value_stats"])["t"] == "00:00:02"


def test_refusals(catalog: Catalog) -> None:
    columns = {"t": "TIME(3)", "v": "INT"}
    for digits in ("", "(6)", "(4)"):
        with pytest.raises(NotSupportedError, match=r"TIME\(.\) is not supported: .* TIME\(3\)"):
            catalog.create_table("digits", {"k": "INT", "t": f"TIME{digits}"}, ["k"])
    with pytest.raises(NotSupportedError, match=r"partition column t can't be TIME\(3\)"):
        catalog.create_table("parts", columns, ["t"], partitions=["t"])
    with pytest.raises(NotSupportedError, match=r"time64\[us\] is not supported: Paimon stores"):
        catalog.create_table("arrow", pa.schema([("k", pa.int32()), ("t", pa.time64("us"))]), ["k"])


def test_changes_and_altered_columns(catalog: Catalog) -> None:
    columns, options = {"k": "INT", "t": "TIME(3)"}, {"bucket": 1, "changelog-producer": "lookup"}
    table = catalog.create_table("altered", columns, ["k"], options=options)
    for hour in (1, 2):
        table.upsert([{"k": 1, "t": time(hour, 0, 0, 5 * MILLI)}])
    told = [(row["_change_type"], row["t"].hour) for row in table.changes().to_arrow().to_pylist()]
    assert told == [("insert", 1), ("update_preimage", 1), ("update_postimage", 2)]
    table.alter(add={"u": "TIME(0)"})
    table.upsert([{"k": 2, "u": time(5)}])
    table.alter(types={"u": "TIME(3)"})
    table.upsert([{"k": 3, "u": time(6, 0, 0, MILLI)}])
    for _ in range(2):
        found = table.scan(where="u > TIME '04:00:00'").to_arrow()["u"].to_pylist()
        assert sorted(found) == [time(5), time(6, 0, 0, MILLI)]
        table.compact()
    with pytest.raises(NotSupportedError, match=r"TIME\(3\) to STRING is not supported"):
        table.alter(types={"u": "STRING"})
