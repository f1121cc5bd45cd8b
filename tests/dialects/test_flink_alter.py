"""ALTER TABLE of Flink and Paimon: what it becomes, and what is refused by name."""

import pytest

from keyfold.dialects import translate


@pytest.mark.parametrize(
    ("printed", "spark"),
    [
        ("SET ('write-only' = 'true', 'a' = 'it''s')",
         "SET TBLPROPERTIES ('write-only' = 'true', 'a' = 'it\\'s')"),
        ("RESET ('write-only', 'a')", "UNSET TBLPROPERTIES ('write-only', 'a')"),
        ("ADD (a INTEGER, b BYTES COMMENT 'c' AFTER `d e`)",
         "ADD COLUMNS (`a` INT, `b` BINARY COMMENT 'c' AFTER `d e`)"),
        ("ADD a ROW<x INT> FIRST", "ADD COLUMNS (`a` STRUCT<`x`: INT> FIRST)"),
        ("MODIFY a BIGINT COMMENT 'b'", "CHANGE COLUMN `a` `a` BIGINT COMMENT 'b'"),
        ("MODIFY (a DOUBLE AFTER b);", "CHANGE COLUMN `a` `a` DOUBLE AFTER `b`"),
        ("DROP a", "DROP COLUMNS (`a`)"),
        ("DROP (a, `b c`)", "DROP COLUMNS (`a`, `b c`)"),
        ("DROP `watermark`", "DROP COLUMNS (`watermark`)"),
        ("RENAME a TO b", "RENAME COLUMN `a` TO `b`"),
    ],
)  # fmt: skip
def test_translated(printed: str, spark: str) -> None:
    found = translate(f"ALTER TABLE x.t {printed}")
    assert found is not None
    assert (found.table, found.sql) == (("x", "t"), f"ALTER TABLE `x`.`t` {spark}")


@pytest.mark.parametrize(
    ("printed", "reason"),
    [
        ("ADD a INTT", "table t: column a: type INTT is not known"),
        ("ADD WATERMARK FOR a AS a", "table t: the clause WATERMARK is not supported"),
        ("DROP WATERMARK", "table t: the clause WATERMARK is not supported"),
        ("MODIFY (a INT, b INT)", "table t: MODIFY of several columns is not supported"),
    ],
)
def test_refused(printed: str, reason: str) -> None:
    found = translate(f"ALTER TABLE t {printed}")
    assert found is not None
    assert found.refused is not None
    assert reason in found.refused


@pytest.mark.parametrize(
    "printed",
    [
        "ADD COLUMN a INTT",
        "ADD COLUMNS (a INTT)",
        "DROP COLUMN a b",
        "DROP PARTITION a = 1",
        "DROP PRIMARY KEY",
        "SET TBLPROPERTIES (a)",
        "RENAME COLUMN a",
        "MODIFY",
    ],
)
def test_what_spark_refuses_with_words_of_its_own(printed: str) -> None:
    assert translate(f"ALTER TABLE t {printed}") is None
