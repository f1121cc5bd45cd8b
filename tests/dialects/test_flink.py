"""CREATE TABLE of Flink, Paimon and Fluss: what it becomes, and what is refused by name."""

import pytest

from keyfold.dialects import translate

PAIMON = """
CREATE TABLE my_db.my_table (
    dt STRING, user_id BIGINT, amount DECIMAL(10, 2) COMMENT 'it''s money',
    PRIMARY KEY (dt, user_id) NOT ENFORCED
) PARTITIONED BY (dt) WITH (
    'merge-engine' = 'aggregation', /* and */ 'fields.amount.aggregate-function' = 'sum',
    'fields.list.list-agg-delimiter' = '\\n'
);
"""


def sql(statement: str) -> str:
    """The translation, which there must be."""
    found = translate(statement)
    assert found is not None
    assert found.refused is None
    return str(found.sql)


def table(columns: str, clauses: str = "WITH ('bucket' = '2')") -> str:
    return f"CREATE TABLE t ({columns}) {clauses}"


def test_a_documented_statement() -> None:
    found = translate(PAIMON)
    assert found is not None
    assert found.table == ("my_db", "my_table")
    assert found.sql == (
        "CREATE TABLE `my_db`.`my_table` (`dt` STRING, `user_id` BIGINT, `amount` DECIMAL(10,2) "
        "COMMENT 'it\\'s money', PRIMARY KEY (`dt`, `user_id`) NOT ENFORCED) "
        "PARTITIONED BY (`dt`) TBLPROPERTIES ('merge-engine' = 'aggregation', "
        "'fields.amount.aggregate-function' = 'sum', 'fields.list.list-agg-delimiter' = '\\\\n')"
    )


@pytest.mark.parametrize(
    ("declared", "made"),
    [
        ("INTEGER", "INT"),
        ("BYTES NOT NULL", "BINARY NOT NULL"),
        ("VARBINARY", "BINARY"),
        ("VARBINARY(2147483647)", "BINARY"),
        ("VARCHAR(2147483647)", "STRING"),
        ("DEC", "DECIMAL(10,0)"),
        ("NUMERIC(20)", "DECIMAL(20,0)"),
        ("DOUBLE PRECISION", "DOUBLE"),
        ("TIME", "TIME(0)"),
        ("TIME(3) WITHOUT TIME ZONE", "TIME(3)"),
        ("VARIANT", "VARIANT"),
        ("TIMESTAMP", "TIMESTAMP_NTZ"),
        ("TIMESTAMP(3)", "TIMESTAMP_NTZ"),
        ("TIMESTAMP(6) WITHOUT TIME ZONE", "TIMESTAMP_NTZ"),
        ("TIMESTAMP(3) WITH LOCAL TIME ZONE", "TIMESTAMP"),
        ("TIMESTAMP_LTZ(3)", "TIMESTAMP"),
        ("CHAR", "CHAR(1)"),
        ("VARCHAR(7)", "VARCHAR(7)"),
        ("VARCHAR", "STRING"),
        ("ARRAY<INT NOT NULL>", "ARRAY<INT>"),
        ("INT ARRAY", "ARRAY<INT>"),
        ("MAP<STRING, ROW<a INT, b BYTES>>", "MAP<STRING, STRUCT<`a`: INT, `b`: BINARY>>"),
        (
            "ROW(a INT NOT NULL 'x', `b c` STRING)",
            "STRUCT<`a`: INT NOT NULL COMMENT 'x', `b c`: STRING>",
        ),
    ],
)
def test_types(declared: str, made: str) -> None:
    assert f"`v` {made}, `w`" in sql(table(f"v {declared}, w INT PRIMARY KEY NOT ENFORCED"))


@pytest.mark.parametrize(
    ("statement", "made"),
    [
        (table("k INT PRIMARY KEY NOT ENFORCED"), "PRIMARY KEY (`k`) NOT ENFORCED) TBLPROP"),
        (table("k INT, CONSTRAINT pk PRIMARY KEY (k) NOT ENFORCED"), "PRIMARY KEY (`k`)"),
        (table("k INT", "COMMENT 'c' WITH ()"), "(`k` INT) COMMENT 'c'"),
        (table("k INT", "WITH ('connector' = 'paimon')"), "(`k` INT)"),
        (
            table("k INT", "DISTRIBUTED BY HASH(k) INTO 4 BUCKETS WITH ()"),
            "'bucket-key' = 'k', 'bucket' = '4'",
        ),
        ("CREATE TABLE t WITH ('primary-key' = 'k') AS SELECT 1 AS k;", "'k') AS SELECT 1 AS k"),
        ("CREATE TABLE t (k INT, v BYTES)", "`v` BINARY)"),
    ],
)
def test_clauses(statement: str, made: str) -> None:
    assert made in sql(statement)


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        (table("k INT, v MULTISET<INT>"), "column v: type MULTISET is not supported"),
        (table("k INT, v INTERVAL DAY"), "column v: type INTERVAL"),
        (table("k INT, v TIMESTAMP(9)"), "column v: type TIMESTAMP(9) is not supported, at most"),
        (table("k INT, v BINARY(5)"), "column v: type BINARY of limited length"),
        (table("k INT, v VARBINARY(5)"), "column v: type VARBINARY of limited length"),
        (table("k INT, v NONSENSE"), "column v: type NONSENSE is not known"),
        (table("k INT, t TIMESTAMP(3), WATERMARK FOR t AS t"), "the clause WATERMARK"),
        (table("k INT, v AS k + 1"), "column v is computed"),
        (table("k INT, v INT METADATA"), "column v is METADATA"),
        (table("k INT", "WITH ('connector' = 'kafka')"), "option connector"),
        (table("k INT", "WITH ('bucket' = 4)"), "line 1: expected a string in quotes, found 4"),
        (table("k INT", "WITH () LIKE other"), "the clause LIKE"),
    ],
)
def test_refusals_name_what_is_wrong(statement: str, words: str) -> None:
    found = translate(statement)
    assert found is not None
    assert words in str(found.refused)


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT 1",
        "CREATE VIEW v AS SELECT 1",
        "CREATE TABLE t (k INT) TBLPROPERTY ('a' = 'b')",
        "CREATE TABLE t (k INT, v TIMESTAMP(3)) USING parquet",
        "CREATE TABLE t (k WORD) TBLPROPERTIES ('a' = 'b')",
        "CREATE TABLE",
        "",
    ],
)
def test_other_statements_are_left_alone(statement: str) -> None:
    assert translate(statement) is None
