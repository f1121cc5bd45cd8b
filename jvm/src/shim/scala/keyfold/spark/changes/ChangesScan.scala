package keyfold.spark.changes

import java.util.OptionalLong

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.JsonNode
import keyfold.spark.{Json, Settings}
import keyfold.spark.metrics.ScanMetrics
import keyfold.spark.questions.Predicates
import keyfold.spark.read.{AnySplits, KeyfoldReaderFactory, KeyfoldScan, KeyfoldStream, PushedScan}
import keyfold.spark.table.KeyfoldTable
import org.apache.spark.sql.connector.expressions.filter.Predicate
import org.apache.spark.sql.connector.metric.{CustomMetric, CustomTaskMetric}
import org.apache.spark.sql.connector.read._
import org.apache.spark.sql.connector.read.Scan.ColumnarSupportMode
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream
import org.apache.spark.sql.keyfold.arrow.MetadataRows
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** Driver side: gathers what Spark pushes down into changes. Conditions on the key leave out keys before rows are
  * compared; others leave out rows of changes. `asked` is Python's own.
  */
final class ChangesScanBuilder(table: KeyfoldTable, asked: JsonNode, options: CaseInsensitiveStringMap)
    extends PushedScan(table) {

  override def pruneColumns(required: StructType): Unit =
    columns = StructType(required.fieldNames.map(whole(_)))

  override def build(): Scan = ChangesScan(table, asked, columns, pushed, enforced, limit,
    options.asCaseSensitiveMap.asScala.toMap)
}

/** Driver side: the changes of one range of snapshots, planned by Python at the first question Spark has. */
final case class ChangesScan(
    table: KeyfoldTable,
    asked: JsonNode,
    columns: StructType,
    filters: Seq[Predicate],
    enforced: Seq[Predicate],
    limit: Option[Int],
    options: Map[String, String])
    extends Scan with Batch with SupportsReportStatistics {

  @volatile private var isStream = false
  private lazy val plan: JsonNode = table.questions.ask("plan_changes",
    "table" -> table.description.handle,
    "changes" -> asked,
    "columns" -> columns.fieldNames,
    "filters" -> filters.flatMap(Predicates.toJson),
    "enforced" -> enforced.flatMap(Predicates.toJson),
    "limit" -> limit,
    "cores" -> Settings.cores,
    "options" -> options,
    "zone" -> MetadataRows.zone)

  override def readSchema(): StructType = columns
  override def toBatch(): Batch = this

  override def toMicroBatchStream(checkpoint: String): MicroBatchStream = {
    isStream = true
    new KeyfoldStream(table, columns, asked, options)
  }
  override def columnarSupportMode(): ColumnarSupportMode = ColumnarSupportMode.SUPPORTED
  override def description(): String =
    if (isStream) s"keyfold: stream of changes of ${table.name()}"
    else s"keyfold changes: ${plan.path("description").asText}"

  override def estimateStatistics(): Statistics = if (isStream) KeyfoldScan.Unknown else new Statistics {
    override def sizeInBytes(): OptionalLong =
      OptionalLong.of(Math.max(1L, plan.path("rows").asLong * (8L + columns.defaultSize.toLong)))
    override def numRows(): OptionalLong = OptionalLong.of(plan.path("rows").asLong)
  }

  override def planInputPartitions(): Array[InputPartition] =
    Json.strings(plan.get("tasks")).map(AnySplits(_)).toArray

  override def createReaderFactory(): PartitionReaderFactory =
    KeyfoldReaderFactory(Json.text(plan.get("scan")), KeyfoldReaderFactory.Changes)

  override def supportedCustomMetrics(): Array[CustomMetric] = ScanMetrics.declared
  override def reportDriverMetrics(): Array[CustomTaskMetric] =
    if (isStream) Array.empty else ScanMetrics.ofPlan(plan.path("metrics"))
}

object ChangesScan {
  private val Options = "incremental-"
  private val Rows = Json.obj("view" -> "rows")

  /** The rows that a range of snapshots changed, where a reader's options name one. */
  def asked(options: CaseInsensitiveStringMap): Option[JsonNode] =
    Option.when(options.keySet.asScala.exists(_.replace('_', '-').startsWith(Options)))(Rows)
}
