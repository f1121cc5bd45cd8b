"""What `scan --json` prints can be loaded back, and gives the same values of every type."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

import keyfold
from keyfold import Table
from keyfold.__main__ import main
from keyfold.types.arrow import to_arrow
from keyfold.types.sql import from_sql
from tests.draws import draws
from tests.random_values import same, value

KINDS = (
    "BOOLEAN",
    "TINYINT",
    "SMALLINT",
    "INT",
    "BIGINT",
    "FLOAT",
    "DOUBLE",
    "DECIMAL(5,2)",
    "DECIMAL(18,0)",
    "DECIMAL(38,38)",
    "STRING",
    "CHAR(12)",
    "VARCHAR(12)",
    "BINARY",
    "DATE",
    "TIMESTAMP",
    "TIMESTAMP_NTZ",
    "TIME(3)",
    "ARRAY<TIME(3)>",
    "ARRAY<DOUBLE>",
    "ARRAY<MAP<STRING, DATE>>",
    "MAP<BINARY, TIMESTAMP>",
    "MAP<INT, ARRAY<DECIMAL(5,2)>>",
    "STRUCT<a: FLOAT, b: STRUCT<c: BINARY, d: TIMESTAMP_NTZ>>",
)
COLUMNS = {"k": "INT"} | {f"c{place}": kind for place, kind in enumerate(KINDS)}
ARROW = {name: to_arrow(from_sql(kind)) for name, kind in COLUMNS.items()}
Print = Callable[[Table], str]


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> keyfold.Catalog:
    return keyfold.connect(tmp_path_factory.mktemp("identity"), threads=1)


def empty(catalog: keyfold.Catalog, name: str) -> Table:
    catalog.drop_table(name)
    return catalog.create_table(name, COLUMNS, ["k"], options={"bucket": 1, "write-only": True})


def scanned(table: Table) -> list[pa.Scalar]:
    return table.scan().to_arrow().sort_by("k").to_pylist()  # type: ignore[no-any-return]


def rows_of(random: Random) -> pa.Table:
    count = random.randrange(1, 20)
    columns = {
        name: pa.array([value(kind, random, 0.2) for _ in range(count)], kind)
        for name, kind in ARROW.items()
    }
    return pa.table(columns | {"k": pa.array(range(count), pa.int32())})


@pytest.mark.parametrize("form", ["jsonl", "csv"])
@draws(15)
@given(random=st.randoms(use_true_random=False))
def test_what_is_printed_is_read_back(
    catalog: keyfold.Catalog, tmp_path_factory: pytest.TempPathFactory, form: str, random: Random
) -> None:
    folder = tmp_path_factory.mktemp("files")
    given_, read = empty(catalog, "given"), empty(catalog, "read")
    given_.upsert(rows_of(random))
    lines = printed(catalog, folder, "scan", "given", "--json").splitlines()
    path = folder / f"rows.{form}"
    if form == "jsonl":
        path.write_text("\n".join(lines) + "\n")
    else:
        write_csv(path, [json.loads(line) for line in lines])
    assert json.loads(printed(catalog, folder, "upsert", "read", str(path), "--json"))
    assert same(scanned(read), scanned(given_))


def printed(catalog: keyfold.Catalog, folder: Path, *words: str) -> str:
    """What a command prints: its output is a file, as it is of `keyfold scan t > x.jsonl`."""
    path, warehouse = folder / "printed", str(catalog).rsplit(" ", 1)[1][:-1]
    with path.open("w", encoding="utf-8") as file, pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdout", file)
        assert main([*words, "--warehouse", warehouse]) == 0
    return path.read_text()


def write_csv(path: Path, rows: list[dict[str, Any]]) -> None:
    """The rows with quotes around all texts, and nothing for NULL."""
    with path.open("w", newline="") as file:
        csv.writer(file).writerow(COLUMNS)
        for row in rows:
            cells = (cell(row[name]) for name in COLUMNS)
            file.write(",".join(cells) + "\r\n")


def cell(item: Any) -> str:
    if item is None:
        return ""
    text = item if isinstance(item, str) else json.dumps(item)
    return '"' + text.replace('"', '""') + '"'


def test_times_that_python_does_not_have(catalog: keyfold.Catalog, tmp_path: Path) -> None:
    """Years before 1 and after 9999, alone and nested."""
    columns = {
        "k": "INT",
        "d": "DATE",
        "at": "TIMESTAMP",
        "here": "TIMESTAMP_NTZ",
        "many": "ARRAY<STRUCT<d: DATE, at: TIMESTAMP>>",
        "named": "MAP<DATE, TIMESTAMP_NTZ>",
    }
    days = pa.array([0, -750_000, 3_000_000, 2**31 - 1, None], pa.int32()).cast(pa.date32())
    micros = pa.array([0, -(2**62), 2**62, 1, None], pa.int64())
    at, here = micros.cast(pa.timestamp("us", "UTC")), micros.cast(pa.timestamp("us"))
    offsets = pa.array([0, 2, 3, 3, 4, 5], pa.int32())
    rows = pa.table(
        {
            "k": pa.array(range(5), pa.int32()),
            "d": days,
            "at": at,
            "here": here,
            "many": pa.ListArray.from_arrays(
                offsets, pa.StructArray.from_arrays([days, at], ["d", "at"])
            ),
            "named": pa.MapArray.from_arrays(offsets, pc.fill_null(days, days[1]), here),
        }
    )
    for name in ("far", "again"):
        catalog.create_table(name, columns, ["k"])
    catalog.table("far").upsert(rows)
    path = tmp_path / "far.jsonl"
    path.write_text(printed(catalog, tmp_path, "scan", "far", "--json"))
    printed(catalog, tmp_path, "upsert", "again", str(path))
    found = [catalog.table(name).scan().to_arrow().sort_by("k") for name in ("far", "again")]
    assert found[0].equals(found[1])
    assert printed(catalog, tmp_path, "scan", "far").count("\n") == 7
