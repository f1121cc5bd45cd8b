package keyfold.spark.metrics

import java.util.Locale

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.JsonNode
import org.apache.spark.sql.connector.metric.{CustomMetric, CustomTaskMetric}

/** Both sides: the figures of scans and writes in Spark's UI, under Python's names for them. Planning
  * reports which files are read, a task what it did with them. Spark makes one of each class by its name.
  */
object ScanMetrics {
  private val planned: Seq[CustomMetric] = Seq(new FilesRead, new FilesSkipped, new FileBytes)
  private val ofTasks: Seq[CustomMetric] = Seq(new RowsIntoMerge, new RowsOutOfMerge, new GroupsSent, new MergedRuns,
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
  def declared: Array[CustomMetric] = Array(new RowsIntoMerge, new RowsWritten, new FilesWritten, new BytesWritten,
    new MergeTime, new EncodeTime, new BridgeTime, new BridgeBytes, new PeakMemory, new PassedOver)

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

/** Driver side: one figure, under Python's name for it. */
abstract class Named(override val name: String, override val description: String) extends CustomMetric {
  def shown(value: Long): String = value.toString
  override def aggregateTaskMetrics(values: Array[Long]): String = shown(values.sum)
}

/** Driver side: nanoseconds, shown in milliseconds. */
abstract class Time(name: String, description: String) extends Named(name, description) {
  override def shown(nanos: Long): String =
    String.format(Locale.ROOT, if (nanos < 10e6) "%.3f ms" else "%.0f ms", Double.box(nanos / 1e6))
}

abstract class Bytes(name: String, description: String) extends Named(name, description) {
  override def shown(bytes: Long): String = {
    val power = Iterator.iterate(bytes)(_ / 1024).takeWhile(_ >= 1024).size.min(Bytes.Units.size - 1)
    if (power == 0) s"$bytes B"
    else String.format(Locale.ROOT, "%.1f %s", Double.box(bytes / math.pow(1024, power.toDouble)), Bytes.Units(power))
  }
}

object Bytes {
  private val Units = Seq("B", "KiB", "MiB", "GiB", "TiB")
}

/** Driver side: the greatest value of any task in place of their sum. */
trait Most extends Named {
  override def aggregateTaskMetrics(values: Array[Long]): String = shown(values.maxOption.getOrElse(0L))
}

final class RowsIntoMerge extends Named("rows_in", "rows into merge")
final class RowsOutOfMerge extends Named("rows_out", "rows out of merge")
final class GroupsSent extends Named("groups", "groups sent in place of rows")
final class MergedRuns extends Named("runs", "runs merged at once (most)") with Most
final class FilesRead extends Named("files", "files read")
final class FilesSkipped extends Named("files_skipped", "files skipped")
final class FileBytes extends Bytes("bytes", "size of files read")
final class RowsWritten extends Named("rows_out", "rows written")
final class FilesWritten extends Named("files", "files written")
final class BytesWritten extends Bytes("bytes", "size of files written")
final class PassedOver extends Named("passed_over", "written before, so passed over")
final class DecodeTime extends Time("decode_nanos", "time to decode files")
final class MergeTime extends Time("merge_nanos", "time to merge")
final class EncodeTime extends Time("encode_nanos", "time to encode files")
final class BridgeTime extends Time("socket_nanos", "time at the bridge to Python")
final class BridgeBytes extends Bytes("arrow_bytes", "bytes over the bridge to Python")
final class PeakMemory extends Bytes("peak_bytes", "peak memory of a worker (most)") with Most
