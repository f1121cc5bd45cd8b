package keyfold.spark.metrics

import java.util.Locale

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.JsonNode
import org.apache.spark.sql.connector.metric.{CustomMetric, CustomSumMetric, CustomTaskMetric}

/** Both sides: the figures of scans and writes in Spark's UI, under Python's names for them. Planning
  * reports which files are read, a task what it did with them. Spark makes one of each class by its name.
  */
object ScanMetrics {
  private val planned: Seq[CustomMetric] = Seq(new FilesRead, new FilesSkipped, new FileBytes)
  private val ofTasks: Seq[CustomMetric] = Seq(new RowsIntoMerge, new RowsOutOfMerge, new MergedRuns,
    new DecodeTime, new MergeTime, new BridgeTime, new BridgeBytes, new PeakMemory)

  def declared: Array[CustomMetric] = (planned ++ ofTasks).toArray

  def ofPlan(reported: JsonNode): Array[CustomTaskMetric] = Figure.of(reported, planned).toArray
  def ofTask(reported: JsonNode): Array[CustomTaskMetric] = Figure.of(reported, ofTasks).toArray
  def rows(received: Long): CustomTaskMetric = Figure((new RowsOutOfMerge).name, received)
}

/** Driver side: the figures of a write. A task knows them when its files are complete, which is after
  * Spark last asks it: they come with its commit message, and the job reports them together.
  */
object WriteMetrics {
  def declared: Array[CustomMetric] = Array(new RowsReceived, new RowsWritten, new FilesWritten, new BytesWritten,
    new MergeTime, new EncodeTime, new BridgeTime, new BridgeBytes, new PeakMemory)

  def ofJob(tasks: Seq[JsonNode]): Array[CustomTaskMetric] =
    declared.map { metric =>
      val values = tasks.flatMap(Figure.of(_, Seq(metric))).map(_.value)
      Figure(metric.name, if (metric.isInstanceOf[Most]) values.maxOption.getOrElse(0L) else values.sum)
    }
}

/** Both sides: one value. */
final case class Figure(override val name: String, override val value: Long) extends CustomTaskMetric

object Figure {
  def of(reported: JsonNode, metrics: Seq[CustomMetric]): Seq[CustomTaskMetric] = {
    val names = metrics.map(_.name).toSet
    reported.properties.asScala.toSeq.filter(field => names(field.getKey))
      .map(field => Figure(field.getKey, field.getValue.asLong))
  }
}

/** Driver side: a sum of nanoseconds, shown in milliseconds. */
abstract class Time extends CustomMetric {
  override def aggregateTaskMetrics(values: Array[Long]): String = {
    val millis = values.sum / 1e6
    String.format(Locale.ROOT, if (millis < 10) "%.3f ms" else "%.0f ms", Double.box(millis))
  }
}

/** Driver side: the greatest value of any task. */
abstract class Most extends CustomMetric {
  override def aggregateTaskMetrics(values: Array[Long]): String = values.maxOption.getOrElse(0L).toString
}

abstract class Bytes extends CustomMetric {
  override def aggregateTaskMetrics(values: Array[Long]): String = Bytes.shown(values.sum)
}

object Bytes {
  private val Units = Seq("B", "KiB", "MiB", "GiB", "TiB")

  def shown(bytes: Long): String = {
    val power = Iterator.iterate(bytes)(_ / 1024).takeWhile(_ >= 1024).size.min(Units.size - 1)
    if (power == 0) s"$bytes B"
    else String.format(Locale.ROOT, "%.1f %s", Double.box(bytes / math.pow(1024, power.toDouble)), Units(power))
  }
}

final class RowsIntoMerge extends CustomSumMetric {
  override def name(): String = "rows_in"
  override def description(): String = "rows into merge"
}

final class RowsOutOfMerge extends CustomSumMetric {
  override def name(): String = "rows_out"
  override def description(): String = "rows out of merge"
}

final class MergedRuns extends Most {
  override def name(): String = "runs"
  override def description(): String = "runs merged at once (most)"
}

final class FilesRead extends CustomSumMetric {
  override def name(): String = "files"
  override def description(): String = "files read"
}

final class FilesSkipped extends CustomSumMetric {
  override def name(): String = "files_skipped"
  override def description(): String = "files skipped"
}

final class FileBytes extends Bytes {
  override def name(): String = "bytes"
  override def description(): String = "size of files read"
}

final class RowsReceived extends CustomSumMetric {
  override def name(): String = "rows_in"
  override def description(): String = "rows into merge"
}

final class RowsWritten extends CustomSumMetric {
  override def name(): String = "rows_out"
  override def description(): String = "rows written"
}

final class FilesWritten extends CustomSumMetric {
  override def name(): String = "files"
  override def description(): String = "files written"
}

final class BytesWritten extends Bytes {
  override def name(): String = "bytes"
  override def description(): String = "size of files written"
}

final class DecodeTime extends Time {
  override def name(): String = "decode_nanos"
  override def description(): String = "time to decode files"
}

final class MergeTime extends Time {
  override def name(): String = "merge_nanos"
  override def description(): String = "time to merge"
}

final class EncodeTime extends Time {
  override def name(): String = "encode_nanos"
  override def description(): String = "time to encode files"
}

final class BridgeTime extends Time {
  override def name(): String = "socket_nanos"
  override def description(): String = "time at the bridge to Python"
}

final class BridgeBytes extends Bytes {
  override def name(): String = "arrow_bytes"
  override def description(): String = "bytes over the bridge to Python"
}

final class PeakMemory extends Most {
  override def name(): String = "peak_bytes"
  override def description(): String = "peak memory of a worker (most)"
  override def aggregateTaskMetrics(values: Array[Long]): String = Bytes.shown(values.maxOption.getOrElse(0L))
}
