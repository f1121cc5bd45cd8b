"""Random statements on a table of every engine, against a dictionary; and statements at once."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.functions import expr

from integration.planning.plans import assert_ours

Row = dict[str, int | None]
COLUMNS = ("k", "a", "b", "s")
SUM = {"merge-engine": "aggregation", "fields.a.aggregate-function": "sum"}
ENGINES: Mapping[str, Mapping[str, str]] = {
    "deduplicate": {},
    "sequence": {"sequence.field": "s"},
    "partial-update": {"merge-engine": "partial-update"},
    "aggregation": SUM,
    "first-row": {"merge-engine": "first-row"},
    "versioned": {
        "table.merge-engine": "versioned",
        "table.merge-engine.versioned.ver-column": "s",
    },
}


class Model:
    """One row a key; each method is a statement, and answers its SQL."""

    def __init__(self, table: str, engine: str, draw: random.Random) -> None:
        self.table, self.engine, self.draw = table, engine, draw
        self.rows: dict[int, Row] = {}
        self.clock = 10

    def value(self) -> int | None:
        return self.draw.choice([None, *range(5)])

    def insert(self) -> str:
        self.clock += 1
        keys = self.draw.sample(range(8), 4)
        rows = [{"k": k, "a": self.value(), "b": self.value(), "s": self.clock} for k in keys]
        for row in rows:
            self.rows[row["k"]] = self.folded(self.rows.get(row["k"]), row)
        return f"INSERT INTO {self.table} VALUES {literal(rows)}"

    def folded(self, old: Row | None, new: Row) -> Row:
        if old is None or self.engine in ("deduplicate", "sequence", "versioned"):
            return new
        if self.engine == "first-row":
            return old
        given = {name: value for name, value in new.items() if value is not None}
        if self.engine == "aggregation" and new["a"] is not None and old["a"] is not None:
            given["a"] = old["a"] + new["a"]
        return old | given

    def update(self) -> str:
        low, name, value = self.draw.randrange(5), self.draw.choice("abs"), self.value()
        for row in self.rows.values():
            if row["a"] is not None and row["a"] >= low:
                row[name] = value
        value_text = "NULL" if value is None else value
        return f"UPDATE {self.table} SET {name} = {value_text} WHERE a >= {low}"

    def move(self) -> str:
        self.rows = {key + 1: row | {"k": key + 1} for key, row in self.rows.items()}
        return f"UPDATE {self.table} SET k = k + 1"

    def delete(self) -> str:
        value = self.draw.randrange(5)
        self.rows = {key: row for key, row in self.rows.items() if row["b"] != value}
        return f"DELETE FROM {self.table} WHERE b = {value}"

    def merge(self) -> str:
        keys = self.draw.sample(range(8), 4)
        source = [{"k": k, "a": self.value(), "b": self.value(), "s": 1} for k in keys]
        for new in source:
            old = self.rows.get(new["k"])
            if old is None:
                self.rows[new["k"]] = new | {"b": None}
            elif new["b"] == 0 and self.deletes:
                del self.rows[new["k"]]
            else:
                old["a"] = new["a"]
        deletes = "WHEN MATCHED AND v.b = 0 THEN DELETE " if self.deletes else ""
        return (
            f"MERGE INTO {self.table} t USING (SELECT * FROM VALUES {literal(source)} "
            f"AS s(k, a, b, s)) v ON t.k = v.k {deletes}WHEN MATCHED THEN UPDATE SET a = v.a "
            "WHEN NOT MATCHED THEN INSERT (k, a, s) VALUES (v.k, v.a, v.s)"
        )

    def compact(self) -> str:
        return f"CALL keyfold.sys.compact(table => '{self.table}', compact_strategy => 'full')"

    @property
    def deletes(self) -> bool:
        return self.engine != "versioned"


def literal(rows: list[Row]) -> str:
    def shown(value: int | None) -> str:
        return "CAST(NULL AS INT)" if value is None else str(value)

    return ", ".join(f"({', '.join(shown(row[name]) for name in COLUMNS)})" for row in rows)


@pytest.mark.parametrize("engine", ENGINES)
def test_random_statements(
    spark: SparkSession, fresh_name: Callable[[], str], engine: str, seed: int
) -> None:
    table, draw = fresh_name(), random.Random(f"{engine} {seed}")
    options = ", ".join(f"'{n}' = '{v}'" for n, v in {"bucket": "2", **ENGINES[engine]}.items())
    spark.sql(
        f"CREATE TABLE {table} (k INT, a INT, b INT, s INT, PRIMARY KEY (k) NOT ENFORCED) "
        f"TBLPROPERTIES ({options})"
    )
    model = Model(table, engine, draw)
    kinds = [model.insert, model.update, model.merge, model.compact]
    kinds += [model.delete, model.move] if model.deletes else []
    told = [model.insert()]
    spark.sql(told[0])
    for statement in (*draw.choices(kinds, k=7), model.compact):
        told.append(statement())
        spark.sql(told[-1])
        found = assert_ours(spark.sql(f"SELECT k, a, b, s FROM {table} ORDER BY k")).collect()
        expected = [tuple(model.rows[key][c] for c in COLUMNS) for key in sorted(model.rows)]
        assert [tuple(row) for row in found] == expected, "\n".join(told)


def test_statements_at_once_count_once(spark: SparkSession, fresh_name: Callable[[], str]) -> None:
    """Each that conflicts has done nothing, and is run again."""
    name = fresh_name()
    spark.sql(f"CREATE TABLE {name} (k INT, v INT, PRIMARY KEY (k) NOT ENFORCED)")
    spark.sql(f"INSERT INTO {name} VALUES (1, 0)")

    def add(_: int) -> int:
        for lost in range(100):
            try:
                spark.sql(f"UPDATE {name} SET v = v + 1 WHERE k = 1")
            except PySparkException as error:
                if error.getCondition() != "KEYFOLD_CONFLICT":
                    raise
            else:
                return lost
        raise AssertionError("always lost")

    with ThreadPoolExecutor(8) as pool:
        lost = sum(pool.map(add, range(8)))
    assert [tuple(row) for row in spark.table(name).collect()] == [(1, 8)], f"{lost} were lost"


def test_columns_that_are_not_set_keep_what_others_write(
    spark: SparkSession, fresh_name: Callable[[], str]
) -> None:
    """The UPDATE names one column: the plan says so, and the file has no value of the others."""
    name = fresh_name()
    spark.sql(
        f"CREATE TABLE {name} (k INT, a INT, b STRING, PRIMARY KEY (k) NOT ENFORCED) "
        "TBLPROPERTIES ('merge-engine' = 'partial-update', 'bucket' = '1', 'write-only' = 'true')"
    )
    spark.sql(f"INSERT INTO {name} VALUES (1, 1, 'x')")
    spark.sql(f"UPDATE {name} SET a = 2 WHERE k = 1")
    spark.sql(f"INSERT INTO {name} (k, b) VALUES (1, 'y')")
    spark.sql(
        f"MERGE INTO {name} t USING (SELECT 1 AS k) s ON t.k = s.k "
        "WHEN MATCHED THEN UPDATE SET a = NULL"
    )
    assert [tuple(row) for row in spark.table(name).collect()] == [(1, None, "y")]
    folder = f"{name.rpartition('.')[0]}.`{name.rpartition('.')[2]}$files`"
    stats = [row[0] for row in spark.sql(f"SELECT null_value_counts FROM {folder}").collect()]
    assert sum('"b":1' in text.replace(" ", "") for text in stats) == 2, stats


def test_merge_into_of_frames(spark: SparkSession, fresh_name: Callable[[], str]) -> None:
    name = fresh_name()
    spark.sql(f"CREATE TABLE {name} (k INT, v INT, PRIMARY KEY (k) NOT ENFORCED)")
    spark.sql(f"INSERT INTO {name} VALUES (1, 1), (2, 2)")
    source = spark.createDataFrame([(2, 20), (3, 30)], "k INT, v INT").alias("source")
    merge = source.mergeInto(name, expr(f"source.k = {name}.k"))
    merge.whenMatched().updateAll().whenNotMatched().insertAll().merge()
    assert sorted(tuple(row) for row in spark.table(name).collect()) == [(1, 1), (2, 20), (3, 30)]
