"""Streams from table to table: each table ends equal to what a batch query makes of the input."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from integration import sessions
from integration.faults import harness
from integration.keyed import create_keyed
from integration.streams.sinks import Source, drained, rows

Fresh = Callable[[], str]


Order = tuple[int, int]  # customer, amount


def fed(draw: random.Random, now: dict[int, Order]) -> list[tuple[str, int, int, int]]:
    """What a database tells of some changes of its orders, with the rows before them."""
    told = []
    for _ in range(15):
        number = draw.randrange(12)
        if (old := now.pop(number, None)) is None or draw.random() < 0.7:
            now[number] = (draw.randrange(3), draw.randrange(100))
            told += [] if old is None else [("-U", number, *old)]
            told.append(("+I" if old is None else "+U", number, *now[number]))
        else:
            told.append(("-D", number, *old))
    return told


def sums(orders: Iterable[Order]) -> dict[int, Order]:
    """GROUP BY of the first: sum and count."""
    found: dict[int, Order] = {}
    for group, amount in orders:
        total, count = found.get(group, (0, 0))
        found[group] = (total + amount, count + 1)
    return found


def test_totals_of_the_newest_rows(
    spark: SparkSession, tmp_path: Path, fresh_name: Fresh, seed: int
) -> None:
    """Orders change and are deleted; sums and counts by customer take back what is gone, and those
    by region follow these, whatever is compacted meanwhile. A stream of the changes of the first
    ends with what the table has.
    """
    orders, totals, regions = fresh_name(), fresh_name(), fresh_name()
    columns = "id INT NOT NULL, customer INT, amount BIGINT, kind STRING"
    given = {"bucket": 2, "rowkind.field": "kind", "write-only": True}
    given["num-sorted-run.compaction-trigger"] = 2
    create_keyed(spark, orders, columns, "id", given=given, changelog_producer="input")
    folds = {"amount": "sum", "orders": "sum", "kind": "last_value"}
    for name, key in ((totals, "customer"), (regions, "region")):
        columns = f"{key} INT NOT NULL, amount BIGINT, orders BIGINT, kind STRING"
        sum_of = {"folds": folds, "given": given, "merge_engine": "aggregation"}
        create_keyed(spark, name, columns, key, **sum_of)
    source = Source(spark, tmp_path / "in", "kind STRING, id INT, customer INT, amount BIGINT")
    draw, now = random.Random(seed), dict[int, Order]()
    seen: set[tuple[int, int, int]] = set()

    def follow(batch: DataFrame, _: int) -> None:
        gone = batch.where("_change_type IN ('delete', 'update_preimage')")
        for is_gone, some in ((True, gone), (False, batch.exceptAll(gone))):
            found = {tuple(row) for row in some.select("customer", "amount", "orders").collect()}
            assert found <= seen if is_gone else not found & seen
            seen.symmetric_difference_update(found)

    def changes(name: str, *shown: str) -> DataFrame:
        log = spark.readStream.table(f"keyfold.it.`{name.split('.')[2]}$audit_log`")
        return log.selectExpr(*shown, "rowkind AS kind")

    def compact() -> None:
        name = draw.choice((orders, totals, regions)).removeprefix("keyfold.")
        how = draw.choice(("minor", "full", None))
        if how is not None:
            spark.sql(f"CALL keyfold.sys.compact(table => '{name}', compact_strategy => '{how}')")

    for _ in range(3):
        told = fed(draw, now)
        source.add(*(dict(zip(("kind", "id", "customer", "amount"), t, strict=True)) for t in told))
        drained(source.stream(), orders, tmp_path / "c1")
        compact()
        drained(changes(orders, "customer", "amount", "1L orders"), totals, tmp_path / "c2")
        compact()
        by_region = changes(totals, "customer % 2 AS region", "amount", "orders")
        drained(by_region, regions, tmp_path / "c3")
        compact()
        net = {"deduplicationMode": "netChanges", "computeUpdates": "true"}
        of_totals = spark.readStream.options(**net).changes(totals).writeStream.foreachBatch(follow)
        of_totals = of_totals.option("checkpointLocation", str(tmp_path / "c4"))
        of_totals.trigger(availableNow=True).start().awaitTermination()
        assert seen == {tuple(row[:3]) for row in rows(spark, totals)}
        for name, count in ((totals, 3), (regions, 2)):
            found = {row[0]: (row[1], row[2]) for row in rows(spark, name)}
            expected = sums((customer % count, amount) for customer, amount in now.values())
            assert {group: pair for group, pair in found.items() if pair[1]} == expected


def test_two_streams_join_in_one_table(
    spark: SparkSession, tmp_path: Path, fresh_name: Fresh
) -> None:
    """A partial update with a sequence group for each stream, as Paimon's documents have it."""
    name = fresh_name()
    create_keyed(
        spark,
        name,
        "k INT NOT NULL, a STRING, a_at INT, b STRING, b_at INT",
        bucket=1,
        merge_engine="partial-update",
        given={"fields.a_at.sequence-group": "a", "fields.b_at.sequence-group": "b"},
    )
    left = Source(spark, tmp_path / "a", "k INT, a STRING, a_at INT")
    right = Source(spark, tmp_path / "b", "k INT, b STRING, b_at INT")
    left.add({"k": 1, "a": "new", "a_at": 2}, {"k": 2, "a": "only", "a_at": 1})
    left.add({"k": 1, "a": "old", "a_at": 1})
    right.add({"k": 1, "b": "x", "b_at": 5}, {"k": 3, "b": "alone", "b_at": 1})
    right.add({"k": 1, "b": "y", "b_at": 6})
    drained(left.stream(), name, tmp_path / "c1")
    drained(right.stream(), name, tmp_path / "c2")
    assert rows(spark, name) == [
        (1, "new", 2, "y", 6),
        (2, "only", 1, None, None),
        (3, None, None, "alone", 1),
    ]


def test_a_log_without_repeats(spark: SparkSession, tmp_path: Path, fresh_name: Fresh) -> None:
    """`first-row` keeps the first of each id; what reads its stream meets each id once."""
    name = fresh_name()
    create_keyed(
        spark, name, "id INT NOT NULL, v STRING", key="id", bucket=1, merge_engine="first-row"
    )
    source, met = Source(spark, tmp_path / "in", "id INT, v STRING"), list[tuple[int, str]]()

    def meet(batch: DataFrame, _: int) -> None:
        met.extend(tuple(row) for row in batch.collect())

    for begin in (0, 2, 4):
        source.add(*({"id": i, "v": f"{begin}-{i}"} for i in range(begin, begin + 4)))
        drained(source.stream(), name, tmp_path / "c1")
        reading = spark.readStream.table(name).writeStream.foreachBatch(meet)
        reading = reading.option("checkpointLocation", str(tmp_path / "c2"))
        reading.trigger(availableNow=True).start().awaitTermination()
    assert sorted(met) == [
        *((i, f"0-{i}") for i in range(4)),
        *((i, f"2-{i}") for i in (4, 5)),
        *((i, f"4-{i}") for i in (6, 7)),
    ]
    assert rows(spark, name) == sorted(met)


def test_a_copy_in_parquet(
    spark: SparkSession, tmp_path: Path, fresh_name: Fresh, seed: int
) -> None:
    """Changes applied by `foreachBatch` to plain files, which end equal to the table."""
    name, copy = fresh_name(), tmp_path / "copy"
    create_keyed(spark, name, "k INT NOT NULL, v STRING", bucket=2)
    draw, applied = random.Random(seed), list[int]()

    def apply(changes: DataFrame, number: int) -> None:
        kept = spark.read.parquet(str(copy / str(applied[-1]))) if applied else None
        new = changes.where("_change_type IN ('insert', 'update_postimage')").select("k", "v")
        if kept is not None:
            new = kept.join(changes.select("k").distinct(), "k", "left_anti").unionByName(new)
        new.write.parquet(str(copy / str(number)))
        applied.append(number)

    for turn in range(3):
        values = ", ".join(f"({draw.randrange(20)}, '{turn}-{i}')" for i in range(12))
        spark.sql(f"INSERT INTO {name} VALUES {values}")
        spark.sql(f"DELETE FROM {name} WHERE k = {draw.randrange(20)}")
        stream = spark.readStream.option("deduplicationMode", "netChanges")
        stream = stream.option("computeUpdates", "true")
        writer = stream.changes(name).writeStream.foreachBatch(apply)
        writer = writer.option("checkpointLocation", str(tmp_path / "c")).trigger(availableNow=True)
        writer.start().awaitTermination()
        found = spark.read.parquet(str(copy / str(applied[-1]))).collect()
        assert sorted(map(tuple, found)) == rows(spark, name)


@pytest.mark.skipif(not sessions.HAS_DELTA, reason="Delta Lake's jar is for another Spark")
def test_a_copy_in_delta_lake(tmp_path: Path, seed: int) -> None:
    """Changes applied by MERGE, in a session that has Delta's jars; batches may come twice."""
    for name, turns in harness.run("copied", tmp_path, str(seed)).items():
        for rows_of_table, rows_of_copy in turns:
            assert rows_of_table, name
            assert rows_of_copy == rows_of_table, name
