"""Joins with the hint LOOKUP give what Spark's own joins give, and read no more than they need."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

from integration.bench import many_files
from integration.keyed import create_keyed
from integration.lookups.test_merges import AQE
from integration.planning.plans import plan_of, scan_figures
from integration.sessions import conf
from keyfold.lookup.of_keys import MANY_FILES
from tests.storage import tables

# A table's columns beside v and w, its primary key, its options, and keys that it has.
TABLES = {
    "long": ("k BIGINT", "k", "", {}, "CAST(id AS BIGINT) AS k"),
    "text": ("k STRING", "k", "", {"merge-engine": "partial-update"}, "concat('key ', id) AS k"),
    "narrow": ("k SMALLINT", "k", "", {}, "CAST(id AS SMALLINT) AS k"),
    "several": (
        "p STRING, k INT, j DATE",
        "p, k, j",
        "p",
        {
            "bucket-key": "k",
            "merge-engine": "aggregation",
            "fields.v.aggregate-function": "sum",
        },
        "CAST(id % 3 AS STRING) AS p, CAST(id % 40 AS INT) AS k, "
        "date_add(DATE'2024-01-01', CAST(id % 7 AS INT)) AS j",
    ),
}
KINDS = ("JOIN", "LEFT JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN")
MORE = ("", "", " AND t.v > o.a", " AND o.a % 2 = 0", " AND t.w < 70", " AND t.w + o.a > 80")
RIGHT = (
    "{t}",
    "{t}",
    "(SELECT * FROM {t} WHERE v % 3 > 0)",
    "(SELECT *, v + w AS more FROM {t} WHERE w > 10)",
    "{t} VERSION AS OF 1",
)
WHERE = ("", "", " WHERE o.a > 20", " WHERE o.a > 20 AND o.a < 60")


@pytest.fixture(scope="module")
def made(spark: SparkSession) -> Iterator[Callable[[str, int], str]]:
    """The table of a kind, of a few runs, made once."""
    names: dict[str, str] = {}

    def make(kind: str, seed: int) -> str:
        if kind not in names:
            name = names[kind] = f"keyfold.it.joined_{kind}"
            columns, key, by, options, keys = TABLES[kind]
            given = {"bucket": "3", **options}
            create_keyed(spark, name, f"{columns}, v INT, w INT", key, by, given=given)
            for run in range(2):
                spark.sql(
                    f"INSERT INTO {name} SELECT {keys}, abs(hash(id, {seed + run})) % 100 AS v, "
                    f"CAST(id % 100 AS INT) AS w FROM range({50 * run}, {50 * run + 200})"
                )
        return names[kind]

    yield make
    for name in names.values():
        spark.sql(f"DROP TABLE {name}")


def orders(spark: SparkSession, kind: str, random: Random) -> None:
    """The view `orders`: keys that come once, twice, never; NULL keys; a column of its own."""
    numbers = ", ".join(f"({random.randrange(400)})" for _ in range(80))
    keys = TABLES[kind][4]
    rows = f"SELECT {keys}, CAST(id % 90 AS INT) AS a FROM VALUES {numbers} AS s(id)"
    columns = [line.split()[0] for line in TABLES[kind][0].split(", ")]
    nulls = ", ".join(f"IF(a % 7 = 0, NULL, {column}) AS {column}" for column in columns)
    wide = nulls if kind != "narrow" else "IF(a % 7 = 0, 100000L, CAST(k AS BIGINT)) AS k"
    spark.sql(f"SELECT {wide}, a FROM ({rows})").createOrReplaceTempView("orders")


def query(kind: str, random: Random, table: str) -> str:
    """A join of orders with the table, `{hint}` where the hint is to be."""
    columns = [line.split()[0] for line in TABLES[kind][0].split(", ")]
    by = columns if len(columns) == 1 or random.random() < 0.5 else columns[:2]
    join = random.choice(KINDS)
    on = " AND ".join(
        f"o.{name} = t.{name}" if random.random() < 0.7 else f"t.{name} = o.{name}" for name in by
    )
    right = random.choice(RIGHT).format(t=table)
    shown = "o.*" if "SEMI" in join or "ANTI" in join else random.choice(("*", "t.v, o.a, t.w"))
    where = random.choice(WHERE)
    return (
        f"SELECT {{hint}} {shown} FROM orders AS o {join} {right} AS t "
        f"ON {on}{random.choice(MORE)}{where}"
    )


def rows(frame: DataFrame) -> list[str]:
    return sorted(map(str, frame.collect()))


@pytest.mark.parametrize("kind", list(TABLES))
def test_random_joins(
    spark: SparkSession, made: Callable[[str, int], str], seed: int, kind: str
) -> None:
    table = made(kind, seed)
    random = Random(f"{seed} {kind}")
    found = 0
    orders(spark, kind, random)
    for turn in range(6):
        text = query(kind, random, table)
        with conf(spark, **{AQE: turn % 2 == 0}):
            looked_up = spark.sql(text.format(hint="/*+ LOOKUP(t) */"))
            plan = plan_of(looked_up)
            assert "LookupJoin" in plan, f"{text}\n{plan}"
            assert "BatchScan" not in plan, f"{text}\n{plan}"
            expected = rows(spark.sql(text.format(hint="")))
        assert rows(looked_up) == expected, text
        found += len(expected)
    assert found > 30


@pytest.fixture
def stock(spark: SparkSession, fresh_name: Callable[[], str]) -> Iterator[str]:
    """`k BIGINT, v INT` with 200,000 rows in one bucket of small row groups, in two runs."""
    name = fresh_name()
    create_keyed(
        spark, name, "k BIGINT, v INT", bucket=1, keyfold__row_group__rows=1024, write_only=True
    )
    spark.sql(f"INSERT INTO {name} SELECT id, CAST(id % 1000 AS INT) FROM range(200000)")
    spark.sql(f"INSERT INTO {name} SELECT id, -1 FROM range(1000, 2000)")
    yield name
    spark.sql(f"DROP TABLE {name}")


def test_what_is_read(spark: SparkSession, stock: str) -> None:
    keys = "(SELECT * FROM VALUES (5L), (6L), (1500L), (300000L), (NULL) AS s(k))"
    few = spark.sql(f"SELECT /*+ LOOKUP(t) */ t.* FROM {keys} o JOIN {stock} t ON o.k = t.k")
    assert rows(few) == ["Row(k=1500, v=-1)", "Row(k=5, v=5)", "Row(k=6, v=6)"]
    (figures,) = scan_figures(few, "LookupJoinExec")
    assert (figures["keys"], figures["found"], figures["numOutputRows"]) == (4, 3, 3)
    many = spark.sql(
        f"SELECT /*+ LOOKUP(t) */ count(v) FROM range(200000) JOIN {stock} t ON id = k"
    )
    assert rows(many) == ["Row(count(v)=200000)"]
    (all_of_it,) = scan_figures(many, "LookupJoinExec")
    assert 0 < figures["bytes_read"] < all_of_it["bytes_read"] / 20
    assert figures["decode_nanos"] > 0


def test_where_the_hint_is_not_followed(spark: SparkSession, stock: str) -> None:
    keys = "(SELECT id AS k, CAST(id AS DOUBLE) AS d FROM range(3)) AS o"
    select = "SELECT /*+ LOOKUP({name}) */ count(*) FROM"
    for join in (
        f"{keys} JOIN {stock} AS t ON o.k = t.v",
        f"{keys} JOIN {stock} AS t ON o.d = t.k",
        f"{keys} RIGHT JOIN {stock} AS t ON o.k = t.k",
        f"{keys} FULL JOIN {stock} AS t ON o.k = t.k",
        f"{stock} AS t LEFT SEMI JOIN {keys} ON o.k = t.k",
        f"{stock} AS t",
    ):
        plain = spark.sql(f"{select.format(name='x')} {join}")
        hinted = spark.sql(f"{select.format(name='t')} {join}")
        assert "the hint LOOKUP was not followed" in plan_of(hinted), join
        assert "hint LOOKUP" not in plan_of(plain)
        assert rows(hinted) == rows(plain)
    other = spark.sql(f"{select.format(name='o')} {keys} JOIN {stock} AS t ON o.k = t.k")
    assert "LookupJoin" not in plan_of(other)
    assert other.first()[0] == 3
    with pytest.raises(Exception, match=r"Join strategy hint parameter"):
        spark.sql(f"{select.format(name='1')} {keys}")


def test_several_joins_and_forms_of_the_hint(spark: SparkSession, stock: str) -> None:
    twice = spark.sql(
        f"SELECT /*+ LOOKUP(a, {stock}) */ id, a.v, {stock}.v FROM range(3) "
        f"LEFT JOIN {stock} AS a ON a.k = id + 1000 JOIN {stock} ON {stock}.k = a.k * 2"
    )
    assert plan_of(twice).count("LookupJoin") == 2
    assert rows(twice) == [f"Row(id={i}, v=-1, v={2 * i})" for i in range(3)]
    on_the_left = spark.sql(
        f"SELECT /*+ LOOKUP(t) */ * FROM {stock} AS t JOIN range(2) ON t.k = id"
    )
    assert rows(on_the_left) == ["Row(k=0, v=0, id=0)", "Row(k=1, v=1, id=1)"]
    subquery = spark.sql(
        f"SELECT id FROM range(3) WHERE id IN (SELECT /*+ LOOKUP(t) */ k FROM {stock} t)"
    )
    spark.table(stock).createOrReplaceTempView("stock_view")
    view = spark.sql("SELECT /*+ LOOKUP(v) */ id FROM range(3) JOIN stock_view AS v ON k = id")
    right = spark.table(stock).where("v < 2").hint("lookup").withColumnRenamed("k", "id")
    frame = spark.range(3).join(right, "id", "left_semi").select("id")
    for found, count in ((on_the_left, 2), (subquery, 3), (view, 3), (frame, 2)):
        assert "LookupJoin" in plan_of(found)
        assert "BatchScan" not in plan_of(found)
        assert found.count() == count


def test_the_same_look_up_runs_once(spark: SparkSession, stock: str) -> None:
    """Spark runs one of two parts of a plan that are the same, also where rows are looked up."""
    found = (
        "(SELECT /*+ LOOKUP(t) */ id % 2 AS part, max(t.v) AS v FROM range({count}) "
        f"JOIN {stock} AS t ON k = id AND t.v > id - 9 GROUP BY ALL)"
    )
    with conf(spark, **{AQE: False}):
        for count, looks, greatest in ((7, 1, 6), (6, 2, 4)):
            one, other = found.format(count=7), found.format(count=count)
            frame = spark.sql(f"SELECT a.v, b.v FROM {one} AS a JOIN {other} AS b USING (part)")
            plan = plan_of(frame)
            assert (plan.count("LookupJoin"), plan.count("ReusedExchange")) == (looks, 2 - looks)
            assert rows(frame) == ["Row(v=5, v=5)", f"Row(v=6, v={greatest})"]


def test_a_stream_sees_the_newest_rows(spark: SparkSession, stock: str, tmp_path: Path) -> None:
    source, seen = tmp_path / "in", []
    source.mkdir()
    stream = spark.readStream.schema("id BIGINT").json(str(source))
    joined = stream.join(
        spark.table(stock).hint("lookup").withColumnRenamed("k", "id"), "id", "left"
    )

    def keep(batch: DataFrame, number: int) -> None:
        seen.extend((number, row.id, row.v) for row in batch.collect())

    def plan(query: StreamingQuery) -> str:
        return str(query._jsq.explainInternal(False))

    query = joined.writeStream.foreachBatch(keep).start()
    try:
        for number in range(2):
            spark.sql(f"INSERT INTO {stock} VALUES (7, {number}), ({300000 + number}, 1)")
            (source / f"{number}.json").write_text('{"id": 7}\n{"id": 300001}\n{"id": 9}')
            query.processAllAvailable()
        text = plan(query)
    finally:
        query.stop()
    assert "LookupJoin" in text
    assert sorted(seen) == [
        (0, 7, 0),
        (0, 9, 9),
        (0, 300001, None),
        (1, 7, 1),
        (1, 9, 9),
        (1, 300001, 1),
    ]


def test_tasks_plan_look_ups_of_many_files(spark: SparkSession, warehouse: Path) -> None:
    """They read no manifest of other partitions than those of their keys, and nobody else does."""
    name, files = "keyfold.it.many_files", MANY_FILES + many_files.BUCKETS
    spark.sql("CREATE NAMESPACE IF NOT EXISTS keyfold.it")
    new = many_files.new_table(key="k,p", changelog_producer="input")
    table = tables.catalog(warehouse).create_table(["it"], "many_files", new)
    many_files.fill(table, files)
    spark.sql(f"INSERT INTO {name} SELECT -1, id, id * 10, 0, 0, 0, 0 FROM range(3)")
    filled = table.manifests.listed(table.snapshots.read(1))
    for listed in filled:
        Path(table.manifests.path(listed["_FILE_NAME"])).write_bytes(b"")
    keys = "(SELECT id, -1 - id DIV 9 AS p FROM range(5))"
    joined = spark.sql(
        f"SELECT /*+ LOOKUP(t) */ o.id, t.a FROM {keys} o JOIN {name} t ON t.k = o.id AND t.p = o.p"
    )
    text = plan_of(joined)
    assert "LookupJoin" in text
    assert re.search(r"Sort \[p#\d+L? ASC NULLS FIRST, id#", text), text  # few partitions at once
    assert sorted(map(tuple, joined.collect())) == [(0, 0), (1, 10), (2, 20)]
    # Tasks of a statement look up the rows before it, for the changelog.
    spark.sql(f"UPDATE {name} SET a = 30 WHERE p = -1 AND k = 2")
    (told,) = table.manifests.logged(table.snapshots.latest())
    assert told.rows == 2
