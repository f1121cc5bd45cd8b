"""An engine and its options from a module that the application ships: through Spark's processes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from integration import TOP

MODULES = "spark.keyfold.modules"
DDL = (
    "CREATE TABLE {} (k INT, v BIGINT NOT NULL, s STRING, PRIMARY KEY (k) NOT ENFORCED) "
    "TBLPROPERTIES ('merge-engine' = 'closest', 'closest.column' = 'v', '{}' = '10', "
    "'bucket' = '1')"
)


@pytest.fixture(scope="module")
def shipped(spark: SparkSession) -> SparkSession:
    """The session, to which `closest.py` is shipped."""
    session = spark.newSession()
    session.sparkContext.addPyFile(str(Path(TOP) / "tests" / "options" / "closest.py"))
    session.conf.set(MODULES, "closest")
    return session


def test_a_table_of_it(shipped: SparkSession, fresh_name: Callable[[], str]) -> None:
    name = fresh_name()
    shipped.sql(DDL.format(name, "closest.to"))
    for rows in ("(0, 1, 'a'), (1, 40, 'a')", "(0, 8, 'b'), (1, 30, 'b')", "(0, 12, 'c')"):
        shipped.sql(f"INSERT INTO {name} VALUES {rows}")
    found = [[0, 8, "b"], [1, 30, "b"]]
    assert [list(row) for row in shipped.table(name).orderBy("k").collect()] == found
    shipped.sql(f"CALL keyfold.sys.compact('{name.removeprefix('keyfold.')}')").collect()
    assert [list(row) for row in shipped.table(name).orderBy("k").collect()] == found
    with pytest.raises(PySparkException, match=r"closest\.to can't be changed once"):
        shipped.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('closest.to' = '11')")
    shipped.sql(f"ALTER TABLE {name} RENAME COLUMN v TO w")
    assert [row.w for row in shipped.table(name).orderBy("k").collect()] == [8, 30]


def test_rows_of_it_change(shipped: SparkSession, fresh_name: Callable[[], str]) -> None:
    """As assigned, however far that is from the target; what is deleted begins anew."""
    name = fresh_name()
    shipped.sql(DDL.format(name, "closest.to"))
    shipped.sql(f"INSERT INTO {name} VALUES (0, 10, 'a'), (1, 11, 'a'), (2, 12, 'a')")
    shipped.sql(f"UPDATE {name} SET v = 99 WHERE k = 0")
    shipped.sql(f"DELETE FROM {name} WHERE v = 11")
    shipped.sql(
        f"MERGE INTO {name} t USING (VALUES (2, 50), (3, 70) AS s(k, v)) s ON t.k = s.k "
        "WHEN MATCHED THEN UPDATE SET v = s.v, s = NULL "
        "WHEN NOT MATCHED THEN INSERT (k, v) VALUES (s.k, s.v)"
    )
    found = [[0, 99, "a"], [2, 50, None], [3, 70, None]]
    assert [list(row) for row in shipped.table(name).orderBy("k").collect()] == found
    shipped.sql(f"INSERT INTO {name} VALUES (0, 98, 'b'), (1, 60, 'b'), (2, 51, 'b')")
    found = [[0, 98, "b"], [1, 60, "b"], [2, 50, None], [3, 70, None]]
    assert [list(row) for row in shipped.table(name).orderBy("k").collect()] == found
    shipped.sql(f"CALL keyfold.sys.compact('{name.removeprefix('keyfold.')}')").collect()
    assert [list(row) for row in shipped.table(name).orderBy("k").collect()] == found


def test_a_misspelled_option(shipped: SparkSession, fresh_name: Callable[[], str]) -> None:
    with pytest.raises(PySparkException, match=r"did you mean closest\.to\?"):
        shipped.sql(DDL.format(fresh_name(), "closest.too"))
