package keyfold.spark.read

import java.util.OptionalLong

import com.fasterxml.jackson.databind.JsonNode
import keyfold.spark.{Json, Settings}
import keyfold.spark.metrics.ScanMetrics
import keyfold.spark.questions.{Predicates, Summary}
import keyfold.spark.table.KeyfoldTable
import org.apache.spark.sql.connector.expressions.filter.Predicate
import org.apache.spark.sql.connector.metric.{CustomMetric, CustomTaskMetric}
import org.apache.spark.sql.connector.read._
import org.apache.spark.sql.connector.read.Scan.ColumnarSupportMode
import org.apache.spark.sql.keyfold.SqlTypes
import org.apache.spark.sql.types.StructType

/** Driver side: one scan of one snapshot. Python plans it at the first question Spark has about it,
  * and once: Spark asks for statistics, partitions and text several times a query.
  */
final case class KeyfoldScan(
    table: KeyfoldTable,
    columns: StructType,
    filters: Seq[Predicate],
    enforced: Seq[Predicate],
    limit: Option[Int],
    summary: Option[Summary],
    options: Map[String, String])
    extends Scan with Batch with SupportsReportStatistics {

  private lazy val plan: JsonNode = table.questions.ask("plan_scan",
    "table" -> table.description.handle,
    "columns" -> (if (summary.isEmpty) columns.fieldNames else Array.empty[String]),
    "filters" -> filters.flatMap(Predicates.toJson),
    "enforced" -> enforced.flatMap(Predicates.toJson),
    "limit" -> limit,
    "aggregate" -> summary.map(_.toJson),
    "cores" -> Settings.cores,
    "options" -> options)

  override def readSchema(): StructType = columns
  override def toBatch(): Batch = this
  override def columnarSupportMode(): ColumnarSupportMode = ColumnarSupportMode.SUPPORTED

  override def description(): String = s"keyfold: ${plan.path("description").asText}"

  /** The size of the result, as Spark estimates its own file scans: the bytes of the files by the share of their
    * columns that is read, and no more rows than LIMIT or an aggregate leaves. Rows are counted before the merge.
    */
  override def estimateStatistics(): Statistics = new Statistics {
    private val stored = plan.path("rows").asLong
    private val rows = Math.min(stored, mostRows)
    private val share = KeyfoldScan.width(columns) / KeyfoldScan.width(SqlTypes.ofRows(table.columns()))
    private val bytes = plan.path("bytes").asLong * share * rows / Math.max(stored, 1L)

    override def sizeInBytes(): OptionalLong = OptionalLong.of(Math.max(1L, bytes.toLong))
    override def numRows(): OptionalLong = OptionalLong.of(rows)
  }

  /** A task sums up each of its splits to one row at most, and stops at the limit. */
  private def mostRows: Long = {
    val tasks = Json.items(plan.get("tasks"))
    summary.map(_ => tasks.map(_.size.toLong).sum)
      .orElse(limit.map(_.toLong * tasks.size))
      .getOrElse(Long.MaxValue)
  }

  override def planInputPartitions(): Array[InputPartition] =
    Json.items(plan.get("tasks")).map(splits => KeyfoldInputPartition(Json.text(splits))).toArray

  override def createReaderFactory(): PartitionReaderFactory =
    KeyfoldReaderFactory(Json.text(plan.get("scan")))

  override def supportedCustomMetrics(): Array[CustomMetric] = ScanMetrics.declared
  override def reportDriverMetrics(): Array[CustomTaskMetric] = ScanMetrics.ofPlan(plan.path("metrics"))
}

object KeyfoldScan {
  /** Bytes of a row in memory, what Spark adds to each included. */
  private def width(columns: StructType): Double = 8.0 + columns.defaultSize
}

/** Both sides: the splits of one task, in Python's own words. */
final case class KeyfoldInputPartition(splits: String) extends InputPartition
