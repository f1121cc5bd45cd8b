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

  override def estimateStatistics(): Statistics = new Statistics {
    override def sizeInBytes(): OptionalLong = OptionalLong.of(plan.path("bytes").asLong)
    override def numRows(): OptionalLong = OptionalLong.of(plan.path("rows").asLong)
  }

  override def planInputPartitions(): Array[InputPartition] =
    Json.items(plan.get("tasks")).map(splits => KeyfoldInputPartition(Json.text(splits))).toArray

  override def createReaderFactory(): PartitionReaderFactory =
    KeyfoldReaderFactory(Json.text(plan.get("scan")))

  override def supportedCustomMetrics(): Array[CustomMetric] = ScanMetrics.declared
  override def reportDriverMetrics(): Array[CustomTaskMetric] = ScanMetrics.ofPlan(plan.path("metrics"))
}

/** Both sides: the splits of one task, in Python's own words. */
final case class KeyfoldInputPartition(splits: String) extends InputPartition
