"""Libraries that keyfold does not need: Polars, DuckDB, and what is said where one is missing."""

import datetime
import sys
from pathlib import Path
from typing import Any

import duckdb
import polars
import pyarrow as pa
import pytest

import keyfold
from keyfold import EnvironmentMismatchError, Table, TableError


@pytest.fixture
def table(tmp_path: Path) -> Table:
    made = keyfold.connect(tmp_path, threads=2).create_table(
        "t", {"k": "INT", "v": "STRING", "w": "DOUBLE"}, ["k"]
    )
    made.upsert([{"k": k, "v": f"v{k % 3}", "w": k / 2} for k in range(1000)])
    return made


def test_a_table_is_made_by_a_schema_of_polars(tmp_path: Path) -> None:
    catalog = keyfold.connect(tmp_path)
    day = datetime.date(2026, 3, 1)
    frame = polars.DataFrame({"k": [1, 2], "s": ["a", "b"], "day": [day, None], "l": [[1.5], []]})
    table = catalog.create_table("t", frame.schema, ["k"])
    kinds = {"k": "BIGINT NOT NULL", "s": "STRING", "day": "DATE", "l": "ARRAY<DOUBLE>"}
    assert table.columns == kinds
    table.upsert(frame)
    assert table.scan().to_polars().sort("k").equals(frame)
    rows: Any
    for rows, words in (
        (frame, "found polars.*DataFrame: give its schema"),
        (frame.lazy(), "found polars.*LazyFrame: give its schema"),
        (frame.to_arrow(), "found pyarrow.*Table: give its schema"),
        (frame.to_pandas(), r"pyarrow.Schema.from_pandas\(frame, preserve_index=False\) is that"),
        ({"k": polars.Int64}, "column k: expected a type in SQL, such as 'BIGINT', or of Arrow"),
    ):
        with pytest.raises(TableError, match=words):
            catalog.create_table("u", rows, ["k"])
    made = pa.Schema.from_pandas(frame.select("k", "s").to_pandas(), preserve_index=False)
    assert catalog.create_table("u", made, ["k"]).columns == {"k": "BIGINT NOT NULL", "s": "STRING"}


def test_polars_reads_and_is_written(table: Table) -> None:
    frame = table.scan(where="k < 500").to_polars()
    assert frame.shape == (500, 3)
    assert frame.filter(polars.col("v") == "v1")["w"].sum() == sum(k / 2 for k in range(1, 500, 3))
    assert polars.DataFrame(table.scan(["k"], "k < 7")).shape == (7, 1)
    table.upsert(polars.DataFrame({"k": [1, 2000], "v": ["new", None]}))
    table.upsert(polars.LazyFrame({"k": [2], "v": ["lazy"]}))
    wanted = [{"v": "new"}, {"v": "lazy"}, {"v": None}]
    assert table.get_many(polars.DataFrame({"k": [1, 2, 2000]}), ["v"]).to_pylist() == wanted


def test_a_lazy_frame_reads_what_its_query_uses(table: Table) -> None:
    lazy = table.scan(where="k >= 10").to_polars(lazy=True)
    assert lazy.collect_schema().names() == ["k", "v", "w"]
    found = lazy.filter(polars.col("v") == "v0").select(polars.col("k").max()).collect()
    assert found.item() == 999
    assert lazy.select("w").head(5).collect().shape == (5, 1)
    assert lazy.filter(polars.col("k") > 990).head(3).collect().shape == (3, 3)
    counts = lazy.group_by("v").agg(polars.len().alias("n")).collect()
    assert sum(counts["n"]) == 990
    assert lazy.collect().shape == (990, 3), "each query reads anew"


def test_a_filter_of_a_lazy_frame_leaves_out_files(tmp_path: Path) -> None:
    """Files that it leaves out may be gone."""
    table = keyfold.connect(tmp_path).create_table(
        "t", {"day": "INT", "k": "INT", "v": "INT"}, ["day", "k"], ["day"]
    )
    for day in range(4):
        table.upsert([{"day": day, "k": k, "v": day * k} for k in range(5)])
    for path in tmp_path.rglob("day=[02]/**/*.parquet"):
        path.unlink()
    day, v = polars.col("day"), polars.col("v")
    lazy = table.scan(where="k > 1").to_polars(lazy=True)
    for kept in (day.is_in([1, 3]), (day == 1) | (day > 2), ~(day.is_in([0, 2])) & (v > -1)):
        found = lazy.filter(kept, v % 2 == 1).select("v").collect()
        assert sorted(found["v"]) == [3, 9], kept
    found = lazy.filter(day.is_between(1, 2, closed="left")).collect()
    assert sorted(found["v"]) == [2, 3, 4]


def test_a_filter_of_a_lazy_frame_comes_after_the_limit_of_its_scan(table: Table) -> None:
    first = table.scan(limit=3).to_polars()
    lazy = table.scan(limit=3).to_polars(lazy=True)
    assert lazy.filter(polars.col("k") == 999).collect().shape == (999 in first["k"], 3)


def test_duckdb_asks_a_view(table: Table) -> None:
    """Each query of the view reads anew."""
    connection = duckdb.connect()
    table.scan(where="k >= 10").to_duckdb(connection, "t")
    table.scan(["k", "w"], "k < 20").to_duckdb(connection, "few")
    for _ in range(2):
        (row,) = connection.sql("SELECT count(*), min(k), sum(w) FROM t WHERE v = 'v1'").fetchall()
        wanted = [k for k in range(10, 1000) if k % 3 == 1]
        assert row == (len(wanted), wanted[0], sum(wanted) / 2)
    joined = "SELECT t.k, v FROM t JOIN few USING (k) WHERE few.w > 9 ORDER BY k"
    assert connection.sql(joined).fetchall() == [(19, "v1")]
    assert connection.sql("FROM t LIMIT 3").arrow().read_all().num_rows == 3
    found = connection.sql("SELECT k + 5000 AS k, 'duck' AS v FROM few WHERE k < 2")
    table.upsert(found)
    assert table.get({"k": 5001}) == {"k": 5001, "v": "duck", "w": None}


@pytest.mark.parametrize(
    ("library", "call"),
    [
        ("pandas", lambda scan: scan.to_pandas()),
        ("polars", lambda scan: scan.to_polars()),
        ("duckdb", lambda scan: scan.to_duckdb(None, "t")),
    ],
)
def test_a_library_that_is_missing_is_named(
    table: Table, monkeypatch: pytest.MonkeyPatch, library: str, call: Any
) -> None:
    monkeypatch.setitem(sys.modules, library, None)  # as where it is not installed
    with pytest.raises(
        EnvironmentMismatchError, match=f"needs {library}, .* pip install {library}"
    ):
        call(table.scan())
