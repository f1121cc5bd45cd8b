"""Classes of the shim, asked through the JVM of the session where SQL shows too little of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pyspark.errors import ParseException
from pyspark.java_gateway import ensure_callback_server_started
from pyspark.sql import SparkSession

from integration.keyed import create_keyed
from integration.planning.plans import plan_of
from integration.sessions import conf
from keyfold.errors import EnvironmentMismatchError
from keyfold.setup import doctor

PARSER = "org.apache.spark.sql.catalyst.parser.ParserInterface"

COMMENTS = "-- a line\n" * 20_000
WIDE = 40


@pytest.fixture
def jvm(spark: SparkSession) -> Any:
    return spark._jvm


@pytest.fixture
def interrupted(jvm: Any) -> Iterator[Any]:
    """This thread's counterpart in the JVM, interrupted."""
    thread = jvm.java.lang.Thread.currentThread()
    thread.interrupt()
    yield thread
    jvm.java.lang.Thread.interrupted()


@pytest.fixture
def wide(spark: SparkSession, fresh_name: Callable[[], str]) -> str:
    """A table of many columns and 10,000 rows."""
    name = fresh_name()
    columns = [f"c{number}" for number in range(WIDE)]
    create_keyed(spark, name, f"k BIGINT, {', '.join(f'{c} STRING' for c in columns)}", bucket=2)
    values = ", ".join("CAST(rand(7) AS STRING)" for _ in columns)
    spark.sql(f"INSERT INTO {name} SELECT id, {values} FROM range(10000)")
    return name


def write_of(spark: SparkSession, name: str) -> Any:
    """A write job of a table that has not been planned yet."""
    jvm = spark._jvm
    relation = spark.table(name)._jdf.queryExecution().analyzed().collectLeaves().head()
    classes = jvm.org.apache.spark.sql.connector.write
    none = jvm.java.util.Optional.empty()
    options = jvm.org.apache.spark.sql.util.CaseInsensitiveStringMap.empty()
    schema = spark.table(name)._jdf.schema()
    info = classes.LogicalWriteInfoImpl("query", schema, options, none, none)
    return relation.table().newWriteBuilder(info).build().toBatch()


def test_a_spark_that_was_not_tried_is_told(jvm: Any) -> None:
    """The older ones are refused, and the newer get a warning; as `doctor` has it."""
    versions = jvm.keyfold.spark.SparkVersions
    for tried in ("4.2.1", "4.2.1-vendor.2", "4.3.0"):
        assert not versions.warning(tried).isDefined()
    told = f"keyfold is for {doctor.SPARK}, and this is Spark "
    for newer in ("4.4.0-SNAPSHOT", "5.0.0"):
        assert versions.warning(newer).get().startswith(f"{told}{newer}, with which it was not")
    for older in ("4.1.4", "4.2.0", "3.5.9"):
        with pytest.raises(EnvironmentMismatchError, match=f"{told}{older}: install pyspark"):
            versions.warning(older)


def test_an_interrupted_thread_aborts_its_write(
    spark: SparkSession, jvm: Any, fresh_name: Callable[[], str], request: pytest.FixtureRequest
) -> None:
    name = fresh_name()
    create_keyed(spark, name, "k INT, v INT")
    write = write_of(spark, name)
    none = spark.sparkContext._gateway.new_array(
        jvm.org.apache.spark.sql.connector.write.WriterCommitMessage, 0
    )
    thread = request.getfixturevalue("interrupted")
    write.abort(none)
    assert thread.isInterrupted()


def test_an_interrupt_is_told_as_one(jvm: Any, interrupted: Any) -> None:
    with pytest.raises(Exception, match="ClosedByInterruptException"):
        jvm.keyfold.spark.processes.Driver.warm()


@pytest.mark.parametrize("is_delta", [False, True])
def test_batches_are_bounded_whatever_the_size_of_rows(
    spark: SparkSession, jvm: Any, is_delta: bool
) -> None:
    """Rows of statements that change rows are projected ones, which don't know their size."""
    frame = spark.sql("SELECT repeat('x', 4000000) AS v, 1 AS n FROM range(0, 9, 1, 1)")
    sink = jvm.java.nio.channels.Channels.newChannel(jvm.java.io.ByteArrayOutputStream())
    schema, places = frame._jdf.schema(), jvm.PythonUtils.toSeq([0, 1])
    writer = jvm.org.apache.spark.sql.keyfold.arrow.ArrowBatchWriter(schema, sink)
    projected = jvm.org.apache.spark.sql.catalyst.ProjectingInternalRow.apply(schema, places)
    full = []
    for row in frame._jdf.queryExecution().executedPlan().executeCollect():
        projected.project(row)
        full.append(writer.write(projected if is_delta else row))
        if full[-1]:
            writer.flush()
    writer.finish()
    writer.close()
    assert full == [False, False, False, False, True, False, False, False, False]


def size_of(spark: SparkSession, query: str) -> int:
    """The bytes that Spark expects of the scan of a query."""
    plan = spark.sql(query)._jdf.queryExecution().optimizedPlan()
    return int(str(plan.collectLeaves().head().stats().sizeInBytes()))


def test_statistics_are_those_of_the_columns_read(spark: SparkSession, wide: str) -> None:
    everything = size_of(spark, f"SELECT * FROM {wide}")
    one = size_of(spark, f"SELECT k FROM {wide}")
    assert 0 < one < everything / WIDE * 2
    assert size_of(spark, f"SELECT count(*) FROM {wide}") < 100
    assert size_of(spark, f"SELECT * FROM {wide} LIMIT 1") < everything / 100


def test_a_join_broadcasts_what_is_small_as_it_is_read(spark: SparkSession, wide: str) -> None:
    everything = size_of(spark, f"SELECT * FROM {wide}")
    with conf(spark, spark__sql__autoBroadcastJoinThreshold=everything // 4):
        for column, is_small in (("k", True), ("*", False)):
            right = f"(SELECT {column} FROM {wide})"
            frame = spark.sql(f"SELECT * FROM {wide} a JOIN {right} b USING (k)")
            assert ("BroadcastHashJoin" in plan_of(frame)) == is_small, column


def test_a_scan_has_as_many_tasks_as_sparks_own(spark: SparkSession, wide: str) -> None:
    with conf(spark, spark__sql__leafNodeDefaultParallelism=7):
        assert spark._jvm.keyfold.spark.Settings.cores() == 7
    assert spark._jvm.keyfold.spark.Settings.cores() == 2


def test_executors_that_are_not_there_yet_count(jvm: Any) -> None:
    conf = jvm.org.apache.spark.SparkConf(False)
    conf.set("spark.dynamicAllocation.maxExecutors", "10").set("spark.executor.cores", "4")
    settings = jvm.keyfold.spark.Settings
    assert settings.mostCores(conf) == 0
    assert settings.mostCores(conf.set("spark.dynamicAllocation.enabled", "true")) == 40
    assert settings.mostCores(conf.set("spark.task.cpus", "2")) == 20
    assert settings.mostCores(conf.remove("spark.dynamicAllocation.maxExecutors")) == 0


def test_a_column_made_anew_is_not_taken_for_the_old(
    spark: SparkSession, fresh_name: Callable[[], str]
) -> None:
    name = fresh_name()
    create_keyed(spark, name, "k INT, v INT")
    spark.sql(f"INSERT INTO {name} VALUES (1, 10)")
    frame = spark.table(name)
    spark.sql(f"ALTER TABLE {name} DROP COLUMN v")
    spark.sql(f"ALTER TABLE {name} ADD COLUMN v INT")
    with pytest.raises(Exception, match=r"(?i)column"):
        frame.collect()


def test_thousands_of_comments_need_no_deep_stack(
    spark: SparkSession, fresh_name: Callable[[], str]
) -> None:
    with pytest.raises(ParseException):
        spark.sql(f"{COMMENTS} SELEC 1")
    name = fresh_name()
    spark.sql(
        f"{COMMENTS} CREATE TABLE {name} (k INT, v BIGINT SUM) AGGREGATE KEY (k) "
        "DISTRIBUTED BY HASH(k) BUCKETS 1"
    )
    assert spark.table(name).columns == ["k", "v"]


class OtherParser:
    """The parser of another extension: it answers everything with None, and counts."""

    class Java:
        implements = (PARSER,)

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __getattr__(self, name: str) -> Callable[..., None]:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *_: self.asked.append(name)


def test_another_extensions_parser_answers_every_method(spark: SparkSession, jvm: Any) -> None:
    """Those of later versions of Spark, too: the methods are those of the interface that runs."""
    ensure_callback_server_started(spark.sparkContext._gateway)
    other = OtherParser()
    ours = jvm.org.apache.spark.sql.keyfold.statements.DialectParser.apply(
        spark._jsparkSession, other
    )
    methods = jvm.java.lang.Class.forName(PARSER).getMethods()
    names = {method.getName() for method in methods if "static" not in method.toString()}
    names -= {name for name in names if "$" in name}
    assert {"parsePlan", "parseDataType", "parsePlanWithParameters"} <= names
    for name in sorted(names):
        rest = [None] if name == "parsePlanWithParameters" else []
        assert getattr(ours, name)("CREATE TABLE t (k INT)", *rest) is None
    assert other.asked == sorted(names)


def test_whole_partitions_alone_are_deleted_without_being_read(
    spark: SparkSession, jvm: Any, fresh_name: Callable[[], str]
) -> None:
    """The table says no to every other condition; then Spark deletes row by row."""
    name = fresh_name()
    create_keyed(spark, name, "p INT, k INT", key="p, k", by="p")
    relation = spark.table(name)._jdf.queryExecution().analyzed().collectLeaves().head()
    filters = jvm.org.apache.spark.sql.connector.expressions.filter
    expressions = jvm.org.apache.spark.sql.connector.expressions
    gateway = spark.sparkContext._gateway
    for column, operator, decided in (("p", None, True), ("k", None, False), ("p", "ABS", False)):
        argument = expressions.Expressions.column(column)
        if operator is not None:
            inner = gateway.new_array(expressions.Expression, 1)
            inner[0] = argument
            argument = expressions.GeneralScalarExpression(operator, inner)
        outer = gateway.new_array(expressions.Expression, 1)
        outer[0] = argument
        predicates = gateway.new_array(filters.Predicate, 1)
        predicates[0] = filters.Predicate("IS_NULL", outer)
        assert relation.table().canDeleteWhere(predicates) == decided
