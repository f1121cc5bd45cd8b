package org.apache.spark.sql.keyfold.aggregates

import com.fasterxml.jackson.databind.JsonNode
import keyfold.spark.Json
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, JoinedRow, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.keyfold.arrow.ArrowBatchWriter
import org.apache.spark.sql.types._

/** Executor side: one fold of a batcher: rows and payloads on their way to the worker, and results of many groups
  * that came in one answer. Groups are numbered as they come; Python numbers them from the first that it has.
  */
final class FoldColumn(batcher: FoldBatcher, function: FoldFunction, index: Int) {
  import FoldColumn._

  private val rows = new Outgoing(batcher, Json.obj("rows" -> index),
    Seq(StructField("a0", function.argument.dataType)))
  private val payloads = new Outgoing(batcher, Json.obj("states" -> index), Seq(StructField("state", BinaryType)))
  private val payload = new GenericInternalRow(1)
  private lazy val packed = UnsafeProjection.create(Array[DataType](function.value))
  private var groups, start = 0
  private var first = 0L
  private var seen, goesOn = -1L // the group that a window has seen, and the one that goes on from such a group
  private var results = Array.empty[AnyRef] // of groups that follow each other, from `start` on
  private var form = ""
  private var ofGroup = FirstBytes

  def newGroup(): Long = {
    groups += 1
    first + groups - 1
  }

  /** A window takes the number of a group as it is now: the next row of it begins a group that goes on from it. */
  def see(group: Long): Long = {
    seen = group
    group
  }

  /** Forgets all groups, there and here. */
  def restart(): Unit = if (groups > 0) batcher.clear()

  /** Adds a row; the group that it is in then. */
  def add(to: Long, arguments: UnsafeRow): Long = {
    changes()
    payloads.send() // Python folds in the order of messages
    if (to == seen) goesOn = newGroup()
    val group = if (to == seen) goesOn else to
    rows.write(if (group == goesOn) ~place(group) else place(group), arguments)
    group
  }

  private def place(group: Long): Int = (group - first).toInt

  /** Forgets the groups of windows before the last. */
  def forget(): Unit = if (groups > 1) {
    flush()
    batcher.worker.send(Json.obj("forget" -> index, "last" -> (groups - 1)))
    first += groups - 1
    groups = 1
    changes()
  }

  /** Takes in what another task has folded; nothing if it had no rows. */
  def merge(group: Long, state: Array[Byte]): Unit = if (state != null) {
    changes()
    rows.send()
    payload.update(0, state)
    payloads.write(place(group), payload)
  }

  private def changes(): Unit = if (results.nonEmpty) results = Array.empty

  /** The payload of a group; null if there never was a row. */
  def state(group: Long): Array[Byte] = if (batcher.isOpen) result(place(group), "state").asInstanceOf[Array[Byte]] else null

  /** The value of a group, as Spark holds values. Spark's optimizer asks too, of no rows and without a task. */
  def value(group: Long): Any =
    if (batcher.isOpen) {
      val row = result(place(group), "value").asInstanceOf[UnsafeRow]
      if (row.isNullAt(0)) null else row.get(0, function.value)
    } else function.defaultResult.map(_.value).orNull

  /** Folds all rows, and gets results of the first groups. */
  def foldAll(form: String): Unit = if (groups > 0 && batcher.isOpen) result(0, form): Unit

  private def result(group: Int, wanted: String): AnyRef = {
    if (group < start || group - start >= results.length || form != wanted) fetch(group, wanted)
    results(group - start)
  }

  /** The results of groups from this one on, at most 16 MiB by the size of those seen before. */
  private def fetch(from: Int, wanted: String): Unit = {
    flush()
    start = from
    form = wanted
    val until = Math.min(groups.toLong, from + Math.max(1, Math.min(MostGroups, MostBytes / ofGroup))).toInt
    results = new Array[AnyRef](until - from)
    var at = 0
    var bytes = 0L
    batcher.take(index, form, from, until) { batch =>
      for (row <- 0 until batch.numRows) {
        results(at) = if (form == "state") batch.column(0).getBinary(row) else packed(batch.getRow(row)).copy()
        bytes += size(results(at))
        at += 1
      }
    }: Unit
    results = results.take(at) // of large ones in a window fewer than asked for
    ofGroup = Math.max(1, bytes / at)
  }

  def flush(): Unit = {
    rows.send()
    payloads.send()
  }

  def clear(): Unit = {
    rows.forget()
    payloads.forget()
    groups = 0
    changes()
  }

  def close(): Unit = {
    rows.close()
    payloads.close()
  }
}

object FoldColumn {
  private val MostGroups = 1L << 16
  private val MostBytes = 16L << 20
  private val FirstBytes = 1L << 12

  private def size(result: AnyRef): Long = 16 + (result match {
    case row: UnsafeRow => row.getSizeInBytes
    case bytes: Array[Byte] => bytes.length
    case _ => 0
  })
}

/** Executor side: numbered rows of one kind for the worker; each message that announces them has a stream of its own. */
final class Outgoing(batcher: FoldBatcher, frame: JsonNode, fields: Seq[StructField]) {
  private val number = new GenericInternalRow(1)
  private val joined = new JoinedRow
  private var writer: Option[ArrowBatchWriter] = None
  private var isEmpty = true

  def write(group: Int, row: InternalRow): Unit = {
    number.update(0, group)
    isEmpty = false
    if (opened.write(joined(number, row))) send()
  }

  private def opened: ArrowBatchWriter = writer.getOrElse {
    val schema = StructType(StructField("group", IntegerType, nullable = false) +: fields)
    writer = Some(new ArrowBatchWriter(schema, batcher.worker.out))
    writer.get
  }

  def send(): Unit = if (!isEmpty) {
    isEmpty = true
    batcher.send(frame)(writer.foreach(_.finish()))
  }

  def forget(): Unit = if (!isEmpty) {
    isEmpty = true
    writer.foreach(_.clear())
  }

  def close(): Unit = writer.foreach(_.close())
}
