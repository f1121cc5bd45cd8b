package keyfold.spark

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.JsonNode
import org.apache.spark.sql.connector.metric.{CustomMetric, CustomSumMetric, CustomTaskMetric}

/** Both sides: a number that workers report, summed over tasks in the UI. */
abstract class ReadMetric(val name: String, val description: String) extends CustomSumMetric

final class RowsIn extends ReadMetric("rows_in", "rows read from files, before the merge")
final class FilesRead extends ReadMetric("files", "data files read")
final class BytesRead extends ReadMetric("bytes", "bytes of data files read")

/** Both sides: the metrics of a read, under the names workers use in their closing answer. */
object ReadMetrics {
  def declared: Array[CustomMetric] = Array(new RowsIn, new FilesRead, new BytesRead)

  private val names = declared.map(_.name).toSet

  def values(reported: JsonNode): Array[CustomTaskMetric] =
    reported.properties.asScala.filter(field => names(field.getKey))
      .map(field => ReadMetricValue(field.getKey, field.getValue.asLong): CustomTaskMetric).toArray
}

final case class ReadMetricValue(override val name: String, override val value: Long) extends CustomTaskMetric
