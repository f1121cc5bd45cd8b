"""`format("keyfold")`: tables by the path of their folder: read, saved in every mode, in SQL."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession

from integration.keyed import create_keyed
from integration.planning.plans import assert_ours

FreshName = Callable[[], str]
KEY = {"primary-key": "id"}


def frame(spark: SparkSession, *values: tuple[int, str]) -> DataFrame:
    return spark.createDataFrame(list(values), "id INT, v STRING")


def save(data: DataFrame, path: Path, mode: str, *by: str, **options: str) -> None:
    writer = data.write.format("keyfold").mode(mode).options(**options)
    (writer.partitionBy(*by) if by else writer).save(str(path))


def load(spark: SparkSession, path: Path) -> list[tuple[object, ...]]:
    found = spark.read.format("keyfold").load(str(path))
    return sorted(tuple(row) for row in assert_ours(found).collect())


@pytest.fixture
def stock(spark: SparkSession, tmp_path: Path) -> Path:
    """A table with the row (1, 'a'), outside any warehouse."""
    save(frame(spark, (1, "a")), tmp_path / "stock", "errorifexists", **KEY)
    return tmp_path / "stock"


@pytest.mark.parametrize("mode", ["append", "overwrite", "errorifexists", "ignore"])
def test_every_mode_makes_what_is_not_there(spark: SparkSession, tmp_path: Path, mode: str) -> None:
    path = tmp_path / "deep" / "new one"
    save(frame(spark, (1, "a"), (2, "b")), path, mode, **KEY, bucket="2")
    assert load(spark, path) == [(1, "a"), (2, "b")]
    shown = spark.sql(f"SHOW TBLPROPERTIES keyfold.`{path}`").collect()
    assert ("bucket", "2") in [tuple(row) for row in shown]


def test_modes_on_what_is_there(spark: SparkSession, stock: Path) -> None:
    save(frame(spark, (1, "aa"), (2, "b")), stock, "append")
    assert load(spark, stock) == [(1, "aa"), (2, "b")]
    save(frame(spark, (9, "z")), stock, "ignore")
    with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_ALREADY_EXISTS"):
        save(frame(spark, (9, "z")), stock, "errorifexists")
    assert load(spark, stock) == [(1, "aa"), (2, "b")]
    save(frame(spark, (3, "c")), stock, "overwrite")
    assert load(spark, stock) == [(3, "c")]
    spark.sql(f"SELECT snapshot_id FROM keyfold.`{stock}$snapshots`").collect()
    history = spark.read.format("keyfold").load(f"{stock}$snapshots").select("commit_kind")
    assert [kind for (kind,) in history.collect()] == ["APPEND", "APPEND", "OVERWRITE"]


def test_a_job_may_name_what_the_table_has(spark: SparkSession, stock: Path) -> None:
    save(frame(spark, (2, "b")), stock, "append", **{"primary-key": "ID", "bucket": "4"})
    assert load(spark, stock) == [(1, "a"), (2, "b")]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"primary-key": "v"}, r"has primary-key \(id\), and the call says \(v\)"),
        ({"merge-engine": "first-row"}, "merge-engine not set, and the call says first-row"),
        ({"bukcet": "1"}, "did you mean bucket"),
    ],
)
def test_another_definition_is_refused(
    spark: SparkSession, stock: Path, options: dict[str, str], words: str
) -> None:
    for mode in ("append", "overwrite"):
        with pytest.raises(PySparkException, match=words):
            save(frame(spark, (2, "b")), stock, mode, **options)
    assert load(spark, stock) == [(1, "a")]


def test_a_new_table_needs_a_key(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(PySparkException, match=r"no primary key.*'primary-key'"):
        save(frame(spark, (1, "a")), tmp_path / "t", "append")
    assert list(tmp_path.iterdir()) == []


def test_a_save_that_fails_leaves_nothing(spark: SparkSession, tmp_path: Path) -> None:
    failing = frame(spark, (1, "a")).selectExpr("id", "CAST(raise_error('no good') AS INT) AS v")
    with pytest.raises(PySparkException, match="no good"):
        save(failing, tmp_path / "t", "append", **KEY)
    assert [path.name for path in tmp_path.iterdir() if not path.name.startswith(".")] == []


def test_jobs_that_make_one_table_at_once(spark: SparkSession, tmp_path: Path) -> None:
    path, jobs = tmp_path / "t", range(4)
    start = threading.Barrier(len(jobs))

    def job(number: int) -> None:
        data = frame(spark, (number, "x"))
        start.wait()
        save(data, path, "append", **KEY)

    with ThreadPoolExecutor(len(jobs)) as pool:
        list(pool.map(job, jobs))
    assert load(spark, path) == [(number, "x") for number in jobs]


def test_partitions(spark: SparkSession, tmp_path: Path) -> None:
    path, columns = tmp_path / "t", "id INT, v STRING, p INT"
    first = spark.createDataFrame([(1, "a", 1), (2, "b", 2)], columns)
    save(first, path, "append", "p", **{"primary-key": "p,id"})
    assert (path / "p=1").is_dir()
    second = spark.createDataFrame([(3, "c", 2)], columns)
    save(second, path, "overwrite", "p", partitionOverwriteMode="dynamic")
    assert load(spark, path) == [(1, "a", 1), (3, "c", 2)]
    with pytest.raises(PySparkException, match="expected static or dynamic, found 'dynamc'"):
        save(second, path, "overwrite", partitionOverwriteMode="dynamc")
    save(second, path, "overwrite")
    assert load(spark, path) == [(3, "c", 2)]
    with pytest.raises(PySparkException, match=r"has partitioning \(p\), and the call says"):
        save(second, path, "append", "id")


def test_columns_match_by_name_and_some_may_be_named(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    save(frame(spark, (1, "a")), path, "append", **KEY, **{"merge-engine": "partial-update"})
    save(spark.sql("SELECT 'b' AS v, 2 AS id"), path, "append")
    save(spark.sql("SELECT 1 AS id"), path, "append")
    assert load(spark, path) == [(1, "a"), (2, "b")]


def test_a_frame_reads_the_newest_rows(spark: SparkSession, stock: Path) -> None:
    found = spark.read.format("keyfold").load(str(stock))
    assert found.count() == 1
    cached = spark.read.format("keyfold").load(str(stock)).cache()
    assert cached.count() == 1
    save(frame(spark, (2, "b")), stock, "append")
    assert load(spark, stock) == [(1, "a"), (2, "b")]
    assert cached.count() == 2
    cached.unpersist()


def test_a_path_in_a_warehouse_is_the_table_of_the_catalog(
    spark: SparkSession, warehouse: Path, fresh_name: FreshName
) -> None:
    name = fresh_name()
    create_keyed(spark, name, "id INT, v STRING", key="id")
    path = warehouse / "it.db" / name.rpartition(".")[2]
    save(frame(spark, (1, "a")), path, "append")
    assert [tuple(row) for row in spark.table(name).collect()] == [(1, "a")]
    assert load(spark, path) == [(1, "a")]
    plan = spark.read.format("keyfold").load(f"file://{path}/")
    assert name in plan._jdf.queryExecution().toString()
    made = warehouse / "it.db" / f"{name.rpartition('.')[2]}_saved"
    save(frame(spark, (7, "x")), made, "append", **KEY)
    assert [tuple(row) for row in spark.table(f"{name}_saved").collect()] == [(7, "x")]


def test_in_sql(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "made here"
    table = f"keyfold.`{path}`"
    create_keyed(spark, table, "id INT, v STRING", key="id")
    spark.sql(f"INSERT INTO {table} VALUES (1, 'a'), (2, 'b'), (3, 'c')")
    spark.sql(f"DELETE FROM {table} WHERE id = 2")
    spark.sql(f"ALTER TABLE {table} ADD COLUMN w INT")
    assert load(spark, path) == [(1, "a", None), (3, "c", None)]
    assert spark.sql(f"SELECT v FROM {table} WHERE id = 3").collect() == [("c",)]
    call = f"CALL keyfold.sys.table_health(table => '`{path}`')"
    assert spark.sql(call).count() > 0
    with pytest.raises(PySparkException, match="named by its path: move its folder"):
        spark.sql(f"ALTER TABLE {table} RENAME TO it.other")
    spark.sql(f"DROP TABLE {table}")
    assert not path.exists()


def test_char_columns(spark: SparkSession, tmp_path: Path) -> None:
    table = f"keyfold.`{tmp_path}/t`"
    create_keyed(spark, table, "id INT, c CHAR(3)", key="id")
    spark.sql(f"INSERT INTO {table} VALUES (1, 'a')")
    found = spark.read.format("keyfold").load(f"{tmp_path}/t")
    assert found.where("c = 'a'").collect() == [(1, "a  ")]


def test_what_is_no_table_is_left_alone(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("dear")
    for mode in ("append", "overwrite"):
        with pytest.raises(PySparkException, match=r"is no table, and holds letter\.txt"):
            save(frame(spark, (1, "a")), tmp_path, mode, **KEY)
    spark.sql(f"DROP TABLE IF EXISTS keyfold.`{tmp_path}`")
    with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_NOT_FOUND"):
        load(spark, tmp_path)
    assert (tmp_path / "letter.txt").read_text() == "dear"


def test_one_snapshot_is_read(spark: SparkSession, stock: Path) -> None:
    with pytest.raises(PySparkException, match=r"option scan.mode .*the newest snapshot"):
        spark.read.format("keyfold").option("scan.mode", "from-snapshot").load(str(stock)).collect()


def test_schemas_are_the_tables_own(spark: SparkSession, stock: Path) -> None:
    reader = spark.read.format("keyfold")
    assert reader.schema("id INT, v STRING").load(str(stock)).count() == 1
    with pytest.raises(PySparkException, match=r"says `?id`? INT.*leave \.schema"):
        spark.read.format("keyfold").schema("id INT").load(str(stock)).collect()


def test_what_a_path_can_not_say(spark: SparkSession, stock: Path) -> None:
    with pytest.raises(PySparkException, match="needs the path of a table"):
        spark.read.format("keyfold").load()
    with pytest.raises(PySparkException, match="takes one path"):
        spark.read.format("keyfold").load([str(stock), str(stock)])
    with pytest.raises(PySparkException, match="clusterBy is not supported"):
        frame(spark, (1, "a")).write.format("keyfold").mode("append").clusterBy("id").save(
            str(stock)
        )
    with pytest.raises(PySparkException, match="read only"):
        save(frame(spark, (1, "a")), Path(f"{stock}$files"), "append")


@pytest.fixture
def in_sparks_own(spark: SparkSession) -> Iterator[SparkSession]:
    """A session whose current catalog is Spark's own."""
    session = spark.newSession()
    yield session
    session.sql("DROP TABLE IF EXISTS kept")


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE kept (id INT) USING keyfold",
        "CREATE TABLE kept USING keyfold AS SELECT 1 AS id",
        "CREATE OR REPLACE TABLE kept USING Keyfold AS SELECT 1 AS id",
    ],
)
def test_sparks_own_catalog_keeps_no_keyfold_tables(
    in_sparks_own: SparkSession, statement: str
) -> None:
    with pytest.raises(PySparkException, match=r"can't be made USING keyfold in spark_catalog"):
        in_sparks_own.sql(statement)
    assert not in_sparks_own.catalog.tableExists("kept")


def test_nor_by_save_as_table(in_sparks_own: SparkSession) -> None:
    with pytest.raises(PySparkException, match=r"name a catalog of keyfold"):
        frame(in_sparks_own, (1, "a")).write.format("keyfold").saveAsTable("kept")
    assert not in_sparks_own.catalog.tableExists("kept")


def test_a_catalog_of_ours_may_be_sparks_own(spark: SparkSession, tmp_path: Path) -> None:
    session = spark.newSession()
    session.conf.set("spark.sql.catalog.spark_catalog", "keyfold.spark.KeyfoldCatalog")
    session.conf.set("spark.sql.catalog.spark_catalog.warehouse", str(tmp_path))
    session.sql("CREATE TABLE own (id INT, v STRING, PRIMARY KEY (id) NOT ENFORCED) USING keyfold")
    session.sql("INSERT INTO own VALUES (1, 'a'), (2, 'b')")
    frame(session, (2, "bb")).write.mode("append").saveAsTable("own")
    assert session.table("own").orderBy("id").collect() == [(1, "a"), (2, "bb")]
    assert load(session, tmp_path / "default.db" / "own") == [(1, "a"), (2, "bb")]
    session.conf.unset("spark.sql.catalog.keyfold")
    session.conf.set("spark.sql.catalog.warehouse", "keyfold.spark.KeyfoldCatalog")
    session.conf.set("spark.sql.catalog.warehouse.warehouse", str(tmp_path))
    (row,) = session.sql("SELECT bitmap_union_count(to_bitmap(id)) FROM own").collect()
    assert row[0] == 2, "Spark looks for functions of ours in catalogs of other names"
