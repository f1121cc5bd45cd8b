"""Doris' and StarRocks' CREATE TABLE: what it becomes, and what is refused by name."""

import pytest

from keyfold.dialects import translate

DOCUMENTED = """
-- the statement of Doris' page on the aggregate model, with a bitmap added
CREATE TABLE IF NOT EXISTS example_tbl_agg
(
    user_id             LARGEINT    NOT NULL,
    load_date           DATE        NOT NULL,
    city                VARCHAR(20),
    last_visit_dt       DATETIME REPLACE DEFAULT "1970-01-01 00:00:00",
    cost                BIGINT SUM DEFAULT "0",
    max_dwell           INT MAX DEFAULT "0" COMMENT "longest, it's said",
    `seen by`           BITMAP BITMAP_UNION
)
AGGREGATE KEY(user_id, LOAD_DATE, city)
DISTRIBUTED BY HASH(user_id) BUCKETS 10
PROPERTIES ("replication_num" = "1");
"""
COLUMNS = "k INT NOT NULL, v BIGINT SUM"


def sql(statement: str) -> str:
    """The translation, which there must be."""
    found = translate(statement)
    assert found is not None
    assert found.refused is None
    assert found.sql is not None
    return found.sql


def reason(statement: str) -> str:
    """Why there is none."""
    found = translate(statement)
    assert found is not None
    assert found.sql is None
    return str(found.refused)


def table(columns: str, clauses: str = "AGGREGATE KEY(k) DISTRIBUTED BY HASH(k) BUCKETS 4") -> str:
    return f"CREATE TABLE t ({columns}) {clauses}"


def test_the_documented_statement() -> None:
    assert sql(DOCUMENTED) == (
        "CREATE TABLE IF NOT EXISTS `example_tbl_agg` (`user_id` DECIMAL(38,0) NOT NULL, "
        "`load_date` DATE NOT NULL, `city` VARCHAR(20), `last_visit_dt` TIMESTAMP_NTZ DEFAULT "
        "TIMESTAMP_NTZ '1970-01-01 00:00:00', `cost` BIGINT DEFAULT 0, `max_dwell` INT DEFAULT 0 "
        "COMMENT 'longest, it\\'s said', `seen by` BINARY, "
        "PRIMARY KEY (`user_id`, `load_date`, `city`) NOT ENFORCED) "
        "TBLPROPERTIES ('merge-engine' = 'aggregation', "
        "'fields.last_visit_dt.aggregate-function' = 'REPLACE', "
        "'fields.cost.aggregate-function' = 'SUM', 'fields.max_dwell.aggregate-function' = 'MAX', "
        "'fields.seen by.aggregate-function' = 'BITMAP_UNION', "
        "'bucket-key' = 'user_id', 'bucket' = '10', 'primary-key.nullable' = 'true')"
    )


@pytest.mark.parametrize(
    ("declared", "made"),
    [
        ("TINYINT SUM", "TINYINT"),
        ("INTEGER MIN", "INT"),
        ("DECIMALV3(20, 4) SUM", "DECIMAL(20,4)"),
        ("DATETIME(3) MAX", "TIMESTAMP_NTZ"),
        ("TEXT REPLACE", "STRING"),
        ("VARCHAR(*) REPLACE", "STRING"),
        ("CHAR(5) REPLACE NULL", "CHAR(5)"),
        ("HLL HLL_UNION", "BINARY"),
        ("QUANTILE_STATE QUANTILE_UNION NOT NULL", "BINARY NOT NULL"),
        ("PERCENTILE PERCENTILE_UNION", "BINARY"),
        ("ARRAY<MAP<STRING, INT>> REPLACE", "ARRAY<MAP<STRING, INT>>"),
        ("STRUCT<a:INT, b: VARCHAR(3)> REPLACE", "STRUCT<`a`: INT, `b`: VARCHAR(3)>"),
        ("BOOLEAN REPLACE DEFAULT '1'", "BOOLEAN DEFAULT true"),
        ("INT MIN DEFAULT -5", "INT DEFAULT -5"),
        ("DECIMAL(9,2) SUM DEFAULT '0.50'", "DECIMAL(9,2) DEFAULT 0.50"),
        ("DATE REPLACE DEFAULT '2024-01-01'", "DATE DEFAULT DATE '2024-01-01'"),
        ('VARCHAR(9) REPLACE DEFAULT "it\'s"', "VARCHAR(9) DEFAULT 'it\\'s'"),
        ("INT REPLACE_IF_NOT_NULL DEFAULT NULL", "INT DEFAULT NULL"),
        ("BITMAP BITMAP_UNION DEFAULT BITMAP_EMPTY", "BINARY"),
        (
            "DATETIME REPLACE DEFAULT CURRENT_TIMESTAMP",
            "TIMESTAMP_NTZ DEFAULT CAST(current_timestamp() AS TIMESTAMP_NTZ)",
        ),
    ],
)
def test_columns(declared: str, made: str) -> None:
    assert f"(`k` INT NOT NULL, `v` {made}, PRIMARY KEY" in sql(
        table(f"k INT NOT NULL, v {declared}")
    )


@pytest.mark.parametrize(
    ("clauses", "made"),
    [
        ("AGGREGATE KEY(k)", "PRIMARY KEY (`k`)"),
        ("DISTRIBUTED BY HASH(K) BUCKETS AUTO", "'bucket-key' = 'k')"),
        ("DISTRIBUTED BY RANDOM BUCKETS 3", "'bucket' = '3')"),
        ("DISTRIBUTED BY RANDOM PROPERTIES ('store_row_column' = 'true')", "'aggregation'"),
        ("ENGINE=OLAP AGGREGATE KEY(k) COMMENT 'c'", " COMMENT 'c' "),
        (
            "AGGREGATE KEY(k) PROPERTIES ('target-file-size' = '1 mb')",
            "'target-file-size' = '1 mb'",
        ),
        (
            "AGGREGATE KEY(k) PARTITION BY LIST(k) (PARTITION p VALUES IN ('a'))",
            " PARTITIONED BY (`k`) ",
        ),
    ],
)
def test_clauses(clauses: str, made: str) -> None:
    assert made in sql(table(COLUMNS, clauses))


def test_a_comma_behind_the_last_column() -> None:
    assert sql(table(f"{COLUMNS},")) == sql(table(COLUMNS))
    assert "expected a name" in reason(table("k INT NOT NULL,, v BIGINT SUM"))


def test_without_a_nullable_key_column_the_key_is_not_nullable() -> None:
    assert "primary-key.nullable" not in sql(table(COLUMNS))


def test_a_hash_by_the_partition_column_leaves_the_bucket_key_out() -> None:
    made = sql(
        table(
            "d DATE NOT NULL, k INT NOT NULL, v INT SUM",
            "AGGREGATE KEY(d, k) PARTITION BY RANGE(d) () DISTRIBUTED BY HASH(d, k) BUCKETS 2",
        )
    )
    assert "PARTITIONED BY (`d`)" in made
    assert "'bucket-key' = 'k'" in made


def test_unique_key_tables_keep_the_last_row() -> None:
    made = sql(
        table(
            "k INT, v INT, s INT", 'UNIQUE KEY(k) PROPERTIES ("function_column.sequence_col" = "s")'
        )
    )
    assert "'merge-engine' = 'deduplicate', 'sequence.field' = 's'" in made


def test_auto_increment() -> None:
    made = sql(table("k INT, v BIGINT NOT NULL AUTO_INCREMENT", "UNIQUE KEY(k)"))
    assert "'merge-engine' = 'deduplicate', 'auto-increment.fields' = 'v'" in made
    assert "BIGINT NOT NULL" not in made


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        (table("k INT, v INT"), "the column v has no aggregation"),
        (table("k INT SUM, v INT SUM"), "the key column k should not have the aggregation SUM"),
        (table("v INT SUM, k INT"), "ordered prefix of the columns (v, k)"),
        (table(COLUMNS, "AGGREGATE KEY(nope)"), "the key column nope doesn't exist"),
        (table("v INT SUM", "DISTRIBUTED BY HASH(v)"), "there is no key"),
        (
            table("k INT", "UNIQUE KEY(k) PROPERTIES ('function_column.sequence_type' = 'int')"),
            "sequence_type is not supported, as its sequence is in no column: add one",
        ),
        (table("k DOUBLE, v INT SUM"), "key column k has type DOUBLE: Float or double"),
        (table("k STRING, v INT SUM"), "key column k has type STRING"),
        (
            table("k INT, v VARCHAR(10) SUM"),
            "v: aggregation SUM is not compatible with type VARCHAR",
        ),
        (table("k INT, v BOOLEAN MAX"), "MAX is not compatible with type BOOLEAN"),
        (table("k INT, v ARRAY<INT> MAX"), "MAX is not compatible with type ARRAY"),
        (table("k INT, v INT BITMAP_UNION"), "BITMAP_UNION is not compatible with type INT"),
        (table("k INT, v HLL HLL_UNION DEFAULT 'x'"), "column v: type HLL takes no DEFAULT"),
        (table("k INT, v INT SUM DEFAULT 'x'"), "column v: DEFAULT x is not a value of type INT"),
        (table("k INT, v INT SUM NOT NULL DEFAULT NULL"), "column v: DEFAULT NULL contradicts"),
        (
            table("k INT, v INT REPLACE_IF_NOT_NULL NOT NULL"),
            "column v: aggregation REPLACE_IF_NOT",
        ),
        (table("k INT, v INT REPLACE", "AGGREGATE KEY(k) DISTRIBUTED BY RANDOM"), "RANDOM"),
        (table("k INT, v INT SUM", "AGGREGATE KEY(k) DISTRIBUTED BY HASH(v)"), "HASH names v"),
        (
            table("k INT, v INT SUM", "AGGREGATE KEY(k) PARTITION BY LIST(v) ()"),
            "partition column v",
        ),
        (table(COLUMNS, "AGGREGATE KEY(k) PARTITION BY RANGE(k) ()"), "RANGE (k)"),
        (table(COLUMNS, "AGGREGATE KEY(k) PARTITION BY RANGE(date_trunc(k)) ()"), "date_trunc(…)"),
        (table("k INT, v agg_state<foo(int)> GENERIC"), "column v: function foo has no states"),
        (table("k INT, v agg_state<sum(int)> REPLACE"), "not compatible with type AGG_STATE"),
        (table("k agg_state<sum(int)> GENERIC, v INT SUM"), "the key column k"),
        (table("k INT, v agg_state<sum(int)> GENERIC DEFAULT 1"), "takes no DEFAULT but NULL"),
        (table("k INT, v JSON REPLACE"), "column v: type JSON"),
        (table("k INT, v INT SUM, INDEX i (k) USING INVERTED"), "the clause INDEX"),
        (table(COLUMNS, "AGGREGATE KEY(k) ROLLUP (r (k, v))"), "the clause ROLLUP"),
        (table("k INT, v INT", "DUPLICATE KEY(k)"), "DUPLICATE KEY"),
        (table("k INT, v INT SUM", "UNIQUE KEY(k)"), "the column v of a UNIQUE KEY table"),
        (table("k INT, v INT AUTO_INCREMENT"), "column v: AUTO_INCREMENT does not go with"),
        (
            table("k INT, v INT AUTO_INCREMENT(9)", "UNIQUE KEY(k)"),
            "column v: AUTO_INCREMENT begin",
        ),
        (
            table(COLUMNS, "AGGREGATE KEY(k) SIDEWAYS"),
            "line 1: expected a clause of CREATE TABLE, found SIDEWAYS",
        ),
    ],
)
def test_refusals_name_what_is_wrong(statement: str, words: str) -> None:
    assert reason(statement).startswith("table t: ")
    assert words in reason(statement)


@pytest.mark.parametrize(
    "kind",
    [
        "agg_state<max_by(int not null, varchar(9))> GENERIC",
        "agg_state max_by(int not null, varchar(9))",
    ],
)
def test_states_in_both_grammars(kind: str) -> None:
    made = sql(table(f"k INT, v {kind} NULL"))
    assert "`v` BINARY" in made
    assert "'fields.v.aggregate-function' = 'GENERIC'" in made
    assert "'fields.v.agg-state' = 'max_by(INT NOT NULL, STRING)'" in made
