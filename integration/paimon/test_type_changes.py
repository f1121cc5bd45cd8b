"""Columns that Paimon gave another type: what was stored before reads as Paimon's Java reads it, no
statistics of the old type decide anything, and a compaction stores what was read.
"""

from __future__ import annotations

import base64
import datetime as dt
import itertools
import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from integration.paimon import library
from integration.paimon.bench import Bench, in_order
from integration.paimon.library import Paimon
from integration.paimon.sides import Change, Java, Keyfold, Refused, Shape
from keyfold.errors import NotSupportedError
from keyfold.read.folds.summary import summarized
from keyfold.read.reader import read
from keyfold.read.request import ReadRequest
from keyfold.read.scan_plan import plan_read
from keyfold.types import logical
from keyfold.types import spark as spark_types
from keyfold.types.java_text import JAVA_VERSION, JAVA_ZONE
from keyfold.wire.layout import TableLayout
from keyfold.wire.predicates import decoded
from keyfold.wire.specs import Aggregate

INF, NAN = float("inf"), float("nan")
ZONED = " WITH LOCAL TIME ZONE"
TIMES = [
    dt.datetime(2024, 2, 29, 12, 34, 56, 789012),
    dt.datetime(1969, 12, 31, 23, 59, 59, 999999),
    dt.datetime(1970, 1, 1),
    dt.datetime(2, 1, 1),
    dt.datetime(9998, 12, 31, 23, 59, 59, 120000),
    dt.datetime(2018, 11, 4, 0, 30),  # left out by the clocks of São Paulo
    dt.datetime(2018, 2, 17, 23, 30),  # comes twice there
]
MILLIS = [time.replace(microsecond=time.microsecond // 1000 * 1000) for time in TIMES]
SECONDS = [time.replace(microsecond=0) for time in TIMES]
DAYS = [time.date() for time in TIMES]
VALUES: Mapping[str, Sequence[Any]] = {
    "BOOLEAN": [True, False],
    "TINYINT": [-128, -1, 0, 9, 10, 127],
    "SMALLINT": [-32768, -1, 0, 9, 10, 300, 32767],
    "INT": [-(2**31), -1, 0, 9, 10, 70000, 2**24 + 1, 2**31 - 1],
    "BIGINT": [-(2**63), -1, 0, 9, 10, 2**40, 2**53 + 1, 2**63 - 1],
    "FLOAT": [-INF, -1e10, -0.5, 0.0, 1e-5, 3.1, 1.18846831e13, 7.6351903e25, 3.4e38, INF, NAN],
    "DOUBLE": [-INF, -1e10, -0.0, 4.9e-324, 0.001, 1.5, 2e23, 1e7, 2.0**60, 6.998e21, INF, NAN],
    "DECIMAL(5, 2)": list(map(Decimal, ("-999.99", "0.00", "0.01", "9.00", "10.00"))),
    "DECIMAL(9, 0)": list(map(Decimal, (-999999999, 0, 9, 10, 999999999))),
    "DECIMAL(20, 0)": list(map(Decimal, (1 - 10**20, 0, 2**63, 10**20 - 1))),
    "DECIMAL(38, 10)": list(map(Decimal, ("-9e27", "0E-10", "1E-10", "10.0000000000"))),
    "DATE": DAYS,
    "TIMESTAMP(6)": TIMES,
    "TIMESTAMP(3)": MILLIS,
    "TIMESTAMP(0)": SECONDS,
    "TIMESTAMP(6)" + ZONED: TIMES,
    "TIMESTAMP(3)" + ZONED: MILLIS,
    "STRING": ["", "a", "zz", "é", "10", "9"],
    "VARCHAR(3)": ["", "a", "zz", "abc"],
    "CHAR(3)": ["a  ", "abc"],
    "BYTES": [b"", b"abc", "é".encode()],
    "BINARY(3)": [b"abc", b"\x00\x01\x02"],
    "VARBINARY(3)": [b"a", b"abc"],
}
TARGETS = (*VALUES, "DECIMAL(12, 2)", "DECIMAL(30, 10)", "VARCHAR(9)", "CHAR(9)")
WHOLE = ("TINYINT", "SMALLINT", "INT", "BIGINT")
NUMBERS = (*WHOLE, "FLOAT", "DOUBLE")
TEXT = ("STRING", "VARCHAR(3)", "VARCHAR(9)", "CHAR(3)", "CHAR(9)")
LARGE = ("DECIMAL(20, 0)", "DECIMAL(30, 10)", "DECIMAL(38, 10)")
# Those that Spark's ALTER accepts are all among them; the others take Flink or Paimon's own API.
CONVERTED: Mapping[str, Sequence[str]] = {
    "BOOLEAN": TEXT,
    "TINYINT": (
        *NUMBERS,
        *("DECIMAL(5, 2)", "DECIMAL(9, 0)", "DECIMAL(12, 2)"),
        *LARGE,
        *TEXT,
    ),
    "SMALLINT": (*NUMBERS, "DECIMAL(9, 0)", "DECIMAL(12, 2)", *LARGE, *TEXT),
    "INT": (*NUMBERS, "DECIMAL(12, 2)", *LARGE, *TEXT),
    "BIGINT": (*NUMBERS, *LARGE, *TEXT),
    "FLOAT": ("DOUBLE", *TEXT),
    "DOUBLE": ("FLOAT", *TEXT),
    "DECIMAL(5, 2)": ("DECIMAL(12, 2)", "DECIMAL(30, 10)", "DECIMAL(38, 10)", *TEXT),
    "DECIMAL(9, 0)": (*WHOLE, "DECIMAL(12, 2)", *LARGE, *TEXT),
    "DECIMAL(20, 0)": (*WHOLE, "DECIMAL(30, 10)", "DECIMAL(38, 10)", *TEXT),
    "DECIMAL(38, 10)": TEXT,
    "DATE": (*(one for one in VALUES if one.startswith("TIMESTAMP")), "STRING"),
    "TIMESTAMP(6)": ("TIMESTAMP(6)" + ZONED, "STRING"),
    "TIMESTAMP(3)": ("TIMESTAMP(6)", "TIMESTAMP(6)" + ZONED, "TIMESTAMP(3)" + ZONED, "STRING"),
    "TIMESTAMP(0)": (
        *("TIMESTAMP(3)", "TIMESTAMP(6)"),
        *("TIMESTAMP(3)" + ZONED, "TIMESTAMP(6)" + ZONED, "STRING"),
    ),
    "TIMESTAMP(6)" + ZONED: ("TIMESTAMP(6)", "STRING"),
    "TIMESTAMP(3)" + ZONED: ("TIMESTAMP(3)", "TIMESTAMP(6)", "TIMESTAMP(6)" + ZONED, "STRING"),
    "STRING": TEXT,
    "VARCHAR(3)": TEXT,
    "CHAR(3)": TEXT,
    "BYTES": ("STRING",),
    "BINARY(3)": ("BYTES", "STRING"),
    "VARBINARY(3)": ("BYTES", "STRING"),
}
OPERATORS: Mapping[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
NAMES, TURNS = itertools.count(), itertools.count()


class Altered:
    """A table of both, with a column for each target, which held `values` as the stored type."""

    def __init__(
        self, keyfold: Keyfold, paimon: Paimon, stored: str, targets: Sequence[str]
    ) -> None:
        self.keyfold, self.java = keyfold, Java(keyfold.warehouse, paimon)
        self.name, self.targets = f"t{next(NAMES)}", {f"v{n}": t for n, t in enumerate(targets)}
        columns = {"k": "INT NOT NULL", **dict.fromkeys(self.targets, stored)}
        self.java.create(Shape(self.name, columns, ("k",), (), {"bucket": "1"}))
        values = [*VALUES[stored], None]
        rows = [(0, {"k": k, **dict.fromkeys(self.targets, v)}) for k, v in enumerate(values)]
        self.java.write(self.layout, self.name, rows)

    @property
    def layout(self) -> TableLayout:
        return self.keyfold.table(self.name).layout

    def altered(self) -> Iterator[str]:
        """Give each column its target; those of which Paimon takes it."""
        for name, target in self.targets.items():
            try:
                self.java.alter(self.name, Change("type", name, target))
            except Refused:
                continue
            yield name

    def rows(self) -> dict[int, dict[str, Any]]:
        """What both read, by key."""
        ours = self.keyfold.read(self.layout, self.name)
        assert in_order(ours) == in_order(self.java.read(self.layout, self.name))
        return {row.pop("k"): row for row in ours.to_pylist()}

    def column(self, name: str, *filters: Any) -> list[int]:
        """The keys of rows that may pass the filters, read with that column."""
        table = self.keyfold.table(self.name)
        scan, tasks, _ = plan_read(table, ReadRequest(["k", name], decoded(filters)))
        batches = [b for task in tasks for split in task for b in read(scan, split)]
        return [key for batch in batches for key in batch.column("k").to_pylist()]

    def check(self) -> dict[int, dict[str, Any]]:
        """Conditions keep what they must, extremes are those of the rows; gives the rows."""
        rows, turn = self.rows(), next(TURNS)
        for name in self.targets:
            values = {key: row[name] for key, row in rows.items()}
            kind = self.layout.column(name).type
            for op, constants, passes in conditions(list(values.values()), turn):
                literals = [literal(kind, value) for value in constants]
                kept = self.column(name, {"op": op, "args": [{"column": [name]}, *literals]})
                expected = {key for key, value in values.items() if passes(value)}
                assert expected <= set(kept), (self.targets[name], op, constants)
            self.check_extremes(name, kind, list(values.values()))
        return rows

    def check_extremes(self, name: str, kind: logical.DataType, values: Sequence[Any]) -> None:
        """COUNT, MIN and MAX as Spark leaves them to scans."""
        assert isinstance(kind, logical.Atomic)
        if kind.name in ("FLOAT", "DOUBLE", "BYTES", "BINARY", "VARBINARY"):
            return
        asked = Aggregate((), (("COUNT", None), ("MIN", name), ("MAX", name)))
        table = self.keyfold.table(self.name)
        scan, tasks, _ = plan_read(table, ReadRequest([name], aggregate=asked))
        parts = [
            list(batch.to_pylist()[0].values())
            for task in tasks
            for batch in summarized(scan, task)
        ]
        least = min(low for _, low, _ in parts if low is not None)
        most = max(high for _, _, high in parts if high is not None)
        known = [value for value in values if value is not None]
        found = sum(count for count, _, _ in parts), least, most
        assert found == (len(values), min(known), max(known)), self.targets[name]


def literal(kind: logical.DataType, value: Any) -> dict[str, Any]:
    """A constant of a query beside a column of this type, as the JVM sends it."""
    named = spark_types.to_spark(kind)
    cell: Any = library.row("+I", value)[1]
    if isinstance(value, bytes):
        cell = base64.b64encode(value).decode()
    return {"literal": cell, "type": "string" if "char" in str(named) else named}


def conditions(
    values: Sequence[Any], turn: int
) -> Iterator[tuple[str, Sequence[Any], Callable[[Any], bool]]]:
    """Operators, constants, and whether a value passes. Each constant has half of the operators,
    and the others in the next turn.
    """
    known = [value for value in values if value is not None]
    for number, constant in enumerate(known, turn):
        for op, holds in itertools.islice(OPERATORS.items(), number % 2, None, 2):
            yield op, [constant], passing(holds, constant)
    yield "IN", known[:2], lambda value: any(passing(operator.eq, one)(value) for one in known[:2])
    yield "IS_NULL", [], lambda value: value is None
    yield "IS_NOT_NULL", [], lambda value: value is not None


def passing(holds: Callable[[Any, Any], bool], constant: Any) -> Callable[[Any], bool]:
    return lambda value: value is not None and holds(order(value), order(constant))


def order(value: Any) -> Any:
    """Spark's order: NaN above all numbers."""
    return (math.isnan(value), value if value == value else 0.0) if _is_float(value) else value


def _is_float(value: Any) -> bool:
    return isinstance(value, float)


@pytest.fixture(scope="module")
def keyfold(tmp_path_factory: pytest.TempPathFactory) -> Keyfold:
    """keyfold in a warehouse of its own."""
    return Keyfold(tmp_path_factory.mktemp("types"))


@pytest.fixture(autouse=True)
def java(monkeypatch: pytest.MonkeyPatch) -> None:
    """keyfold is told of the Java that Paimon runs in, as in Spark."""
    monkeypatch.setenv(JAVA_VERSION, str(library.java_version()))


@pytest.mark.parametrize("stored", VALUES)
def test_every_change(keyfold: Keyfold, paimon: Paimon, stored: str) -> None:
    targets = [target for target in CONVERTED[stored] if target != stored]
    table = Altered(keyfold, paimon, stored, targets)
    assert [*table.altered()] == [*table.targets]
    rows = table.check()
    keyfold.write(table.layout, table.name, [(0, {"k": 0, **rows[1]})])
    merged = table.rows()
    assert repr(merged) == repr(rows | {0: rows[1]})
    keyfold.compact(table.name, full=True)
    assert repr(table.check()) == repr(merged)


@pytest.mark.parametrize("stored", VALUES)
def test_what_is_not_converted_is_refused(keyfold: Keyfold, paimon: Paimon, stored: str) -> None:
    targets = [one for one in TARGETS if one != stored and one not in CONVERTED[stored]]
    table = Altered(keyfold, paimon, stored, targets)
    for name in table.altered():  # one at a time: the first is named that is not converted
        with pytest.raises(NotSupportedError, match=f"column {name}: files hold"):
            table.rows()
        table.java.alter(table.name, Change("drop", name))


@pytest.mark.parametrize("zone", ["America/Sao_Paulo", "Asia/Kathmandu"])
def test_zones(keyfold: Keyfold, monkeypatch: pytest.MonkeyPatch, zone: str) -> None:
    monkeypatch.setenv(JAVA_ZONE, zone)
    with library.start((*library.SMALL, f"-Duser.timezone={zone}")) as paimon:
        for stored, targets in CONVERTED.items():
            zoned = [target for target in targets if ZONED in stored or ZONED in target]
            if zoned:
                table = Altered(keyfold, paimon, stored, zoned)
                assert [*table.altered()] == [*table.targets]
                table.check()


def test_fields_and_elements(keyfold: Keyfold, paimon: Paimon) -> None:
    java = Java(keyfold.warehouse, paimon)
    kind = {"type": "ARRAY", "element": "DOUBLE"}
    java.create(Shape("nested", {"k": "INT NOT NULL", "v": kind}, ("k",), (), {"bucket": "1"}))
    layout = keyfold.table("nested").layout
    java.write(layout, "nested", [(0, {"k": 1, "v": [1e10, None, NAN]}), (0, {"k": 2, "v": None})])
    change = {"action": "updateColumnType", "fieldNames": ["v", "element"]}
    change |= {"newDataType": "STRING", "keepNullability": False}
    paimon.alter(keyfold.folder("nested"), [change])
    layout = keyfold.table("nested").layout
    ours = keyfold.read(layout, "nested")
    assert in_order(ours) == in_order(java.read(layout, "nested"))
    assert ours.to_pylist()[0]["v"] == ["1.0E10", None, "NaN"]


def test_in_sql(bench: Bench, spark: SparkSession, warehouse: Path) -> None:
    bench.create("id INT, d DATE, x DOUBLE, PRIMARY KEY (id) NOT ENFORCED", write_only="true")
    bench.insert("VALUES (1, DATE '2024-02-29', 1e10), (2, DATE '1969-12-31', double('NaN'))")
    for name, kind in (("d", "TIMESTAMP(6)" + ZONED), ("x", "STRING")):
        change = {"action": "updateColumnType", "fieldNames": [name]}
        bench.paimon.alter(
            bench.folder, [{**change, "newDataType": kind, "keepNullability": False}]
        )
    spark.sql(f"REFRESH TABLE {bench.name}")
    bench.agree(rows=2)
    leap = "TIMESTAMP '2024-02-29 00:00:00'"
    assert [r.id for r in spark.sql(f"SELECT id FROM {bench.name} WHERE d = {leap}").collect()] == [
        1
    ]
    assert spark.sql(f"SELECT max(d) = {leap} FROM {bench.name}").first()[0]
    assert spark.sql(f"SELECT count(*) FROM {bench.name} WHERE x = '1.0E10'").first()[0] == 1
    spark.sql(f"INSERT OVERWRITE {bench.name} SELECT * FROM {bench.name} WHERE d >= {leap}")
    (row,) = bench.agree(rows=1)
    assert (row["id"], row["x"]) == (1, "1.0E10")
