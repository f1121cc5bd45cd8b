"""Changelog files that statements of Spark write: Paimon's Java library streams the changes."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from integration.keyed import properties
from integration.paimon.library import Paimon
from keyfold.kernels.ops import KIND_NAMES
from keyfold.storage.table import Table
from tests import readers
from tests.changelog.changelog_files import changes_of
from tests.option_names import option_names
from tests.storage import tables

COMPARING = ("lookup", "full-compaction")


class Told:
    """A table with a changelog, as Spark and Paimon's Java see it."""

    def __init__(
        self, spark: SparkSession, paimon: Paimon, warehouse: Path, name: str, **options: str
    ) -> None:
        self.spark, self.paimon, self.name = spark, paimon, name
        self.short = name.rpartition(".")[2]
        self.warehouse, self.folder = warehouse, warehouse / "it.db" / self.short
        given = {"bucket": "2", **option_names(options)}
        columns = "k INT, v STRING, n INT, PRIMARY KEY (k)"
        spark.sql(f"CREATE TABLE {name} ({columns}){properties(given)}")

    def insert(self, *rows: str) -> None:
        self.spark.sql(f"INSERT INTO {self.name} VALUES {', '.join(rows)}")

    @property
    def table(self) -> Table:
        return tables.catalog(self.warehouse).load_table(["it"], self.short)

    @property
    def rows(self) -> set[tuple[Any, ...]]:
        return {tuple(row) for row in self.spark.table(self.name).collect()}

    @property
    def told(self) -> list[tuple[Any, ...]]:
        """Snapshot, kind and cells of each change in our files."""
        table = self.table
        return sorted(
            (number, KIND_NAMES[kind], *row.values())
            for number in table.snapshots.ids()
            for kind, row in changes_of(table, number)
        )

    @property
    def streamed(self) -> list[tuple[Any, ...]]:
        """The same, as Java streams them."""
        return sorted(map(tuple, self.paimon.changes(self.folder)))

    @property
    def folded(self) -> set[tuple[Any, ...]]:
        """What Java's changes make of an empty table."""
        found: dict[Any, tuple[Any, ...]] = {}
        for _, kind, *cells in self.paimon.changes(self.folder):
            if kind in ("+I", "+U"):
                assert kind == "+U" or cells[0] not in found
                found[cells[0]] = tuple(cells)
            else:
                assert found.pop(cells[0]) == tuple(cells)
        return set(found.values())


@pytest.fixture
def make(
    spark: SparkSession, paimon: Paimon, warehouse: Path, fresh_name: Callable[[], str]
) -> Callable[..., Told]:
    return lambda **options: Told(spark, paimon, warehouse, fresh_name(), **options)


@pytest.mark.parametrize("producer", COMPARING)
@pytest.mark.parametrize("engine", ["deduplicate", "partial-update", "aggregation"])
def test_java_streams_the_changes(make: Callable[..., Told], producer: str, engine: str) -> None:
    table = make(changelog_producer=producer, merge_engine=engine)
    table.insert(*(f"({n}, 'a', {n})" for n in range(20)))
    table.insert("(1, 'b', NULL)", "(2, NULL, 7)", "(30, 'c', 1)")
    table.insert("(1, 'b', NULL)", "(30, 'd', 1)")
    assert table.told == table.streamed
    assert table.folded == table.rows
    assert not any(f.level == 0 for f in table.table.live_files())
    assert {kind for _, kind, *_ in table.told} == {"+I", "-U", "+U"}


def test_java_streams_what_came_in(make: Callable[..., Told]) -> None:
    table = make(changelog_producer="input")
    table.insert("(1, 'a', 1)", "(2, 'a', 2)")
    table.insert("(1, 'b', 1)", "(1, 'c', 1)")
    assert table.told == table.streamed
    cells = [(number, *rest) for number, _, *rest in table.told]
    assert cells == [(1, 1, "a", 1), (1, 2, "a", 2), (2, 1, "b", 1), (2, 1, "c", 1)]


def test_first_row_tells_inserts_only(make: Callable[..., Told]) -> None:
    table = make(changelog_producer="lookup", merge_engine="first-row")
    table.insert("(1, 'a', 1)", "(2, 'a', 2)")
    table.insert("(1, 'b', 1)", "(3, 'b', 3)")
    assert table.told == table.streamed
    assert [kind for _, kind, *_ in table.told] == ["+I"] * 3
    assert table.folded == table.rows


@pytest.mark.parametrize("producer", COMPARING)
def test_java_and_keyfold_take_turns(make: Callable[..., Told], producer: str) -> None:
    """Each tells the changes of files that the other one wrote."""
    table = make(changelog_producer=producer)
    table.insert("(1, 'a', 1)", "(2, 'a', 2)")
    table.paimon.write(table.folder, [["+I", 2, "java", 2], ["+I", 3, "java", 3]])
    table.insert("(3, 'b', 3)", "(4, 'b', 4)")
    assert table.folded == table.rows
    table.paimon.write(table.folder, [["+I", 4, "java", 4], ["-D", 1, "a", 1]])
    table.paimon.compact(table.folder, full=True)
    assert table.folded == table.rows == {(2, "java", 2), (3, "b", 3), (4, "java", 4)}
    table.insert("(2, 'c', 2)")
    assert table.folded == table.rows


def test_changes_of_writes_at_the_same_time_are_all_told(make: Callable[..., Told]) -> None:
    table = make(changelog_producer="lookup")

    def write(turn: int) -> None:
        table.insert(f"({turn % 3}, 'w', {turn})", f"({turn + 10}, 'w', {turn})")

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(write, range(6)))
    assert not any(f.level == 0 for f in table.table.live_files())
    assert table.told == table.streamed
    assert table.folded == table.rows


@pytest.mark.parametrize("producer", COMPARING)
def test_a_write_only_table_tells_when_it_is_compacted(
    make: Callable[..., Told], producer: str
) -> None:
    table = make(changelog_producer=producer, write_only="true")
    table.insert("(1, 'a', 1)")
    assert table.told == []
    table.spark.sql(
        f"CALL keyfold.sys.compact(table => 'it.{table.short}', compact_strategy => 'full')"
    )
    assert [row[1:] for row in table.told] == [("+I", 1, "a", 1)]
    assert table.folded == table.rows


@pytest.mark.parametrize("producer", ["input", *COMPARING])
def test_java_streams_changes_that_outlive_their_snapshots(
    make: Callable[..., Told], producer: str
) -> None:
    longer = {"changelog.num-retained.min": "50", "table.log.ttl": "2 d"}
    table = make(changelog_producer=producer, **longer)
    for number in range(4):
        table.insert(f"(1, 'a', {number})", f"({number}, 'b', 0)")
    before = table.streamed
    assert len(before) >= 8
    table.spark.sql(f"CALL keyfold.sys.expire_snapshots(table => '{table.name}', retain_max => 1)")
    assert len(table.table.snapshots.ids()) == 1
    assert table.streamed == before
    log = table.spark.read.option("incremental-between", f"0,{table.table.snapshot_id}")
    rows = log.table(f"keyfold.it.`{table.short}$audit_log`").collect()
    assert sorted(map(tuple, rows)) == sorted(row[1:] for row in before)


@pytest.mark.parametrize("producer", ["input", *COMPARING])
def test_pypaimon_streams_the_changes(make: Callable[..., Told], producer: str) -> None:
    table = make(changelog_producer=producer)
    table.insert("(1, 'a', 1)", "(2, 'a', 2)", "(3, 'a', 3)")
    table.insert("(1, 'b', 1)", "(4, 'b', 4)")
    table.spark.sql(f"DELETE FROM {table.name} WHERE k = 2")
    table.spark.sql(f"INSERT OVERWRITE {table.name} VALUES (1, 'c', 1)")
    plans = len({number for number, *_ in table.told})
    found = readers.changes(table.warehouse, f"it.{table.short}", plans)
    assert found.column_names[0] == "_row_kind"
    assert sorted(tuple(row.values()) for row in found.to_pylist()) == sorted(
        row[1:] for row in table.told
    )


@pytest.mark.parametrize("producer", ["input", *COMPARING])
def test_java_streams_what_statements_overwrite(make: Callable[..., Told], producer: str) -> None:
    """Paimon's own overwrites tell nothing; ours tell what is gone."""
    table = make(changelog_producer=producer)
    table.insert("(1, 'a', 1)", "(2, 'a', 2)", "(3, 'a', 3)")
    table.spark.sql(f"INSERT OVERWRITE {table.name} VALUES (2, 'b', 2), (3, 'a', 3), (4, 'b', 4)")
    assert table.told == table.streamed
    assert table.folded == table.rows == {(2, "b", 2), (3, "a", 3), (4, "b", 4)}
    table.spark.sql(f"TRUNCATE TABLE {table.name}")
    assert table.folded == table.rows == set()
    table.insert("(5, 'c', 5)")
    assert table.folded == table.rows == {(5, "c", 5)}


def test_java_streams_partitions_that_are_dropped(
    spark: SparkSession, paimon: Paimon, warehouse: Path, fresh_name: Callable[[], str]
) -> None:
    name = fresh_name()
    spark.sql(
        f"CREATE TABLE {name} (p INT, k INT, PRIMARY KEY (p, k)) PARTITIONED BY (p) "
        "TBLPROPERTIES ('bucket' = '1', 'changelog-producer' = 'lookup')"
    )
    spark.sql(f"INSERT INTO {name} VALUES (1, 1), (1, 2), (2, 1), (3, 1)")
    spark.sql(f"ALTER TABLE {name} DROP PARTITION (p = 1)")
    spark.sql(f"DELETE FROM {name} WHERE p = 2")
    found = paimon.changes(warehouse / "it.db" / name.rpartition(".")[2])
    assert sorted(row[1:] for row in found if row[1] == "-D") == [
        ["-D", 1, 1],
        ["-D", 1, 2],
        ["-D", 2, 1],
    ]


def test_counts_of_changes_are_shown(make: Callable[..., Told]) -> None:
    table = make(changelog_producer="lookup")
    table.insert("(1, 'a', 1)", "(2, 'a', 2)")
    table.insert("(1, 'b', 1)")
    shown = table.spark.sql(
        f"SELECT commit_kind, changelog_record_count FROM keyfold.it.`{table.short}$snapshots` "
        "ORDER BY snapshot_id"
    ).collect()
    assert [tuple(row) for row in shown] == [
        ("APPEND", None),
        ("COMPACT", 2),
        ("APPEND", None),
        ("COMPACT", 2),
    ]
