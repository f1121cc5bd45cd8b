"""Statements that a session gives a token: each is in the table once, whatever it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from integration.keyed import create_keyed
from integration.pipelines.runs import nodes, plans
from integration.planning.plans import settle

APP, VERSION = "spark.keyfold.txnAppId", "spark.keyfold.txnVersion"
Statement = Callable[[SparkSession, str], Any]


def merged_into(spark: SparkSession, t: str) -> None:
    source = spark.sql("SELECT 1 k, 5 n").alias("s")
    merge = source.mergeInto(t, F.expr(f"s.k = {t}.k"))
    merge.whenMatched().update({"n": F.expr(f"{t}.n + s.n")}).merge()


STATEMENTS: dict[str, Statement] = {
    "INSERT": lambda spark, t: spark.sql(f"INSERT INTO {t} VALUES (1, 5), (9, 1)"),
    "INSERT OVERWRITE": lambda spark, t: spark.sql(f"INSERT OVERWRITE {t} VALUES (3, 3)"),
    "UPDATE": lambda spark, t: spark.sql(f"UPDATE {t} SET n = n + 1 WHERE k < 3"),
    "DELETE": lambda spark, t: spark.sql(f"DELETE FROM {t} WHERE n > 15"),
    "DELETE of all": lambda spark, t: spark.sql(f"DELETE FROM {t}"),
    "TRUNCATE": lambda spark, t: spark.sql(f"TRUNCATE TABLE {t}"),
    "MERGE": lambda spark, t: spark.sql(
        f"MERGE INTO {t} USING (SELECT * FROM VALUES (1, 5), (8, 8) AS v(k, n)) s "
        f"ON {t}.k = s.k WHEN MATCHED THEN UPDATE SET n = {t}.n + s.n "
        "WHEN NOT MATCHED THEN INSERT *"
    ),
    "mergeInto": merged_into,
    "writeTo": lambda spark, t: spark.sql("SELECT 1 k, 7 n").writeTo(t).append(),
    "saveAsTable": lambda spark, t: (
        spark.sql("SELECT 1 k, 7 n").write.mode("append").saveAsTable(t)
    ),
}


UNSEEN = ("DELETE of all", "TRUNCATE")  # Spark's UI has no figures of these: the log says it

IDLE: dict[str, str] = {
    "INSERT": "INSERT INTO {t} SELECT * FROM {t} WHERE k = 9",
    "INSERT OVERWRITE": "INSERT OVERWRITE {t} SELECT * FROM {t} WHERE k < 0",
    "UPDATE": "UPDATE {t} SET n = n + 1 WHERE k = 9",
    "DELETE": "DELETE FROM {t} WHERE n = 9",
    "DELETE of all": "DELETE FROM {t}",
    "TRUNCATE": "TRUNCATE TABLE {t}",
    "MERGE": "MERGE INTO {t} USING (SELECT 9 k) s ON {t}.k = s.k WHEN MATCHED THEN DELETE",
}


@pytest.fixture
def session(spark: SparkSession) -> Iterator[SparkSession]:
    """A session whose settings go with the test."""
    yield spark
    for name in (APP, VERSION):
        spark.conf.unset(name)


def rows(spark: SparkSession, table: str) -> list[tuple[int, int]]:
    return sorted((row.k, row.n) for row in spark.table(table).collect())


def says_so(spark: SparkSession, before: int) -> bool:
    """Whether Spark's UI shows a later write that was passed over."""
    settle(spark)
    name = "written before, so passed over"
    return any(figures.get(name) == "1" for _, figures in nodes(spark, before))


def test_each_statement_once(session: SparkSession, fresh_name: Callable[[], str]) -> None:
    name = fresh_name()
    create_keyed(session, name, "k INT, n INT", merge_engine="aggregation", folds={"n": "sum"})
    session.conf.set(APP, "job")
    for version, (title, statement) in enumerate(STATEMENTS.items()):
        for key in (APP, VERSION):
            session.conf.unset(key)
        session.sql(f"INSERT INTO {name} VALUES (1, 10), (2, 20)")
        session.conf.set(APP, "job")
        session.conf.set(VERSION, str(version))
        before = rows(session, name)
        statement(session, name)
        after = rows(session, name)
        assert after != before, title
        newest = max(plans(session))
        statement(session, name)
        assert says_so(session, newest) == (title not in UNSEEN), title
        assert rows(session, name) == after, title
        session.conf.set(VERSION, str(version - 1))
        if version:
            with pytest.raises(Exception, match=rf"{version - 1} of 'job' is lower than {version}"):
                statement(session, name)
            assert rows(session, name) == after, title
    session.conf.set(VERSION, str(len(STATEMENTS)))
    back = f"CALL keyfold.sys.rollback(table => '{name}', snapshot => 1)"
    assert session.sql(back).collect()[0][1] == 2
    assert rows(session, name) == [(1, 10), (2, 20)]
    assert session.sql(back).collect()[0][1] is None
    options = {"txnAppId": "other", "txnVersion": "0"}  # those of a statement come first
    session.sql("SELECT 1 k, 7 n").writeTo(name).options(**options).append()
    assert rows(session, name) != after
    session.conf.unset(VERSION)
    with pytest.raises(Exception, match="txnAppId and txnVersion go together"):
        session.sql(f"INSERT INTO {name} VALUES (1, 1)")


def test_statements_that_change_no_rows(
    session: SparkSession, fresh_name: Callable[[], str]
) -> None:
    """A repeated one leaves rows alone that others have written since."""
    name = fresh_name()
    session.sql(f"CREATE TABLE {name} (k INT, n INT, PRIMARY KEY (k) NOT ENFORCED)")

    def run(idle: str, statement: str) -> None:
        session.conf.set(APP, idle)
        session.conf.set(VERSION, "1")
        session.sql(statement.format(t=name))
        for key in (APP, VERSION):
            session.conf.unset(key)

    for idle, statement in IDLE.items():
        run(idle, statement)
    session.sql(f"INSERT INTO {name} VALUES (9, 9)")
    snapshots = f"SELECT * FROM `{name.replace('.', '`.`')}$snapshots`"
    made = session.sql(snapshots).count()
    for idle, statement in IDLE.items():
        run(idle, statement)
    assert rows(session, name) == [(9, 9)]
    assert session.sql(snapshots).count() == made == len(IDLE) + 1
