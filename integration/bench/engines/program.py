"""LakeSoul and ClickHouse, in a process of the Python of build/engines (`systems.py`).

A line of JSON on stdin names a system, what to do and its arguments; a line on stdout has numbers.
"""

from __future__ import annotations

import json
import shutil
import sys
import traceback
from functools import cache
from typing import Any

import pyarrow as pa
from chdb.session import Session
from lakesoul._lib._reader import _one_reader

from integration.bench.answers import FOLDS

THREADS, BATCH_ROWS, ALL_ROWS = 2, 1 << 16, 1 << 40
ARROW = {"BIGINT": pa.int64(), "DOUBLE": pa.float64(), "STRING": pa.string(), "INT": pa.int32()}
CLICKHOUSE = {"BIGINT": "Int64", "DOUBLE": "Float64", "STRING": "String", "INT": "Int32"}
FAMILIES = {
    "deduplicate": "ReplacingMergeTree",
    "partial-update": "CoalescingMergeTree",
    "aggregation": "AggregatingMergeTree",
}


def lakesoul(do: str, buckets: list[list[str]], columns: dict[str, str], key: str) -> list[float]:
    """Its merge of the files of each bucket, the oldest first; of equal keys the last one stays."""
    schema = pa.schema([(name, ARROW[kind]) for name, kind in columns.items()])
    keys, nothing = [[key]] * len(buckets), [[]] * len(buckets)
    return FOLDS[do](_one_reader(BATCH_ROWS, THREADS, schema, buckets, keys, nothing, []))


@cache
def session(folder: str) -> Session:
    """An empty database."""
    shutil.rmtree(folder, ignore_errors=True)
    return Session(folder)


def clickhouse(do: str, folder: str, **asked: Any) -> list[float]:
    """Make a table of the runs, each one part, or ask it for one row of numbers, merged."""
    found = session(folder)
    if do == "make":
        return made(found, **asked)
    query = f"SELECT {', '.join(asked['sql'])} FROM t FINAL SETTINGS max_threads = {THREADS}"
    (row,) = str(found.query(query, "JSONCompactEachRow")).splitlines()
    return [] if do == "scan" else list(map(float, json.loads(row)))


def made(
    found: Session,
    engine: str,
    columns: dict[str, str],
    key: str,
    functions: dict[str, str],
    runs: list[str],
) -> list[float]:
    """The table; its number of parts."""
    kinds = {name: column(engine, kind, functions.get(name)) for name, kind in columns.items()}
    kinds[key] = CLICKHOUSE[columns[key]]
    listed = ", ".join(f"{name} {kind}" for name, kind in kinds.items())
    found.query("DROP TABLE IF EXISTS t SYNC")
    found.query(f"CREATE TABLE t ({listed}) ENGINE = {FAMILIES[engine]} ORDER BY {key}")
    found.query("SYSTEM STOP MERGES t")
    sizes = ("max_insert_block_size", "min_insert_block_size_rows", "min_insert_block_size_bytes")
    settings = ", ".join(f"{name} = {ALL_ROWS}" for name in sizes)
    for run in runs:
        found.query(
            f"INSERT INTO t SELECT {', '.join(columns)} FROM file('{run}/*.parquet', Parquet) "
            f"SETTINGS {settings}, max_insert_threads = 1"
        )
    parts = found.query("SELECT count() FROM system.parts WHERE active AND table = 't'", "CSV")
    return [float(str(parts))]


def column(engine: str, kind: str, function: str | None) -> str:
    """The type of a column, with what its values fold by."""
    own = CLICKHOUSE[kind]
    if engine == "partial-update":
        return f"Nullable({own})"
    if engine == "deduplicate" or function is None:
        return own
    wide = "Int64" if function == "sum" and kind == "INT" else own
    return f"SimpleAggregateFunction({function}, {wide})"


SYSTEMS = {"lakesoul": lakesoul, "clickhouse": clickhouse}


def main() -> None:
    """Answer until stdin ends."""
    print("ready", flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        try:
            found: Any = {"numbers": SYSTEMS[request.pop("system")](**request)}
        except Exception:
            found = {"error": traceback.format_exc()}
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
