"""Look-up joins that insert the keys that they do not find."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from integration.keyed import create_keyed
from integration.lookups.test_ids import create, door, ids
from integration.lookups.test_merges import AQE
from integration.planning.plans import plan_of
from integration.sessions import conf
from integration.streams.sinks import Source

INSERTING = "WITH ('lookup.insert-if-not-exists' = 'true')"
ROWS = "(SELECT * FROM VALUES ('b', 1), ('a', 2), (NULL, 3), ('b', 4) AS s(who, n)) AS s"


@pytest.fixture
def words(spark: SparkSession, request: pytest.FixtureRequest) -> Iterator[str]:
    """`k STRING, id BIGINT, v INT` of two buckets with ids, which has the key `a`."""
    name = create(spark, f"in_{request.node.name.split('[')[0][5:]}", bucket="2")
    spark.sql(f"INSERT INTO {name} (k, v) VALUES ('a', 7)")
    yield name
    spark.sql(f"DROP TABLE {name}")


def snapshots(spark: SparkSession, name: str) -> int:
    return spark.table(f"{name[: name.rindex('.')]}.`{name.rpartition('.')[2]}$snapshots`").count()


@pytest.mark.parametrize("adaptive", [True, False])
def test_absent_keys_are_inserted(spark: SparkSession, words: str, adaptive: bool) -> None:
    """Each once, whatever the rows; NULL is no key; what is there stays, and is not written."""
    query = (
        f"SELECT /*+ LOOKUP(w) */ who, n, id, v FROM {ROWS} {{}} {words} {INSERTING} w ON k = who"
    )
    with conf(spark, **{AQE: adaptive}):
        left = spark.sql(query.format("LEFT JOIN"))
        assert "inserts absent keys" in plan_of(left)
        assert ids(spark, words).keys() == {"a"}  # a plan writes nothing
        found = sorted(left.collect(), key=lambda row: row.n)
        own = ids(spark, words)
        assert own.keys() == {"a", "b"}
        assert [tuple(row) for row in found] == [
            ("b", 1, own["b"], None), ("a", 2, own["a"], 7), (None, 3, None, None),
            ("b", 4, own["b"], None),
        ]  # fmt: skip
        before = snapshots(spark, words)
        assert spark.sql(query.format("JOIN")).count() == 3
        assert (ids(spark, words), snapshots(spark, words)) == (own, before)
        spark.sql(f"DELETE FROM {words} WHERE k = 'b'")
        assert sorted(left.collect(), key=lambda row: row.n) == found  # of the same snapshot
        assert ids(spark, words).keys() == {"a"}
        assert left.where("id IS NOT NULL").count() == 3
        assert ids(spark, words)["b"] > own["b"]


def test_conditions_and_joins_that_spark_removes(spark: SparkSession, words: str) -> None:
    """Spark gives conditions over the key to the other side too, and drops joins without use."""
    query = (
        "SELECT /*+ LOOKUP(w) */ {0} FROM VALUES ('{1}1'), ('{1}2') AS s(who) "
        f"{{2}} {words} {INSERTING} w ON k = who {{3}}"
    )
    for given, rows, inserted in (
        (("id", "b", "LEFT JOIN", "WHERE k > 'b1'"), 1, {"b2"}),
        (("id", "c", "JOIN", "AND k > 'c1'"), 1, {"c2"}),
        (("id", "d", "LEFT JOIN", "AND k > 'd1'"), 2, {"d1", "d2"}),
        (("id", "e", "LEFT JOIN", "WHERE v > 0"), 0, {"e1", "e2"}),
        (("DISTINCT who", "f", "LEFT JOIN", ""), 2, set()),
    ):
        before = ids(spark, words).keys()
        assert len(spark.sql(query.format(*given)).collect()) == rows
        assert ids(spark, words).keys() - before == inserted
    assert spark.sql(query.format("id", "g", "JOIN", "")).rdd.id() > 0
    assert {"g1", "g2"} < ids(spark, words).keys()  # no action was run


def test_views_and_caches(spark: SparkSession, words: str) -> None:
    """A view inserts at every SELECT; a cached table shows it when it is refreshed."""
    spark.sql("CREATE OR REPLACE TEMPORARY VIEW asked AS SELECT * FROM VALUES ('b') AS s(who)")
    spark.sql(
        "CREATE OR REPLACE TEMPORARY VIEW numbered AS "
        f"SELECT /*+ LOOKUP(w) */ id FROM asked JOIN {words} {INSERTING} w ON k = who"
    )
    spark.sql(f"CACHE TABLE {words}")
    (first,) = spark.sql("SELECT id FROM numbered").collect()
    assert ids(spark, words).keys() == {"a"}
    assert spark.sql("SELECT id FROM numbered").collect() == [first]
    spark.sql(f"REFRESH TABLE {words}")
    assert ids(spark, words).keys() == {"a", "b"}
    spark.sql(f"UNCACHE TABLE {words}")
    spark.sql(f"DELETE FROM {words} WHERE k = 'b'")
    assert spark.sql("SELECT id FROM numbered").collect() > [first]


def test_a_join_fills_its_cache(spark: SparkSession, words: str) -> None:
    """Whether the option is the reader's or the table's."""
    reader = spark.read.option("lookup.insert-if-not-exists", "true")
    spark.sql(f"ALTER TABLE {words} SET TBLPROPERTIES ('lookup.insert-if-not-exists' = 'true')")
    cache = spark._jsparkSession.sharedState().cacheManager()
    for key, dictionary in (("b", spark.table(words)), ("c", reader.table(words))):
        asked = spark.createDataFrame([(key,)], "k STRING")
        joined = asked.join(dictionary.hint("lookup"), "k").select("id").cache()
        (first,) = joined.collect()
        assert ids(spark, words)[key] == first.id
        held = cache.lookupCachedData(joined._jdf).get().cachedRepresentation()
        assert held.cacheBuilder().isCachedColumnBuffersLoaded()
        joined.unpersist()
    spark.sql(f"ALTER TABLE {words} UNSET TBLPROPERTIES ('lookup.insert-if-not-exists')")


def test_forms(spark: SparkSession, warehouse: Path, words: str) -> None:
    """The option of the table or of a reader, always with the hint; two joins; an order above."""
    spark.sql(f"ALTER TABLE {words} SET TBLPROPERTIES ('lookup.insert-if-not-exists' = 'true')")
    other = "(SELECT * FROM VALUES ('x') AS s(who))"
    plain = spark.sql(f"SELECT id FROM {other} LEFT JOIN {words} ON k = who")
    off = spark.sql(
        f"SELECT /*+ LOOKUP(w) */ id FROM {other} LEFT JOIN {words} "
        "WITH ('lookup.insert-if-not-exists' = 'false') w ON k = who"
    )
    assert plain.collect() == off.collect() == [(None,)]
    twice = spark.sql(
        f"SELECT /*+ LOOKUP(a, b) */ a.id, b.id, a.k, b.k FROM VALUES ('y', 'z') AS s(one, two) "
        f"JOIN {words} AS a ON a.k = one JOIN {words} AS b ON two = b.k AND b.id > 0 ORDER BY 1"
    )
    own = dict(zip("yz", twice.collect()[0][:2], strict=True))
    reader = spark.read.option("lookup.insert-if-not-exists", "true").table(words).hint("lookup")
    (row,) = spark.createDataFrame([("u",)], "k STRING").join(reader, "k").collect()
    assert ids(spark, words) == {"a": ids(spark, words)["a"], **own, "u": row.id}
    place = str(warehouse / "it.db" / words.rpartition(".")[2])
    reader = spark.read.format("keyfold").option("lookup.insert-if-not-exists", "true").load(place)
    (at,) = spark.createDataFrame([("w",)], "k STRING").join(reader.hint("lookup"), "k").collect()
    assert ids(spark, words)["w"] == at.id
    spark.sql(f"ALTER TABLE {words} UNSET TBLPROPERTIES ('lookup.insert-if-not-exists')")


def test_defaults_and_wide_keys(spark: SparkSession) -> None:
    """DEFAULTs once, also under a sum; a whole number that the key has no room for is no key."""
    name = "keyfold.it.inserted_defaults"
    create_keyed(
        spark,
        name,
        ("p STRING, k SMALLINT, v INT DEFAULT 2 + 3, d STRING NOT NULL DEFAULT 'x', w TIMESTAMP"),
        key="p, k",
        by="p",
        bucket=2,
        merge_engine="aggregation",
        folds={"v": "sum"},
    )
    keys = (
        "(SELECT IF(id < 6, 'p', 'q') AS p, IF(id = 9, 100000, CAST(id % 3 AS INT)) AS n "
        "FROM range(10))"
    )
    found = spark.sql(
        f"SELECT /*+ LOOKUP(t) */ t.* FROM {keys} s JOIN {name} {INSERTING} t "
        "ON t.p = s.p AND t.k = s.n"
    )
    expected = {(p, k, 5, "x", None) for p in "pq" for k in range(3)}
    rows = [tuple(row) for row in found.collect()]
    assert len(rows) == 9
    assert set(rows) == expected == {tuple(row) for row in spark.table(name).collect()}
    spark.sql(f"DROP TABLE {name}")


def test_many_queries_at_once(spark: SparkSession, warehouse: Path, words: str) -> None:
    """Queries and programs that ask for the same new keys get the same ids."""
    table = door(warehouse).table(words.removeprefix("keyfold."))

    def of_query(seed: int) -> dict[str, int]:
        keys = [(f"k{number}",) for number in Random(seed).sample(range(600), 300)]
        rows = spark.createDataFrame(keys, "who STRING").createOrReplaceTempView(f"asked{seed}")
        rows = spark.sql(
            f"SELECT /*+ LOOKUP(w) */ k, id FROM asked{seed} JOIN {words} {INSERTING} w ON k = who"
        ).collect()
        assert len(rows) == len(keys)
        return {row.k: row.id for row in rows}

    def of_program(seed: int) -> dict[str, int]:
        keys = [{"k": f"k{number}"} for number in Random(seed).sample(range(600), 300)]
        return {
            row["k"]: row["id"] for row in table.get_or_insert_many(keys, ["k", "id"]).to_pylist()
        }

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda seed: (of_query, of_program)[seed % 2](seed), range(6)))
    own = ids(spark, words)
    assert all(some.items() <= own.items() for some in found)
    assert len(set(own.values())) == len(own)


def test_streams(spark: SparkSession, words: str, tmp_path: Path) -> None:
    """A batch that is computed again gives no key a second id, as a join and in foreachBatch."""
    source = Source(spark, tmp_path / "in", "who STRING, n INT")
    dictionary = spark.read.option("lookup.insert-if-not-exists", "true").table(words)
    seen: list[dict[str, int]] = []

    def keep(batch: DataFrame, number: int) -> None:
        for _ in range(2):
            seen.append({row.who: row.id for row in batch.collect()})
        batch.selectExpr("concat(who, '!') AS other").createOrReplaceTempView("others")
        batch.sparkSession.sql(
            f"SELECT /*+ LOOKUP(w) */ id FROM others JOIN {words} {INSERTING} w ON k = other"
        ).collect()

    joined = source.stream().join(dictionary.hint("lookup").withColumnRenamed("k", "who"), "who")
    for names in ("ab", "bc"):
        source.add(*({"who": name, "n": 1} for name in names))
        query = joined.writeStream.foreachBatch(keep).trigger(availableNow=True)
        assert query.option("checkpointLocation", str(tmp_path / "c")).start().awaitTermination(300)
    own = ids(spark, words)
    assert own.keys() == {"a", "b", "c", "a!", "b!", "c!"}
    assert len(set(own.values())) == 6
    assert [set(some) for some in seen] == [{"a", "b"}, {"a", "b"}, {"b", "c"}, {"b", "c"}]
    assert all(some.items() <= own.items() for some in seen)


def test_what_is_refused(spark: SparkSession, words: str) -> None:
    strict = "keyfold.it.inserted_strict"
    create_keyed(spark, strict, "k STRING, j INT, v INT NOT NULL", key="k, j", bucket_key="k")

    def expected(key: str) -> str:
        return rf"the hint LOOKUP over it, in an inner or left outer join .*\({key}\)"

    hinted = f"SELECT /*+ LOOKUP(t) */ * FROM {ROWS}"
    maybe = "WITH ('lookup.insert-if-not-exists' = 'maybe')"
    for query, message in (
        (f"{hinted} JOIN {strict} {INSERTING} t ON t.k = who", expected("k, j")),
        (f"SELECT count(*) FROM {strict} {INSERTING}", expected("k, j")),
        (f"SELECT * FROM {ROWS} JOIN {words} {INSERTING} t ON k = who", expected("k")),
        (f"{hinted} LEFT SEMI JOIN {words} {INSERTING} t ON k = who", expected("k")),
        (f"{hinted} RIGHT JOIN {words} {INSERTING} t ON k = who", expected("k")),
        (
            f"{hinted} JOIN {strict} {INSERTING} t ON k = who AND j = n",
            r"non-nullable columns that are not primary key columns .*: \[v\]",
        ),
        (f"{hinted} JOIN {words} VERSION AS OF 1 {INSERTING} t ON k = who", "snapshot 1"),
        (f"{hinted} JOIN {words} {maybe} t ON k = who", "expected true or false, found 'maybe'"),
        (
            f"{hinted} JOIN {words} {INSERTING.replace('-', '_')} t ON k = who",
            "lookup.insert_if_not_exists is unknown; did you mean lookup.insert-if-not-exists",
        ),
    ):
        with pytest.raises(PySparkException, match=message):
            spark.sql(query).collect()
    assert spark.table(strict).collect() == []
    assert ids(spark, words).keys() == {"a"}
    spark.sql(f"DROP TABLE {strict}")
