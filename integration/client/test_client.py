"""The client of the JVM beside the Python door: what one writes the other reads."""

from __future__ import annotations

import re
import signal
from decimal import Decimal
from os import kill
from random import Random
from typing import Any

import pytest
from pyspark.sql import SparkSession

from integration import TOP
from integration.client.jvm import COUNTS, Program, refused, rows_of
from integration.faults import processes
from integration.faults.harness import children_of
from integration.sessions import conf
from keyfold import Catalog, functions
from tests.bridge.client import eventually


def test_a_definition_is_that_of_sql(program: Program, catalog: Catalog, name: str) -> None:
    builder = program.client.KeyfoldTable.builder()
    listagg = program.client.Functions.listagg().option("list-agg-delimiter", ";")
    builder.column("id", "BIGINT").column("day", "STRING").column("t", "STRING", listagg)
    odd = "`${spark.app.name}"  # which Spark would put another text in place of
    builder.column(odd, "INT DEFAULT 7").primaryKey(program.texts("day", "id"))
    builder.partitionedBy(program.texts("day")).comment(f"it's \\ {odd}").option("bucket", 2)
    session = program.spark._jsparkSession
    with conf(program.spark, **{"spark.sql.parser.escapedStringLiterals": True}):
        table = builder.create(session, name)
    assert list(table.primaryKey()) == ["day", "id"]
    found = catalog.table(name.removeprefix("keyfold."))
    assert found.columns == {
        "id": "BIGINT NOT NULL",
        "day": "STRING NOT NULL",
        "t": "STRING",
        odd: "INT",
    }
    assert (found.partitions, found.comment) == (("day",), f"it's \\ {odd}")
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


@pytest.mark.parametrize(
    ("kind", "key", "same"),
    [
        ("CHAR(3)", "a", "a  "),
        ("VARCHAR(2)", "b ", "b   "),
        ("DECIMAL(9,2)", Decimal("1.5"), Decimal("1.500")),
        ("DOUBLE", 0.0, -0.0),
    ],
)
def test_keys_that_the_table_changes_keep_the_order_of_the_calls(
    program: Program, catalog: Catalog, name: str, kind: str, key: Any, same: Any
) -> None:
    table = program.create(name, {"k": kind, "n": "INT"}, "k")
    program.write(table, [{"k": key, "n": 5}])
    writer = table.newUpsert().createWriter()
    writer.delete(program.value({"k": key}))
    writer.upsert(program.value({"k": same, "n": 7}))
    writer.close()
    assert [row[-1] for row in rows_of(catalog, name)] == [7]


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


def test_calls_of_a_writer_end_with_its_flush(program: Program, name: str) -> None:
    table = program.create(name, COUNTS, "id")
    writer = table.newUpsert().createWriter()
    first = writer.upsert(program.value({"id": 1, "n": 1}))
    second = writer.delete(program.value({"id": 2}))
    assert [first.isDone(), second.isDone()] == [False, False]
    snapshot = writer.flush()
    assert first.get().equals(snapshot)
    assert second.get().equals(snapshot)
    third = writer.upsert(program.value({"id": 3, "n": 1}))
    assert not third.isDone()
    refused(lambda: writer.upsert(program.value({"id": "x", "n": 1})), "column id: expected BIGINT")
    refused(lambda: third.get(), "column id: expected BIGINT")
    writer.close()


def test_keys_that_are_looked_up_later_are_looked_up_together(program: Program, name: str) -> None:
    table = program.create(name, COUNTS, "id")
    program.write(table, [{"id": n, "n": -n} for n in range(200)])
    lookuper = table.newLookup().columns(program.texts("n")).createLookuper()
    answers = [lookuper.lookupAsync(program.value({"id": n})) for n in range(210)]
    found = [answer.get() for answer in answers]
    assert [row and row.getLong(0) for row in found] == [-n for n in range(200)] + [None] * 10
    refused(lambda: lookuper.lookupAsync(program.value({"id": "x"})), "column id: expected BIGINT")
    lookuper.close()
    refused(lambda: lookuper.lookupAsync(program.value({"id": 1})).get(), "is closed")


def test_a_row_whose_key_is_null_is_found(program: Program, name: str) -> None:
    table = program.create(name, {"k": "INT", "n": "INT"}, "k", **{"primary-key.nullable": "true"})
    program.write(table, [{"k": None, "n": 5}, {"k": 1, "n": None}])
    lookuper, some = table.newLookup().createLookuper(), table.newLookup()
    found = lookuper.lookup(program.value([{"k": key} for key in (2, None, 1)]))
    assert [row and row.toString() for row in found] == [None, "[null,5]", "[1,null]"]
    of_prefix = lookuper.prefixLookup(program.value({"k": None}))
    assert [row.toString() for row in of_prefix] == ["[null,5]"]
    assert lookuper.lookup(program.value({"k": 3})) is None
    lookuper.close()
    lookuper = some.columns(program.texts("n")).createLookuper()
    assert lookuper.lookup(program.value({"k": 1})).toString() == "[null]"
    lookuper.close()


def test_a_process_is_given_up_if_rows_find_no_memory(
    program: Program, spark: SparkSession, name: str
) -> None:
    table = program.create(name, COUNTS, "id")
    row = program.value({"id": 1, "n": 1})
    memory = spark._jvm.org.apache.spark.sql.util.ArrowUtils.rootAllocator()  # type: ignore[union-attr]
    writer, lookuper = table.newUpsert().createWriter(), table.newLookup().createLookuper()
    for call in (lambda: writer.upsert(row), lambda: lookuper.lookup(program.value({"id": 1}))):
        program.write(table, [{"id": 1, "n": 1}])  # leaves a process that is idle
        before = len(_workers(spark))
        memory.setLimit(1)
        try:
            with pytest.raises(Exception, match="allocate"):
                call()
        finally:
            memory.setLimit((1 << 63) - 1)
        assert eventually(lambda b=before: len(_workers(spark)) < b)
    lookuper.close()
    writer.close()


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
