"""DEFAULTs that keyfold stores are those of Paimon's Java, and the other way round. Paimon's
connector for Spark has Spark read them as SQL, as a DEFAULT of CREATE TABLE is read.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from integration.paimon.bench import Bench
from integration.paimon.library import Paimon
from keyfold.wire.layout import sql_name

# Type, DEFAULT, and whether others have it: what both read alike has one text.
OURS: dict[str, tuple[str, str, bool]] = {
    "flag": ("BOOLEAN", "true", True),
    "tiny": ("TINYINT", "5Y", True),
    "number": ("INT", "-7", True),
    "summed": ("BIGINT", "40 + 2", True),
    "real": ("FLOAT", "1.5", True),
    "small": ("DOUBLE", "1e-5", True),
    "no_number": ("DOUBLE", "double('NaN')", True),
    "price": ("DECIMAL(10, 2)", "12.30", True),
    "text": ("STRING", "'my value'", True),
    "digits": ("STRING", "'007'", True),
    "empty": ("STRING", "''", True),
    "spelled": ("VARCHAR(5)", "'abc'", True),
    "day": ("DATE", "DATE '2024-02-29'", True),
    "day_text": ("DATE", "'2024-02-29'", True),
    "time": ("TIMESTAMP_NTZ", "TIMESTAMP_NTZ '2024-02-29 12:34:56.789'", True),
    "forever": ("TIMESTAMP_NTZ", "TIMESTAMP_NTZ '9999-12-31 00:00:00'", True),
    "list": ("ARRAY<INT>", "array(1, 2)", True),
    "none": ("ARRAY<INT>", "array()", True),
    "pairs": ("MAP<INT, INT>", "map(1, 2)", True),
    "quoted": ("STRING", "'it''s'", False),
    "slashed": ("STRING", r"'a\\b'", False),
    "instant": ("TIMESTAMP", "TIMESTAMP '2024-02-29 12:34:56'", False),
    "today": ("DATE", "current_date()", False),
    "words": ("ARRAY<STRING>", "array('a', 'b')", False),
    "bytes": ("BINARY", "X'6162'", False),
}
# Paimon's type, the text in its field, and what SQL says of the value.
THEIRS = {
    "word": ("STRING", "'my_value'", "'my_value'"),
    "double_quoted": ("STRING", '"my_value"', "'my_value'"),
    "escaped": ("STRING", r"'it\'s'", "'it\\'s'"),
    "made": ("STRING", "concat('a', 'b')", "'ab'"),
    "bare": ("STRING", "my_value", "'my_value'"),
    "bare_quote": ("STRING", "it's", "'it\\'s'"),
    "number": ("INT", "5", "5"),
    "quoted_number": ("INT", "'5'", "5"),
    "price": ("DECIMAL(10, 2)", "1.5", "1.50BD"),
    "real": ("DOUBLE", "'NaN'", "double('NaN')"),
    "flag": ("BOOLEAN", "true", "true"),
    "day": ("DATE", "'2024-02-29'", "DATE '2024-02-29'"),
    "bare_day": ("DATE", "2024-02-29", "DATE '2024-02-29'"),
    "time": ("TIMESTAMP(6)", "'2024-02-29 12:34:56'", "TIMESTAMP_NTZ '2024-02-29 12:34:56'"),
    "list": ({"type": "ARRAY", "element": "STRING"}, "ARRAY('a', 'b')", "array('a', 'b')"),
    "bracket": ({"type": "ARRAY", "element": "INT"}, "[1, null]", "array(1, NULL)"),
    "pairs": (
        {"type": "MAP", "key": "STRING", "value": "INT"},
        "MAP('a', 1)",
        "map('a', 1)",
    ),
}


def stored(bench: Bench) -> dict[str, Any]:
    """The newest schema."""
    path = max((bench.folder / "schema").iterdir(), key=lambda one: int(one.name.split("-")[1]))
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def check_java(bench: Bench) -> None:
    """What Java fills in where a row has NULL is what Spark fills in, or NULL if it has no text."""
    bench.spark.sql(f"INSERT INTO {bench.name} (k) VALUES (1)")
    names = [field["name"] for field in stored(bench)["fields"]]
    bench.paimon.write(bench.folder, [["+I", 2, *(None for _ in names[1:])]])
    rows = {row["k"]: row for row in bench.agree(rows=2)}
    for name in names[1:]:
        expected = rows[1][name] if OURS[name][2] else None
        assert repr(rows[2][name]) == repr(expected), name
        assert rows[1][name] is not None, name


def test_ours_at_create(bench: Bench) -> None:
    columns = ", ".join(f"{name} {kind} DEFAULT {sql}" for name, (kind, sql, _) in OURS.items())
    bench.create(f"k INT, {columns}, PRIMARY KEY (k) NOT ENFORCED")
    check_java(bench)


def test_ours_that_are_set_later(bench: Bench) -> None:
    columns = ", ".join(f"{name} {kind}" for name, (kind, _, _) in OURS.items())
    bench.create(f"k INT, {columns}, PRIMARY KEY (k) NOT ENFORCED")
    for name, (_, sql, _) in OURS.items():
        if name not in ("summed", "no_number"):  # no literal: what Spark makes of it is not told
            bench.alter(f"ALTER COLUMN {name} SET DEFAULT {sql}")
    for name in ("summed", "no_number"):
        bench.alter(f"DROP COLUMN {name}")
        bench.alter(f"ADD COLUMN {name} {OURS[name][0]} DEFAULT {OURS[name][1]}")
    check_java(bench)


def test_ours_as_sql(bench: Bench, spark: SparkSession, fresh_name: Callable[[], str]) -> None:
    """Spark makes the same values of the texts that are stored for others."""
    columns = ", ".join(f"{name} {kind} DEFAULT {sql}" for name, (kind, sql, _) in OURS.items())
    bench.create(f"k INT, {columns}, PRIMARY KEY (k) NOT ENFORCED")
    bench.insert("(k) VALUES (1)")
    texts = {field["name"]: field.get("defaultValue") for field in stored(bench)["fields"]}
    assert {name for name, text in texts.items() if text is not None} == {
        name for name, (_, _, is_shared) in OURS.items() if is_shared
    }
    other = Bench(spark, bench.paimon, bench.folder.parent.parent, fresh_name())
    shared = {name: OURS[name][0] for name, text in texts.items() if text is not None}
    columns = ", ".join(f"{name} {kind} DEFAULT {texts[name]}" for name, kind in shared.items())
    other.create(f"k INT, {columns}, PRIMARY KEY (k) NOT ENFORCED")
    other.insert("(k) VALUES (1)")
    ours = spark.table(bench.name).select("k", *shared).collect()
    assert repr(spark.table(other.name).collect()) == repr(ours)


def test_theirs(
    spark: SparkSession, warehouse: Path, paimon: Paimon, fresh_name: Callable[[], str]
) -> None:
    name = fresh_name()
    fields = [{"id": 0, "name": "k", "type": "INT NOT NULL"}]
    for column, (kind, text, _) in THEIRS.items():
        field = {"id": len(fields), "name": column, "type": kind, "defaultValue": text}
        fields.append(field)
    folder = warehouse / "it.db" / name.rpartition(".")[2]
    paimon.create(
        folder,
        {"fields": fields, "partitionKeys": [], "primaryKeys": ["k"], "options": {"bucket": "1"}},
    )
    spark.sql(f"INSERT INTO {name} (k) VALUES (1)")
    expected = ", ".join(f"{sql} AS {sql_name(column)}" for column, (_, _, sql) in THEIRS.items())
    (row,) = spark.sql(f"SELECT 1 AS k, {expected}").collect()
    (found,) = spark.table(name).collect()
    assert repr(found) == repr(row)
    spark.sql(f"ALTER TABLE {name} RENAME COLUMN word TO term")
    spark.sql(f"ALTER TABLE {name} ALTER COLUMN number DROP DEFAULT")
    spark.sql(f"INSERT INTO {name} (k) VALUES (2)")
    (found,) = spark.sql(f"SELECT term, number, day FROM {name} WHERE k = 2").collect()
    assert (found.term, found.number, str(found.day)) == ("my_value", None, "2024-02-29")


@pytest.mark.parametrize("value", ["'x'", "5"])
def test_a_table_of_older_keyfold(bench: Bench, value: str) -> None:
    """Its option has the SQL; what is in Paimon's field beside it does not count."""
    bench.create(f"k INT, v STRING DEFAULT {value}, PRIMARY KEY (k) NOT ENFORCED")
    schema = stored(bench)
    schema["fields"][1]["defaultValue"] = "other"
    (bench.folder / "schema" / "schema-0").write_text(json.dumps(schema))
    bench.spark.sql(f"REFRESH TABLE {bench.name}")
    bench.insert("(k) VALUES (1)")
    assert bench.agree(rows=1)[0]["v"] == value.strip("'")
