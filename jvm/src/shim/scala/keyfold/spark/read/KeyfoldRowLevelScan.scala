package keyfold.spark.read

import org.apache.spark.sql.connector.metric.{CustomMetric, CustomTaskMetric}
import org.apache.spark.sql.connector.read.{Batch, Scan, Statistics, SupportsReportPartitioning, SupportsReportStatistics}
import org.apache.spark.sql.connector.read.Scan.ColumnarSupportMode
import org.apache.spark.sql.connector.read.partitioning.Partitioning
import org.apache.spark.sql.types.StructType

/** Driver side: the scan of a statement that changes rows. It takes no conditions while the query runs: Spark would
  * read the keys of the table once more to find some.
  */
final case class KeyfoldRowLevelScan(scan: KeyfoldScan)
    extends Scan with SupportsReportStatistics with SupportsReportPartitioning {
  override def readSchema(): StructType = scan.readSchema()
  override def toBatch(): Batch = scan.toBatch()
  override def columnarSupportMode(): ColumnarSupportMode = scan.columnarSupportMode()
  override def description(): String = scan.description()
  override def estimateStatistics(): Statistics = scan.estimateStatistics()
  override def outputPartitioning(): Partitioning = scan.outputPartitioning()
  override def supportedCustomMetrics(): Array[CustomMetric] = scan.supportedCustomMetrics()
  override def reportDriverMetrics(): Array[CustomTaskMetric] = scan.reportDriverMetrics()
}
