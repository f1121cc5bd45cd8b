"""Procedures and statements of tags, branches and rollback, as Spark's users call them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import SparkSession

from tests.concurrency.jobs import catalog

KEY = "PRIMARY KEY (id) NOT ENFORCED"


class History:
    """A table of one bucket, and short ways to ask about it."""

    def __init__(self, spark: SparkSession, name: str) -> None:
        self.spark, self.name = spark, name
        self.short = name.removeprefix("keyfold.")
        spark.sql(
            f"CREATE TABLE {name} (id INT, v STRING, {KEY}) TBLPROPERTIES ('bucket' = '1', "
            "'write-only' = 'true')"
        )

    def insert(self, *ids: int, branch: str = "") -> None:
        values = ", ".join(f"({number}, 'v{number}')" for number in ids)
        self.spark.sql(f"INSERT INTO {self.of(branch)} VALUES {values}")

    def call(self, procedure: str, **arguments: object) -> list[tuple[object, ...]]:
        given = "".join(f", {name} => {value!r}" for name, value in arguments.items())
        sql = f"CALL keyfold.sys.{procedure}(table => '{self.short}'{given})"
        return [tuple(row) for row in self.spark.sql(sql).collect()]

    def of(self, suffix: str) -> str:
        """The name of a branch or of a metadata table."""
        namespace, table = self.short.split(".")
        return f"keyfold.{namespace}.`{table}${suffix}`" if suffix else self.name

    def ids(self, suffix: str = "", at: str = "") -> list[int]:
        rows = self.spark.sql(f"SELECT id FROM {self.of(suffix)} {at}").collect()
        return sorted(row.id for row in rows)

    def column(self, suffix: str, name: str) -> list[object]:
        rows = self.spark.sql(f"SELECT {name} FROM {self.of(suffix)} ORDER BY 1").collect()
        return [row[0] for row in rows]

    def tags(self) -> list[object]:
        return [row.tag for row in self.spark.sql(f"SHOW TAGS {self.name}").collect()]


@pytest.fixture
def history(spark: SparkSession, fresh_name: Callable[[], str]) -> History:
    made = History(spark, fresh_name())
    for number in (1, 2, 3):
        made.insert(number)
    return made


def test_procedures_of_tags(history: History) -> None:
    assert history.call("create_tag", tag="a", snapshot=1, time_retained="7 d") == [(True,)]
    assert history.call("create_tag", tag="newest") == [(True,)]
    with pytest.raises(AnalysisException, match="has a tag 'a' already"):
        history.call("create_tag", tag="a")
    assert history.call("rename_tag", tag="newest", target_tag="last") == [(True,)]
    assert history.call("replace_tag", tag="a", snapshot=2) == [(True,)]
    assert history.ids(at="VERSION AS OF 'a'") == [1, 2]
    assert history.column("tags", "time_retained") == [None, None]
    with pytest.raises(AnalysisException, match="has no tag 'b'; it has a, last"):
        history.call("replace_tag", tag="b")
    (name, snapshot, *_), *_ = history.call("create_tag_from_timestamp", tag="t", timestamp=0)
    assert (name, snapshot) == ("t", 1)
    assert history.call("delete_tag", tag="a, t, none") == [(True,)]
    assert history.call("expire_tags") == [("No expired tags.",)]
    assert history.call("expire_tags", older_than="2200-01-01 00:00:00") == [("last",)]
    assert history.tags() == []


def test_statements_of_tags(spark: SparkSession, history: History) -> None:
    for statement in (
        "CREATE TAG a AS OF VERSION 1 RETAIN 3 DAYS",
        "CREATE TAG IF NOT EXISTS a",
        "CREATE OR REPLACE TAG b AS OF VERSION 2",
        "REPLACE TAG b AS OF VERSION 1",
        "RENAME TAG b TO `2024-01-01`",
        "CREATE TAG 20240102",
        "DELETE TAG IF EXISTS none",
    ):
        spark.sql(f"ALTER TABLE {history.name} {statement}")
    assert history.tags() == ["2024-01-01", "20240102", "a"]
    assert history.column("tags", "time_retained") == [None, None, "PT72H"]
    assert history.ids(at="VERSION AS OF '2024-01-01'") == [1]
    with pytest.raises(AnalysisException, match="has no tag 'none'"):
        spark.sql(f"ALTER TABLE {history.name} DELETE TAG none")
    with pytest.raises(PySparkException, match="PARSE_SYNTAX_ERROR"):
        spark.sql(f"ALTER TABLE {history.name} CREATE TAG a RETAIN 3 YEARS")
    spark.sql(f"USE {history.name.rpartition('.')[0]}")
    spark.sql(f"ALTER TABLE {history.name.rpartition('.')[2]} DELETE TAG a")
    spark.sql("USE spark_catalog.default")
    assert history.tags() == ["2024-01-01", "20240102"]


def test_a_branch_is_a_table(history: History) -> None:
    history.call("create_tag", tag="two", snapshot=2)
    history.call("create_branch", branch="b", tag="two")
    history.call("create_branch", branch="b", tag="two", ignoreIfExists="true")
    assert history.ids("branch_b") == [1, 2]
    history.insert(7, branch="branch_b")
    history.insert(1, branch="branch_b")
    assert (history.ids("branch_b"), history.ids()) == ([1, 2, 7], [1, 2, 3])
    assert history.column("branch_b$snapshots", "snapshot_id") == [2, 3, 4]
    assert len(history.column("branch_b$files", "file_path")) == 4
    short = "`" + history.short.replace(".", "`.`") + "$branch_b`"
    compacted = history.spark.sql(f"CALL keyfold.sys.compact(table => '{short}')")
    assert [row.status for row in compacted.collect()] == ["committed"]
    assert history.column("branch_b$files", "level") == [5]
    assert history.ids("branch_b", "VERSION AS OF 2") == [1, 2]
    assert history.ids("branch_b") == [1, 2, 7]
    history.spark.sql(f"ALTER TABLE {history.of('branch_b')} ADD COLUMN w INT")
    assert history.spark.table(history.name).columns == ["id", "v"]
    assert history.column("branches", "branch_name") == ["b"]
    history.call("rename_branch", from_branch="b", to_branch="c")
    with pytest.raises(PySparkException, match="has no branch 'b'; it has c"):
        history.ids("branch_b")
    history.call("fast_forward", branch="c")
    assert history.ids() == [1, 2, 7]
    assert history.spark.table(history.name).columns == ["id", "v", "w"]
    history.call("delete_branch", branch="c")
    assert history.ids() == [1, 2, 7]
    assert history.column("branches", "branch_name") == []


def test_rollback(history: History) -> None:
    history.call("create_tag", tag="three")
    history.call("create_tag", tag="one", snapshot=1)
    history.insert(4)
    history.spark.sql(f"CACHE TABLE {history.name}")
    assert history.ids() == [1, 2, 3, 4]
    assert history.call("rollback", snapshot=3) == [(4, 3)]
    assert history.ids() == [1, 2, 3]
    history.spark.sql(f"UNCACHE TABLE {history.name}")
    with pytest.raises(AnalysisException, match="expected one of version, snapshot and tag"):
        history.call("rollback")
    assert history.call("rollback", version="2") == [(3, 2)]
    assert history.tags() == ["one"]
    history.insert(5)
    assert history.ids() == [1, 2, 5]
    history.call("expire_snapshots", retain_max=1)
    assert history.column("snapshots", "snapshot_id") == [3]
    assert history.call("rollback", tag="one") == [(3, 1)]
    assert (history.ids(), history.column("snapshots", "snapshot_id")) == ([1], [1])
    history.insert(6)
    assert history.ids() == [1, 6]
    assert history.call("rollback_to_timestamp", timestamp=4102444800000) == [(2, 2)]
    with pytest.raises(AnalysisException, match="no snapshot whose watermark is at most"):
        history.call("rollback_to_watermark", watermark=1)


def test_manifests_become_one(history: History) -> None:
    assert len(history.column("manifests", "file_name")) == 3
    assert history.call("compact_manifest") == [(True,)]
    assert len(history.column("manifests", "file_name")) == 1
    assert history.ids() == [1, 2, 3]


def test_commits_make_automatic_tags(
    spark: SparkSession, fresh_name: Callable[[], str], warehouse: Path
) -> None:
    name = fresh_name()
    table = f"CREATE TABLE {name} (id INT, {KEY}) TBLPROPERTIES ('bucket' = '1', "
    with pytest.raises(AnalysisException, match="watermark is not supported; expected none or"):
        spark.sql(f"{table} 'tag.automatic-creation' = 'watermark')")
    with pytest.raises(AnalysisException, match="expected less than the period"):
        spark.sql(f"{table} 'tag.creation-delay' = '1 d')")
    spark.sql(f"{table} 'tag.automatic-creation' = 'process-time')")
    for number in (1, 2):
        spark.sql(f"INSERT INTO {name} VALUES ({number})")
    assert len(spark.sql(f"SHOW TAGS {name}").collect()) == 1
    found = catalog(str(warehouse)).load_table(["it"], name.rpartition(".")[2])
    assert found.options.tag_creation == "process-time"
