"""Tables that Paimon's Java library made, with options of every kind: what keyfold reads is what
Java reads, and what can't be read or written rightly is refused, by the name of the option.
"""

from __future__ import annotations

import datetime as dt
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import keyfold as keyfold_api
from integration.paimon.bench import in_order
from integration.paimon.library import Paimon
from integration.paimon.sides import NAMESPACE, Java, Keyfold, Shape
from integration.planning.plans import plan_of
from keyfold.errors import NotSupportedError
from keyfold.testing.tables import Record

COLUMNS = {"k": "INT", "v": "STRING", "n": "INT", "p": "DATE"}
BOTH = (
    {},
    {"manifest.compression": "snappy"},
    {"metadata.stats-mode": "none"},
    {"metadata.stats-mode": "counts"},
    {"metadata.stats-mode": "full"},
    {"metadata.stats-dense-store": "false"},
    {"metadata.stats-keep-first-n-columns": "1"},
    {"fields.v.stats-mode": "none"},
    {"bucket": "-1"},
    {"bucket": "-1", "dynamic-bucket.target-row-num": "3"},
    {"file.compression": "snappy"},
    {"file.compression": "lz4"},
    {"file.suffix.include.compression": "true"},
    {"data-file.prefix": "x-"},
    {"partition.default-name": "none"},
    {"partition.legacy-name": "false"},
    {"file-index.bloom-filter.columns": "v"},
    {"file-index.bloom-filter.columns": "v", "file-index.in-manifest-threshold": "1 b"},
    {"parquet.enable.dictionary": "false"},
    {"snapshot.num-retained.min": "1", "snapshot.num-retained.max": "1"},
    {"commit.force-compact": "true"},
    {"scan.mode": "latest"},
    {"changelog-producer": "input"},
    {"changelog-producer": "lookup"},
    {"changelog-producer": "full-compaction"},
    {"record-level.expire-time": "30000 d", "record-level.time-field": "n"},
)
READ_ONLY = (
    {"file.format": "orc"},
    {"file.format": "avro"},
    {"file.format.per.level": "0:avro"},
    {"bucket-function.type": "mod"},
    {"metadata.iceberg.storage": "table-location"},
)
REFUSED = (
    {"manifest.format": "orc"},
    {"manifest.format": "parquet"},
    {"data-file.path-directory": "data"},
    {"scan.snapshot-id": "1", "scan.mode": "from-snapshot"},
    {"query-auth.enabled": "true"},
)


class Foreign:
    """One table that Java made and wrote twice."""

    def __init__(self, java: Java, keyfold: Keyfold, name: str, shape: Shape) -> None:
        self.java, self.keyfold, self.name = java, keyfold, name
        java.create(shape)
        self.layout = keyfold.table(name).layout
        java.write(self.layout, name, rows("a", range(20)))
        java.write(self.layout, name, rows("b", range(5, 10)))

    def check_same(self) -> None:
        """Both sides read the same rows."""
        theirs = in_order(self.java.read(self.layout, self.name))
        assert in_order(self.keyfold.read(self.layout, self.name)) == theirs
        assert len(theirs) == 20


def rows(text: str, numbers: range) -> list[Record]:
    """Rows of three partitions."""
    day = dt.date(2024, 1, 1)
    return [
        (0, {"k": n, "v": f"{text}{n}", "n": n, "p": day + dt.timedelta(n % 3)}) for n in numbers
    ]


@pytest.fixture(scope="module")
def keyfold(tmp_path_factory: pytest.TempPathFactory) -> Keyfold:
    """keyfold in a warehouse of its own."""
    return Keyfold(tmp_path_factory.mktemp("foreign"))


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    """A name for the table of a test."""
    return "".join(c if c.isalnum() else "_" for c in request.node.name).lower()


def shape(name: str, options: dict[str, str], key: tuple[str, ...] = ("p", "k")) -> Shape:
    """The table of a test, with partitions."""
    return Shape(name, COLUMNS, key, ("p",), {"bucket": "2"} | options)


def named(options: dict[str, str]) -> str:
    """What a parameter is called."""
    return ",".join(f"{name}={text}" for name, text in options.items())


@pytest.mark.parametrize("options", BOTH, ids=named)
def test_read_and_written(
    keyfold: Keyfold, paimon: Paimon, name: str, options: dict[str, str]
) -> None:
    table = Foreign(Java(keyfold.warehouse, paimon), keyfold, name, shape(name, options))
    table.check_same()
    keyfold.write(table.layout, name, rows("c", range(3)))
    table.check_same()
    table.java.compact(name, full=True)
    keyfold.write(table.layout, name, rows("d", range(18, 20)))
    table.check_same()
    keyfold.compact(name, full=True)
    table.check_same()


@pytest.mark.parametrize("options", READ_ONLY, ids=named)
def test_read_only(keyfold: Keyfold, paimon: Paimon, name: str, options: dict[str, str]) -> None:
    table = Foreign(Java(keyfold.warehouse, paimon), keyfold, name, shape(name, options))
    table.check_same()
    table.java.compact(name, full=True)
    table.check_same()
    option = next(iter(options))
    words = f"can't be written here: its option {option} is '{options[option]}', expected"
    with pytest.raises(NotSupportedError, match=words):
        keyfold.write(table.layout, name, rows("c", range(3)))
    with pytest.raises(NotSupportedError, match=words):
        keyfold.compact(name, full=True)


@pytest.mark.parametrize("options", REFUSED, ids=named)
def test_refused(keyfold: Keyfold, paimon: Paimon, name: str, options: dict[str, str]) -> None:
    table = Foreign(Java(keyfold.warehouse, paimon), keyfold, name, shape(name, options))
    option = next(iter(options))
    words = f"can't be read here: its option {option} is '{options[option]}', expected"
    with pytest.raises(NotSupportedError, match=words):
        keyfold.read(table.layout, name)


def test_keys_across_partitions_with_buckets(keyfold: Keyfold, paimon: Paimon, name: str) -> None:
    made = shape(name, {"bucket": "3"}, ("k",))
    table = Foreign(Java(keyfold.warehouse, paimon), keyfold, name, made)
    table.check_same()
    with pytest.raises(NotSupportedError, match=r"\(k\) lacks partition column p, .*expected -1"):
        keyfold.write(table.layout, name, rows("c", range(3)))


def test_dynamic_buckets_in_sql(
    spark: SparkSession, warehouse: Path, paimon: Paimon, fresh_name: Callable[[], str]
) -> None:
    table = fresh_name()
    folder = warehouse / "it.db" / table.rpartition(".")[2]
    columns = [("k", "INT NOT NULL"), ("v", "STRING")]
    fields = [{"id": n, "name": c, "type": t} for n, (c, t) in enumerate(columns)]
    paimon.create(
        folder, {"fields": fields, "partitionKeys": [], "primaryKeys": ["k"], "options": {}}
    )
    for text in ("a", "b"):
        paimon.write(folder, [["+I", n, text] for n in range(9 if text == "a" else 4)])
    found = {row.k: row.v for row in spark.table(table).collect()}
    assert found == {n: "b" if n < 4 else "a" for n in range(9)}
    for n in range(9):
        assert [row.v for row in spark.sql(f"SELECT v FROM {table} WHERE k = {n}").collect()] == [
            found[n]
        ]
    assert spark.sql(f"SELECT count(*) FROM {table} WHERE v = 'b'").first()[0] == 4
    spark.sql(f"INSERT INTO {table} VALUES (1, 'c')")
    assert {r.k: r.v for r in spark.table(table).collect()} == found | {1: "c"}


def test_keys_across_partitions_are_joined(
    spark: SparkSession, warehouse: Path, paimon: Paimon, fresh_name: Callable[[], str]
) -> None:
    table = fresh_name()
    folder = warehouse / "it.db" / table.rpartition(".")[2]
    kinds = {"k": "INT NOT NULL", "v": "STRING", "p": "STRING NOT NULL"}
    fields = [{"id": n, "name": c, "type": kind} for n, (c, kind) in enumerate(kinds.items())]
    paimon.create(
        folder, {"fields": fields, "partitionKeys": ["p"], "primaryKeys": ["k"], "options": {}}
    )
    paimon.write(folder, [["+I", n, f"v{n}", "ab"[n % 2]] for n in range(6)])
    joined = f"/*+ LOOKUP(t) */ s.k, t.v FROM VALUES (1), (4), (9) AS s(k) LEFT JOIN {table}"
    rows = spark.sql(f"SELECT {joined} t ON t.k = s.k ORDER BY 1")
    assert [tuple(row) for row in rows.collect()] == [(1, "v1"), (4, "v4"), (9, None)]
    plan = plan_of(rows)
    assert "LookupJoin" not in plan
    assert "the hint LOOKUP was not followed" in plan
    inserting = f"{joined} WITH ('lookup.insert-if-not-exists' = 'true')"
    with pytest.raises(PySparkException, match=r"\.insert-if-not-exists = true: expected the hint"):
        spark.sql(f"SELECT {inserting} t ON t.k = s.k").collect()


def test_files_in_another_place_are_named(
    keyfold: Keyfold, paimon: Paimon, name: str, tmp_path: Path
) -> None:
    options = {"data-file.external-paths": tmp_path.as_uri()}
    options |= {"data-file.external-paths.strategy": "round-robin"}
    table = Foreign(Java(keyfold.warehouse, paimon), keyfold, name, shape(name, options))
    with pytest.raises(NotSupportedError, match=f"lies outside the table .*{tmp_path}"):
        keyfold.read(table.layout, name)


def test_index_files_beside_data_are_cloned(keyfold: Keyfold, paimon: Paimon, name: str) -> None:
    options = {"bucket": "-1", "deletion-vectors.enabled": "true"}
    made = shape(name, options | {"index-file-in-data-file-dir": "true"})
    table = Foreign(Java(keyfold.warehouse, paimon), keyfold, name, made)
    table.java.compact(name, full=True)
    table.java.write(table.layout, name, rows("c", range(3)))
    table.java.compact(name, full=False)
    folder = table.java.folder(name)
    assert {path.parent.name for path in folder.rglob("index-*")} == {"bucket-0", "manifest"}
    assert any(file.vector for file in keyfold.table(name).live_files())
    table.check_same()
    copied = f"{name}_copied"
    keyfold_api.connect(str(keyfold.warehouse)).table(f"{NAMESPACE}.{name}").clone(
        f"{NAMESPACE}.{copied}"
    )
    shutil.rmtree(folder)
    theirs = in_order(table.java.read(table.layout, copied))
    assert in_order(keyfold.read(table.layout, copied)) == theirs
    assert len(theirs) == 20


def test_the_partition_of_blank_text(keyfold: Keyfold, paimon: Paimon, name: str) -> None:
    columns = {"k": "INT", "p": "STRING"}
    made = Shape(name, columns, ("p", "k"), ("p",), {"partition.default-name": "none"})
    java = Java(keyfold.warehouse, paimon)
    java.create(made)
    layout = keyfold.table(name).layout
    java.write(layout, name, [(0, {"k": n, "p": "x" if n % 2 else ""}) for n in range(6)])
    keyfold.write(layout, name, [(0, {"k": 0, "p": ""}), (0, {"k": 9, "p": ""})])
    assert {one.name for one in java.folder(name).glob("p=*")} == {"p=x", "p=none"}
    theirs = in_order(java.read(layout, name))
    assert in_order(keyfold.read(layout, name)) == theirs
    assert len(theirs) == 7


@pytest.mark.parametrize("kind", ["TIME(6)", "MULTISET<INT>"])
def test_a_column_of_a_type_that_spark_lacks(
    keyfold: Keyfold, paimon: Paimon, name: str, kind: str
) -> None:
    columns = {"k": "INT", "odd": kind}
    java = Java(keyfold.warehouse, paimon)
    java.paimon.create(
        java.folder(name),
        {
            "fields": [
                {"id": n, "name": c, "type": t if t != "MULTISET<INT>" else MULTISET}
                for n, (c, t) in enumerate(columns.items())
            ],
            "partitionKeys": [],
            "primaryKeys": ["k"],
            "options": {"bucket": "1"},
        },
    )
    with pytest.raises(NotSupportedError, match=rf"table keyfold.shared.{name}, column odd: .*not"):
        keyfold.table(name)


def test_nanoseconds_are_cut_as_java_cuts_them(
    spark: SparkSession, warehouse: Path, paimon: Paimon, fresh_name: Callable[[], str]
) -> None:
    table = fresh_name()
    folder = warehouse / "it.db" / table.rpartition(".")[2]
    listed = {"type": "ARRAY", "element": "TIMESTAMP(7)"}
    kinds = ["INT NOT NULL", "TIMESTAMP(9)", "TIMESTAMP(8) WITH LOCAL TIME ZONE", listed]
    fields = [{"id": n, "name": f"c{n}", "type": kind} for n, kind in enumerate(kinds)]
    made = {"fields": fields, "partitionKeys": [], "primaryKeys": ["c0"]}
    paimon.create(folder, made | {"options": {"bucket": "1"}})
    moments = [[-1, 999_999], [-1, 999_001], [-1, 0], [0, 1], [0, 1_999], [1_700_000_000_000, 5]]
    for first in (0, 3):
        paimon.write(folder, [["+I", n, m, m, [m]] for n, m in enumerate(moments) if n >= first])
    for _ in range(2):
        theirs = {r[0]: r[1:] for r in paimon.read(folder).rows}
        micros = {n: millis * 1000 + nanos // 1000 for n, (millis, nanos) in enumerate(moments)}
        assert theirs == {n: [at, at, [at]] for n, at in micros.items()}
        asked = "c0, unix_micros(cast(c1 || 'Z' AS TIMESTAMP)), unix_micros(c2), c3[0] = c1"
        found = {row[0]: row[1:] for row in spark.sql(f"SELECT {asked} FROM {table}").collect()}
        assert found == {n: (at, at, True) for n, at in micros.items()}
        for n, at in micros.items():
            same = [k for k, other in micros.items() if other == at]
            where = f"c2 = timestamp_micros({at})"
            got = spark.sql(f"SELECT c0 FROM {table} WHERE {where}").collect()
            assert sorted(row.c0 for row in got) == same, (n, at)
        paimon.compact(folder)
    with pytest.raises(PySparkException, match=r"column c1 holds TIMESTAMP\(9\), expected at most"):
        spark.sql(f"INSERT INTO {table} (c0) VALUES (9)")


MULTISET = {"type": "MULTISET", "element": "INT"}
