package keyfold.spark.read

import java.util.{Map => JavaMap, Optional}

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.JsonNode
import keyfold.spark.{Json, Settings, Unshown}
import keyfold.spark.table.KeyfoldTable
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReader, PartitionReaderFactory}
import org.apache.spark.sql.connector.read.streaming._
import org.apache.spark.sql.keyfold.arrow.MetadataRows
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.vectorized.ColumnarBatch

/** Driver side: a stream of what changes in a table. `changes` says in Python's words as what: rows, changes, an
  * audit log. Python decides where it begins and how far a batch goes; its offsets are opaque here. With an `origin`
  * it is that stream for Spark, of which one batch reads some columns.
  */
final class KeyfoldStream(
    table: KeyfoldTable,
    columns: StructType,
    changes: JsonNode,
    options: Map[String, String],
    origin: Option[KeyfoldStream] = None)
    extends MicroBatchStream with SupportsTriggerAvailableNow with ReportsSourceMetrics {

  private val whole: KeyfoldStream = origin.getOrElse(this)
  private val limited: Boolean = origin.fold(ask("open_stream").path("limited").asBoolean)(_.limited)
  @volatile private var newest: Option[JsonNode] = None
  @volatile private var until: Option[Long] = None

  override def initialOffset(): Offset = KeyfoldOffset(ask("begin_stream").path("offset").asText)
  override def deserializeOffset(json: String): Offset = KeyfoldOffset(json)

  /** A limit in name alone: Python knows how many files a batch has. */
  override def getDefaultReadLimit: ReadLimit = if (limited) ReadLimit.maxFiles(1) else ReadLimit.allAvailable()

  override def latestOffset(start: Offset, limit: ReadLimit): Offset = {
    val found = ask("following_offset", "start" -> start.json, "until" -> until,
      "limited" -> (limit != ReadLimit.allAvailable()))
    newest = Some(found)
    KeyfoldOffset(found.path("offset").asText)
  }

  override def latestOffset(): Offset =
    throw new UnsupportedOperationException("a stream of keyfold is asked how far a batch goes")

  /** The batches of this query end at the snapshot that is the newest now. */
  override def prepareForTriggerAvailableNow(): Unit =
    until = Some(ask("newest_snapshot").path("snapshot").asLong)

  override def planInputPartitions(start: Offset, end: Offset): Array[InputPartition] = {
    val plan = ask("plan_stream", "start" -> start.json, "end" -> end.json, "columns" -> columns.fieldNames,
      "cores" -> Settings.cores)
    val (question, scan) = (plan.path("question").asText, Json.text(plan.get("scan")))
    Json.strings(plan.get("tasks")).map(StreamPartition(question, scan, _)).toArray
  }

  override def createReaderFactory(): PartitionReaderFactory = KeyfoldStreamReaderFactory

  /** Python notes what was read when it is asked what follows: Spark commits a batch no earlier. */
  override def commit(end: Offset): Unit = ()

  override def stop(): Unit = ()

  /** How far the last batch is behind the table's newest snapshot. */
  override def metrics(latestConsumed: Optional[Offset]): JavaMap[String, String] = {
    val found = for (now <- newest; offset <- Option(latestConsumed.orElse(null))) yield {
      val snapshot = now.path("snapshot").asLong
      Map("newestSnapshot" -> snapshot, "newestSnapshotMillis" -> now.path("millis").asLong,
        "snapshotsBehind" -> Math.max(0L, snapshot - Json.parse(offset.json).path("snapshot").asLong))
    }
    found.getOrElse(Map.empty).map { case (name, number) => name -> number.toString }.asJava
  }

  override def toString: String = s"keyfold ${table.name()}"

  /** This stream, which reads these columns alone. */
  def of(names: Seq[String]): KeyfoldStream =
    new KeyfoldStream(table, StructType(names.map(columns(_))), changes, options, Some(whole))

  /** The progress of a query counts the rows of a stream by it. */
  override def equals(other: Any): Boolean = other match {
    case stream: KeyfoldStream => stream.whole eq whole
    case _ => false
  }
  override def hashCode: Int = System.identityHashCode(whole)

  private def ask(question: String, fields: (String, Any)*): JsonNode = table.questions.ask(question,
    Seq("table" -> table.description.handle, "options" -> options, "changes" -> changes, "zone" -> MetadataRows.zone)
      ++ fields: _*)
}

object KeyfoldStream {
  /** The rows of a table, as they are after a change. */
  val Rows: JsonNode = Json.obj("view" -> "rows")
}

/** Driver side: how far a stream has read, in Python's words. */
final case class KeyfoldOffset(override val json: String) extends Offset

/** Both sides: the splits of one task of a batch, with what the tasks of a batch share. */
final case class StreamPartition(question: String, scan: String, splits: String) extends InputPartition with Unshown

/** Executor side: opens readers of any batch of a stream. */
case object KeyfoldStreamReaderFactory extends BatchReaderFactory {
  override def createColumnarReader(partition: InputPartition): PartitionReader[ColumnarBatch] = {
    val task = partition.asInstanceOf[StreamPartition]
    new KeyfoldPartitionReader(task.scan, task.splits, task.question)
  }
}
