"""The client of the JVM beside the Python door: what one writes the other reads."""

from __future__ import annotations

import re
import signal
from collections.abc import Callable, Iterator
from datetime import date, datetime, time, timezone
from decimal import Decimal
from os import kill
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyspark.sql import SparkSession

import keyfold
from integration import TOP
from integration.client.jvm import Program, rows_of
from integration.faults import processes
from integration.faults.harness import children_of
from keyfold import Catalog, functions
from keyfold.errors import KeyfoldError

COUNTS = {"id": "BIGINT", "n": "BIGINT"}
TYPES = {
    "k": "INT",
    "flag": "BOOLEAN",
    "tiny": "TINYINT",
    "small": "SMALLINT",
    "large": "BIGINT",
    "f": "FLOAT",
    "d": "DOUBLE",
    "price": "DECIMAL(10,2)",
    "wide": "DECIMAL(38,10)",
    "s": "STRING",
    "c": "CHAR(3)",
    "v": "VARCHAR(5)",
    "bytes": "BINARY",
    "day": "DATE",
    "at": "TIMESTAMP",
    "here": "TIMESTAMP_NTZ",
    "clock": "TIME(3)",
    "items": "ARRAY<BIGINT>",
    "counts": "MAP<STRING, INT>",
    "r": "STRUCT<x: INT, y: ARRAY<STRUCT<z: DATE>>>",
}
ROW: dict[str, Any] = {
    "flag": True,
    "tiny": -128,
    "small": 32767,
    "large": 1 << 62,
    "f": 0.5,
    "d": -0.1,
    "price": Decimal("12.50"),
    "wide": Decimal("-1234567890123456789012345678.0123456789"),
    "s": "é\U0001f600",
    "c": "abc",
    "v": "abcde",
    "bytes": b"\x00\xff",
    "day": date(1582, 10, 15),
    "at": datetime(2026, 3, 1, 12, 0, 0, 123456, tzinfo=timezone.utc),
    "here": datetime(1901, 3, 1, 12, 0, 0, 5),
    "clock": time(23, 59, 59, 999000),
    "items": [1, None, 3],
    "counts": {"x": 1, "y": None},
    "r": {"x": 1, "y": [{"z": date(2026, 1, 2)}, None]},
}


@pytest.fixture(scope="module")
def program(spark: SparkSession) -> Program:
    return Program(spark)


@pytest.fixture(scope="module")
def catalog(spark: SparkSession, warehouse: Path) -> Catalog:
    """The catalog of the session, opened by this process."""
    return keyfold.connect(warehouse, threads=1)


@pytest.fixture
def name(fresh_name: Callable[[], str]) -> str:
    return fresh_name()


def refused(call: Callable[[], Any], *words: str) -> str:
    """The kind of the error that a call ends with; its message has all the words."""
    with pytest.raises(KeyfoldError) as caught:
        call()
    for word in words:
        assert word in str(caught.value)
    return str(caught.value.kind)


def test_values_of_all_types_go_there_and_back(
    program: Program, catalog: Catalog, name: str, has_times: None
) -> None:
    table = program.create(name, TYPES, "k")
    given = [{"k": 1, **ROW}, {"k": 2, **dict.fromkeys(ROW)}]
    assert program.write(table, given) == 1
    found = catalog.table(name.removeprefix("keyfold.")).scan().to_pylist()
    for row, wanted in zip(sorted(found, key=lambda row: row["k"]), given, strict=True):
        assert {**row, "counts": row["counts"] and dict(row["counts"])} == wanted
    lookuper = table.newLookup().createLookuper()
    row = lookuper.lookup(program.value({"k": 1}))
    for place, (column, value) in enumerate(ROW.items(), 1):
        if not isinstance(value, list | dict):
            assert row.get(place) == program.value(value), column
    assert list(row.getList(17)) == ROW["items"]
    assert dict(row.getJavaMap(18)) == ROW["counts"]
    assert row.getStruct(19).getList(1)[0].getLocalDate(0).toString() == "2026-01-02"
    # A row that was looked up is written as it is.
    writer = program.create(f"{name}b", TYPES, "k").newUpsert().createWriter()
    for key in (1, 2):
        writer.upsert(lookuper.lookup(program.value({"k": key})))
    writer.close()
    lookuper.close()
    same = f"SELECT * EXCEPT (counts) FROM {name}"
    left = program.spark.sql(f"{same} EXCEPT SELECT * EXCEPT (counts) FROM {name}b")
    assert left.count() == 0
    assert len(rows_of(catalog, f"{name}b")) == 2


def test_a_definition_is_that_of_sql(program: Program, catalog: Catalog, name: str) -> None:
    builder = program.client.KeyfoldTable.builder()
    listagg = program.client.Functions.listagg().option("list-agg-delimiter", ";")
    builder.column("id", "BIGINT").column("day", "STRING").column("t", "STRING", listagg)
    builder.column("`", "INT DEFAULT 7").primaryKey(program.texts("day", "id"))
    builder.partitionedBy(program.texts("day")).comment("it's \\ ${x}").option("bucket", 2)
    session = program.spark._jsparkSession
    table = builder.create(session, name)
    assert list(table.primaryKey()) == ["day", "id"]
    found = catalog.table(name.removeprefix("keyfold."))
    assert found.columns == {
        "id": "BIGINT NOT NULL",
        "day": "STRING NOT NULL",
        "t": "STRING",
        "`": "INT",
    }
    assert (found.partitions, found.comment) == (("day",), "it's \\ ${x}")
    assert found.options["merge-engine"] == "aggregation"
    assert found.options["bucket"] == "2"
    kind = refused(lambda: builder.create(session, name), "already exists")
    assert kind == "TableExistsError"
    again = builder.ifNotExists().create(session, name)
    for text in "ab":
        program.write(again, [{"id": 1, "day": "x", "t": text}], "day", "id", "t")
    assert rows_of(catalog, name) == [(1, "x", "a;b", None)]


def test_functions_have_the_names_of_python() -> None:
    source = TOP / "jvm/src/client/scala/keyfold/client/Functions.scala"
    found = re.findall(r'def (\w+)\(\): ColumnFunction = of\("(\w+)"\)', source.read_text())
    assert [declared for declared, _ in found] == [named for _, named in found]
    assert [named for _, named in found] == [n for n in functions.__all__ if n != "call"]


def test_some_columns_leave_the_others_as_they_are(
    program: Program, catalog: Catalog, name: str
) -> None:
    columns = {"id": "BIGINT", "n": "BIGINT/sum", "s": "STRING"}
    table = program.create(name, columns, "id")
    program.write(table, [{"id": 1, "n": 2, "s": "a"}, {"id": 1, "n": 3, "s": None}])
    program.write(table, [{"ID": 1, "n": 4}, {"id": 2, "N": 1}], "id", "n")
    assert rows_of(catalog, name) == [(1, 9, "a"), (2, 1, None)]
    writer = table.newUpsert().mergeMode("overwrite").createWriter()
    writer.upsert(program.value({"id": 1, "n": 1, "s": None}))
    writer.close()
    assert rows_of(catalog, name) == [(1, 1, None), (2, 1, None)]


def test_a_flush_is_one_snapshot_in_the_order_of_the_calls(
    program: Program, catalog: Catalog, name: str, seed: int
) -> None:
    random, wanted, own = Random(seed), dict[int, int](), name.removeprefix("keyfold.")
    table = program.create(name, COUNTS, "id")
    writer = table.newUpsert().createWriter()
    last = 0
    for _ in range(3):
        for _ in range(30):
            key = random.randrange(8)
            if random.random() < 0.4:
                writer.delete(program.value({"id": key}))
                wanted.pop(key, None)
            else:
                wanted[key] = random.randrange(1000)
                writer.upsert(program.value({"id": key, "n": wanted[key]}))
        assert (catalog.table(own).snapshot or 0) == last
        assert writer.flush().getAsLong() == last + 1
        assert dict(rows_of(catalog, name)) == wanted
        last = catalog.table(own).snapshot or 0  # that of a compaction, perhaps
    assert not writer.flush().isPresent()
    writer.close()


def test_deletes_take_rows_away_under_every_engine(
    program: Program, catalog: Catalog, name: str
) -> None:
    table = program.create(name, {"id": "BIGINT", "n": "BIGINT/sum"}, "id")
    program.write(table, [{"id": 1, "n": 2}, {"id": 2, "n": 2}])
    writer = table.newUpsert().createWriter()
    row = program.spark._jvm.org.apache.spark.sql.RowFactory  # type: ignore[union-attr]
    writer.delete(row.create(_objects(program, 1)))
    writer.upsert(row.create(_objects(program, 1, 5)))
    writer.close()
    assert rows_of(catalog, name) == [(1, 5), (2, 2)]


def _objects(program: Program, *values: Any) -> Any:
    found = program.spark.sparkContext._gateway.new_array(program.java.lang.Object, len(values))
    for place, value in enumerate(values):
        found[place] = value
    return found


def test_look_ups_are_of_the_newest_snapshot(program: Program, catalog: Catalog, name: str) -> None:
    columns = {"a": "STRING", "b": "INT", "n": "INT"}
    table = program.create(name, columns, "a", "b")
    rows = [{"a": a, "b": b, "n": b} for a in "xy" for b in range(3)]
    program.write(table, rows)
    lookuper = table.newLookup().columns(program.texts("n")).createLookuper()
    assert lookuper.lookup(program.value({"a": "x", "b": 2})).toString() == "[2]"
    assert lookuper.lookup(program.value({"a": "x", "b": None})) is None
    found = lookuper.lookup(program.value([{"a": "y", "b": b} for b in (2, 7, 1)]))
    assert [row and row.getInt(0) for row in found] == [2, None, 1]
    of_prefix = lookuper.prefixLookup(program.value({"a": "y"}))
    assert sorted(row.getInt(0) for row in of_prefix) == [0, 1, 2]
    catalog.table(name.removeprefix("keyfold.")).upsert([{"a": "x", "b": 2, "n": 9}])
    assert lookuper.lookup(program.value({"a": "x", "b": 2})).toString() == "[9]"
    assert list(lookuper.lookup(program.value([]))) == []
    program.spark.sql(f"ALTER TABLE {name} ALTER COLUMN n TYPE BIGINT")
    assert lookuper.lookup(program.value({"a": "x", "b": 2})).getLong(0) == 9
    wide = table.newLookup().createLookuper()  # opened when n was INT
    assert wide.lookup(program.value({"a": "x", "b": 2})).toString() == "[x,2,9]"
    wide.close()
    lookuper.close()
    refused(lambda: lookuper.lookup(program.value({"a": "x", "b": 2})), "is closed")


def test_a_token_counts_once(program: Program, catalog: Catalog, name: str) -> None:
    table = program.create(name, {"id": "BIGINT", "n": "BIGINT/sum"}, "id")
    answers = []
    for _ in range(2):
        writer = table.newUpsert().createWriter()
        writer.token("orders", 7)
        writer.upsert(program.value({"id": 1, "n": 1}))
        answers.append(writer.flush().isPresent())
        writer.upsert(program.value({"id": 2, "n": 1}))  # which no token names
        refused(lambda w=writer: w.token("orders", 8), "before the rows")
    assert answers == [True, False]
    assert rows_of(catalog, name) == [(1, 1)]


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"id": 1}, "no column n"),
        ({"id": 1, "n": 1, "z": 1}, "column z is unknown"),
        ({"id": "x", "n": 1}, "column id: expected BIGINT, found java.lang.String x"),
        ({"id": 1, "n": 0.5}, "column n: expected BIGINT, found java.lang.Double 0.5"),
        ({"id": None, "n": 1}, "column id does not take NULL"),
    ],
)
def test_a_row_that_does_not_fit_ends_the_writer(
    program: Program, catalog: Catalog, spark: SparkSession, row: dict[str, Any], words: str
) -> None:
    name = "keyfold.it.refused"
    spark.sql(f"DROP TABLE IF EXISTS {name}")
    writer = program.create(name, COUNTS, "id").newUpsert().createWriter()
    writer.upsert(program.value({"id": 5, "n": 5}))
    assert refused(lambda: writer.upsert(program.value(row)), words) == "TableError"
    refused(lambda: writer.upsert(program.value({"id": 6, "n": 6})), "a call has failed", words)
    refused(lambda: writer.flush(), "open another writer")
    writer.close()
    refused(lambda: writer.flush(), "is closed")
    assert catalog.table("it.refused").snapshot is None


def test_what_python_refuses_is_told_at_the_flush(
    program: Program, catalog: Catalog, name: str
) -> None:
    table = program.create(name, {"id": "BIGINT", "c": "CHAR(2)"}, "id")
    writer = table.newUpsert().createWriter()
    writer.upsert(program.value({"id": 1, "c": "ab"}))
    writer.upsert(program.value({"id": 2, "c": "abc"}))
    assert refused(lambda: writer.flush(), "id = 2", "CHAR(2)") == "TableError"
    assert catalog.table(name.removeprefix("keyfold.")).snapshot is None


def test_names_that_are_no_tables_are_refused(program: Program, spark: SparkSession) -> None:
    assert refused(lambda: program.open("keyfold.it.nonesuch"), "nonesuch") == "NoSuchTableError"
    spark.range(1).createOrReplaceTempView("a_view")
    assert refused(lambda: program.open("a_view"), "in a keyfold catalog") == "TableError"
    unknown = {"id": "BIGINT", "n": "BIGINT/nonesuch"}
    refused(lambda: program.create("keyfold.it.nonesuch", unknown, "id"), "nonesuch")
    columns = program.create("keyfold.it.c_only", COUNTS, "id").newUpsert()
    refused(lambda: columns.partialUpdate(program.texts("n")).createWriter(), "primary key, id")
    refused(lambda: columns.partialUpdate(program.texts("z")).createWriter(), "no column z")


def test_look_ups_outlive_their_process_and_writers_do_not(
    program: Program, catalog: Catalog, spark: SparkSession, name: str
) -> None:
    table = program.create(name, COUNTS, "id")
    program.write(table, [{"id": 1, "n": 1}])
    lookuper, writer = table.newLookup().createLookuper(), table.newUpsert().createWriter()
    lookuper.lookup(program.value({"id": 1}))
    before = _workers(spark)
    writer.upsert(program.value({"id": 2, "n": 2}))
    for pid in before | _workers(spark):
        kill(pid, signal.SIGKILL)
    assert lookuper.lookup(program.value({"id": 1})).toString() == "[1,1]"
    refused(lambda: writer.flush(), "the Python worker", "died")
    lookuper.close()
    writer.close()
    assert rows_of(catalog, name) == [(1, 1)]


def _workers(spark: SparkSession) -> set[int]:
    """The processes that fork servers have started."""
    return {pid for server in children_of(spark) for pid in processes.children(server)}


@pytest.fixture(autouse=True, scope="module")
def cleared(spark: SparkSession) -> Iterator[None]:
    yield
    for table in spark.sql("SHOW TABLES IN keyfold.it LIKE 'c_only|refused'").collect():
        spark.sql(f"DROP TABLE keyfold.it.{table.tableName}")
