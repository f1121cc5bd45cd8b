"""Values that a program of the JVM gives, and those that are refused."""

from __future__ import annotations

from datetime import date, datetime, time, timezone
from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import SparkSession

from integration.client.jvm import COUNTS, Program, refused, rows_of
from keyfold import Catalog

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


def test_whole_numbers_that_are_the_same_are_taken(
    program: Program, catalog: Catalog, name: str
) -> None:
    table = program.create(name, {"k": "INT", "f": "FLOAT", "d": "DOUBLE"}, "k")
    big = program.java.math.BigInteger
    given = [(1 << 30, 1 << 62), (-(1 << 63), -(1 << 53) - 2), (big(str(1 << 100)),) * 2]
    program.write(table, [{"k": k, "f": f, "d": d} for k, (f, d) in enumerate(given)])
    wanted = [*given[:2], (1 << 100, 1 << 100)]
    assert rows_of(catalog, name) == [(k, *pair) for k, pair in enumerate(wanted)]
    least, most = big(str(1 << 1024)), (1 << 63) - 1
    for f, d in (
        ((1 << 24) + 1, 0),
        (most, 0),
        (least, 0),
        (0, (1 << 53) + 1),
        (0, most),
        (0, least),
    ):
        row = {"k": 9, "f": f, "d": d}
        refused(lambda r=row: program.write(table, [r]), "expected", "found java")


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"id": 1}, "no column n"),
        ({"id": 1, "n": 1, "z": 1}, "column z is unknown"),
        ({"id": "x", "n": 1}, "column id: expected BIGINT, found java.lang.String x"),
        ({"id": 1, "n": 0.5}, "column n: expected BIGINT, found java.lang.Double 0.5"),
        ({"id": None, "n": 1}, "column id does not take NULL"),
        ({"id": 1, "n": 1, "ID": 2}, "a column is named twice: id, n, ID"),
        (None, "row: expected a Map or a Row, found null"),
    ],
)
def test_a_row_that_does_not_fit_ends_the_writer(
    program: Program, catalog: Catalog, spark: SparkSession, row: dict[str, Any] | None, words: str
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


def test_what_is_no_key_is_refused(program: Program, name: str) -> None:
    table = program.create(name, COUNTS, "id")
    lookuper, writer = table.newLookup().createLookuper(), table.newUpsert().createWriter()
    for call in (lookuper.lookup, lookuper.prefixLookup, writer.delete):
        assert refused(lambda c=call: c(None), "expected", "found null") == "TableError"
    assert refused(lambda: lookuper.lookup(program.value([None])), "found null") == "TableError"
    twice = program.value({"id": 1, "ID": 2})
    for call in (lookuper.lookup, lookuper.prefixLookup):
        assert refused(lambda c=call: c(twice), "a column is named twice: id, ID") == "TableError"
    lookuper.close()
    writer.close()
