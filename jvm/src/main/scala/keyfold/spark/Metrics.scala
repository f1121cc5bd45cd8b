package keyfold.spark

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.JsonNode
import org.apache.spark.sql.connector.metric.{CustomMetric, CustomSumMetric, CustomTaskMetric}

/** Both sides: what workers report of a read in their closing answer, under their names for it; Spark
  * makes one of each class for its UI.
  */
object ReadMetrics {
  def declared: Array[CustomMetric] = Array(new BytesReceived, new BatchesReceived, new WorkTime, new SocketTime)

  private val names = declared.map(_.name).toSet

  def values(reported: JsonNode): Array[CustomTaskMetric] =
    reported.properties.asScala.filter(field => names(field.getKey))
      .map(field => ReadMetric(field.getKey, field.getValue.asLong): CustomTaskMetric).toArray
}

final case class ReadMetric(override val name: String, override val value: Long) extends CustomTaskMetric

final class BytesReceived extends CustomSumMetric {
  override def name(): String = "bytes"
  override def description(): String = "bytes from Python"
}

final class BatchesReceived extends CustomSumMetric {
  override def name(): String = "batches"
  override def description(): String = "batches from Python"
}

abstract class Nanoseconds extends CustomMetric {
  override def aggregateTaskMetrics(values: Array[Long]): String = s"${values.sum / 1000000} ms"
}

final class WorkTime extends Nanoseconds {
  override def name(): String = "work_nanos"
  override def description(): String = "time Python took to make batches"
}

final class SocketTime extends Nanoseconds {
  override def name(): String = "socket_nanos"
  override def description(): String = "time Python took to send batches"
}
