package keyfold.spark.write

import keyfold.spark.Json
import keyfold.spark.buckets.{SlotFunction, Slots}
import keyfold.spark.metrics.WriteMetrics
import keyfold.spark.questions.{Description, Predicates}
import keyfold.spark.table.{KeyfoldTable, Names}
import org.apache.spark.sql.connector.distributions.{Distribution, Distributions}
import org.apache.spark.sql.connector.expressions.{Expressions, SortOrder}
import org.apache.spark.sql.connector.metric.{CustomMetric, CustomTaskMetric}
import org.apache.spark.sql.connector.write.{BatchWrite, LogicalWriteInfo, RequiresDistributionAndOrdering}
import org.apache.spark.sql.connector.write.streaming.StreamingWrite
import org.apache.spark.sql.keyfold.Refusal
import org.apache.spark.sql.types.{LongType, StructType}

/** Driver side: a write whose rows Spark clusters by bucket and partition before we get them. */
trait ClusteredWrite extends RequiresDistributionAndOrdering {
  def table: KeyfoldTable
  protected def described: Description = table.description

  /** The rows that tasks send to Python. */
  def rowSchema: StructType

  /** Whether these rows come as batches. */
  def areBatches: Boolean = false

  /** The question plan_write, asked when the job starts; `query` is the streaming query that the job is part of. */
  def planned(query: Option[String]): String

  /** The figures that the tasks reported, once they are committed. */
  @volatile private[spark] var figures: Array[CustomTaskMetric] = Array.empty

  override def supportedCustomMetrics(): Array[CustomMetric] = WriteMetrics.declared
  override def reportDriverMetrics(): Array[CustomTaskMetric] = figures

  override def requiredDistribution(): Distribution = {
    val counts = Seq(requiredNumPartitions(), described.buckets, described.bucketKeys.length)
    val columns = described.clustering.map(name => Expressions.column(Names.quote(columnOf(name))))
    val name = SlotFunction.nameFor(described.columns.exists(c => c.nullable && described.bucketKeys.contains(c.name)))
    val slot = Expressions.apply(name, counts.map(Expressions.literal[Int](_)) ++ columns: _*)
    Distributions.clustered(Array(slot))
  }

  /** The name of a column in the rows that Spark clusters. */
  protected def columnOf(name: String): String = name

  override def requiredNumPartitions(): Int =
    Slots.tasks(described.buckets, isPartitioned = described.partitioning.nonEmpty)

  override def requiredOrdering(): Array[SortOrder] = Array.empty

  protected def ask(columns: Seq[String], fields: (String, Any)*): String = {
    val common = Seq("table" -> described.handle, "columns" -> columns)
    Json.text(table.questions.ask("plan_write", common ++ fields: _*).get("write"))
  }
}

/** Driver side: one write of rows that are folded. With `hasOrdinal` their last column is the place each row had
  * in the input, and they come as batches (see OrdinalStrategy). `isOfMerge`: rows of a MERGE that has found no rows with their keys.
  * `onlyNew`: rows of stored keys are left out.
  */
final case class KeyfoldWrite(
    table: KeyfoldTable, info: LogicalWriteInfo, mode: WriteMode, hasOrdinal: Boolean, isOfMerge: Boolean = false,
    onlyNew: Boolean = false)
    extends ClusteredWrite {

  override def description(): String = s"keyfold ${table.name()} ${mode.name}"

  override def toString: String = if (hasOrdinal) s"${description()}, in input order" else description()

  override def toBatch(): BatchWrite = new KeyfoldBatchWrite(this)

  override def toStreaming(): StreamingWrite = {
    if (!TargetColumns.isMarked(info.options))
      throw Refusal(s"streaming into table ${table.name()} needs the session extension of keyfold: Spark alone does "
        + "not match the columns of a stream with those of a table. Start Spark with --conf "
        + "spark.sql.extensions=keyfold.spark.KeyfoldExtensions")
    new KeyfoldStreamingWrite(this)
  }

  override def areBatches: Boolean = hasOrdinal

  override def rowSchema: StructType =
    if (hasOrdinal) info.schema.add(KeyfoldWrite.Ordinal, LongType, nullable = false) else info.schema

  override def planned(query: Option[String]): String = {
    val changes = if (isOfMerge) Some(RowChanges("MERGE", reads = true).toJson(hasKinds = false)) else None
    val fields = Seq(
      "ordinal" -> hasOrdinal,
      "mode" -> mode.name,
      "query" -> query,
      "filters" -> mode.filters.flatMap(Predicates.toJson),
      "changes" -> changes,
      "only_new" -> onlyNew)
    ask(info.schema.fieldNames.toSeq, fields ++ TargetColumns.asked(info.options): _*)
  }
}

object KeyfoldWrite {
  val Ordinal = "_ORDINAL"
}
