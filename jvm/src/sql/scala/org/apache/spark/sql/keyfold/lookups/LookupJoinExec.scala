package org.apache.spark.sql.keyfold.lookups

import keyfold.spark.Json
import keyfold.spark.buckets.{SlotFunction, Slots}
import keyfold.spark.questions.Predicates
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.physical.{Distribution, StatefulOpClusteredDistribution,
  UnspecifiedDistribution}
import org.apache.spark.sql.catalyst.util.truncatedString
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction
import org.apache.spark.sql.execution.{SparkPlan, UnaryExecNode}
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}
import org.apache.spark.sql.types.{StructField, StructType}

/** Both sides: runs a LookupJoin. Rows come to the task of their bucket in the order of their partitions and keys,
  * so that each row group is read by one task and about once, and rows of one key follow each other. That order is
  * not asked for where most rows are blind: then few are looked up.
  */
final case class LookupJoinExec(
    child: SparkPlan,
    @transient target: LookupTarget,
    project: Seq[NamedExpression],
    by: Seq[String],
    keys: Seq[Expression],
    condition: Option[Expression],
    blind: Expression,
    kind: LookupKind,
    inserts: Boolean) extends UnaryExecNode {

  override def output: Seq[Attribute] = kind.output(child.output, project)
  override lazy val producedAttributes: AttributeSet = kind.produced(target, project)

  /** The columns that have places in the canonical plan, by which Spark finds that joins are the same, and runs one. */
  override lazy val allAttributes: AttributeSeq = child.output ++ target.columns :+ target.number

  override lazy val metrics: Map[String, SQLMetric] = Map(
    "numOutputRows" -> SQLMetrics.createMetric(sparkContext, "number of output rows"),
    "keys" -> SQLMetrics.createMetric(sparkContext, "keys looked up"),
    "found" -> SQLMetrics.createMetric(sparkContext, "keys found"),
    "blind" -> SQLMetrics.createMetric(sparkContext, "rows that were not looked up")) ++ ofWorkers

  /** The figures of workers, by their names. */
  private lazy val ofWorkers = Map(
    "bytes_read" -> SQLMetrics.createSizeMetric(sparkContext, "bytes read of files"),
    "rows_in" -> SQLMetrics.createMetric(sparkContext, "rows into merge"),
    "decode_nanos" -> SQLMetrics.createNanoTimingMetric(sparkContext, "time to decode files"),
    "merge_nanos" -> SQLMetrics.createNanoTimingMetric(sparkContext, "time to merge"))

  private def isClustered = blind == Literal.FalseLiteral

  override def requiredChildDistribution: Seq[Distribution] = // of fields that every version has
    Seq(if (isClustered) StatefulOpClusteredDistribution(Seq(slot), tasks) else UnspecifiedDistribution)

  override def requiredChildOrdering: Seq[Seq[SortOrder]] =
    Seq(if (isClustered) partitionsFirst.map(SortOrder(_, Ascending)) else Nil)
  private def partitionsFirst = by.zip(keys).sortBy(key => !described.partitioning.contains(key._1)).map(_._2)

  @transient private lazy val described = target.scan.table.description
  private lazy val tasks = Slots.tasks(described.buckets, isPartitioned = described.partitioning.nonEmpty)

  /** The task that writes the rows of a key. */
  private lazy val slot: Expression = {
    val byName = by.zip(keys).toMap
    val columns = described.clustering.map(byName)
    val counts = Seq(tasks, described.buckets, described.bucketKeys.length).map(Literal(_))
    val arguments = counts ++ columns
    val types = StructType(arguments.zipWithIndex.map { case (one, place) => StructField(s"a$place", one.dataType) })
    val name = SlotFunction.nameFor(columns.exists(_.nullable))
    V2ExpressionUtils.resolveScalarFunction(
      SlotFunction.named(name).get.bind(types).asInstanceOf[ScalarFunction[_]], arguments)
  }

  /** The plan of the table's files for all tasks, asked once: Spark keeps the RDD that `doExecute` makes. */
  @transient private lazy val plan: String = Json.text(target.scan.table.questions.ask("plan_lookup",
    "table" -> described.handle,
    "columns" -> target.columns.map(_.name),
    "parts" -> target.scan.parts,
    "inserted" -> inserts,
    "filters" -> target.scan.filters.flatMap(Predicates.toJson)).get("lookup"))

  override protected def doPrepare(): Unit = if (!inserts) plan: Unit

  override protected def doExecute(): RDD[InternalRow] = {
    if (inserts) NewKeys.insert(child, by.zip(keys), target.scan.table)
    val figures = new LookupFigures(longMetric("numOutputRows"), longMetric("keys"), longMetric("found"),
      longMetric("blind"), ofWorkers)
    val work = LookupWork(plan, by, target.columns, target.number, project, keys, condition, blind, kind, child.output)
    child.execute().mapPartitionsInternal(rows => new LookupIterator(work, rows, figures))
  }

  override def simpleString(fields: Int): String = {
    val more = condition.map(found => s", ${found.sql}").toSeq ++ Option.when(inserts)(", inserts absent keys") ++
      Option.unless(isClustered)(s", unless ${blind.sql}")
    s"LookupJoin ${described.name}${truncatedString(keys, "[", ", ", "]", fields)}, $kind, columns " +
      s"${truncatedString(target.columns, "[", ", ", "]", fields)}${more.mkString}"
  }

  override protected def withNewChildInternal(changed: SparkPlan): LookupJoinExec = copy(child = changed)
}
