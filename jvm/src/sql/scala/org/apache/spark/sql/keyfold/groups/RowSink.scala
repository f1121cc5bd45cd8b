package org.apache.spark.sql.keyfold.groups

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.ObjectNode
import keyfold.spark.{Json, KeyfoldException}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, UnsafeRow}
import org.apache.spark.sql.keyfold.TaskWorker
import org.apache.spark.sql.keyfold.arrow.ArrowBatchReader
import org.apache.spark.unsafe.Platform
import org.apache.spark.unsafe.types.UTF8String

/** Executor side: the rows of a task on their way to a worker, written column by column into memory that both share. Each
  * column is put once for a row, until `done` says that the row is in. Code that is generated for a query calls it.
  */
final class RowSink(forms: IndexedSeq[SharedColumn], areNullable: IndexedSeq[Boolean], question: JsonNode) {
  import RowSink._

  private val valid, ends, data = new Array[Long](forms.size) // addresses in the slot that is filled
  private val filled = new Array[Int](forms.size) // bytes of the columns without a width
  private val hasNulls = new Array[Boolean](forms.size)
  private var area: FoldArea = _
  private var worker: TaskWorker = _
  private var slot, row, unanswered = 0
  private var tight = -1L // the bytes for which there was no room
  private var full = false

  /** The messages with rows, for the figures of the UI. */
  var batches = 0L

  /** The row that hands this sink to the operator above, or says that the groups are to be taken away. */
  val marker: InternalRow = new GenericInternalRow(Array[Any](this))

  def isOpen: Boolean = worker != null

  /** Before the first row, or where there is none. */
  def open(): Unit = {
    area = new FoldArea(forms, FirstRoom)
    try {
      val asked = question.deepCopy[ObjectNode]()
      worker = new TaskWorker(asked.set[JsonNode]("area", area.json), () => area.close())
      area.opened()
    } catch {
      case failure: Throwable =>
        area.close()
        throw failure
    }
    begin()
  }

  private def begin(): Unit = {
    val start = area.address + slot * area.slot
    forms.indices.foreach { column =>
      val place = area.places(column)
      valid(column) = start + place._1
      ends(column) = start + place._2
      data(column) = start + place._3
      filled(column) = 0
      hasNulls(column) = false
      if (areNullable(column)) Platform.setMemory(null, valid(column), FoldArea.Rows.toLong, 1.toByte)
    }
    row = 0
  }

  def putByte(column: Int, value: Byte): Unit = Platform.putByte(null, data(column) + row, value)
  def putShort(column: Int, value: Short): Unit = Platform.putShort(null, data(column) + 2L * row, value)
  def putInt(column: Int, value: Int): Unit = Platform.putInt(null, data(column) + 4L * row, value)
  def putLong(column: Int, value: Long): Unit = Platform.putLong(null, data(column) + 8L * row, value)
  def putFloat(column: Int, value: Float): Unit = Platform.putFloat(null, data(column) + 4L * row, value)
  def putDouble(column: Int, value: Double): Unit = Platform.putDouble(null, data(column) + 8L * row, value)
  def putText(column: Int, value: UTF8String): Unit =
    put(column, value.getBaseObject, value.getBaseOffset, value.numBytes)
  def putBytes(column: Int, value: Array[Byte]): Unit = put(column, value, Platform.BYTE_ARRAY_OFFSET.toLong, value.length)
  def putRow(column: Int, value: UnsafeRow): Unit =
    put(column, value.getBaseObject, value.getBaseOffset, value.getSizeInBytes)

  def putNull(column: Int): Unit = {
    Platform.putByte(null, valid(column) + row, 0)
    hasNulls(column) = true
    if (forms(column).width == 0) Platform.putInt(null, ends(column) + 4L * row, filled(column))
  }

  private def put(column: Int, base: AnyRef, offset: Long, size: Int): Unit = {
    val stop = filled(column).toLong + size
    if (stop > area.room) tight = Math.max(tight, size.toLong)
    else {
      Platform.copyMemory(base, offset, null, data(column) + filled(column), size.toLong)
      filled(column) = stop.toInt
      Platform.putInt(null, ends(column) + 4L * row, filled(column))
    }
  }

  /** Whether the row that was put is in; if not, there is room now, and all its columns are put again. */
  def done(): Boolean =
    if (tight >= 0) {
      makeRoom()
      false
    } else {
      row += 1
      if (row == FoldArea.Rows) send()
      true
    }

  private def makeRoom(): Unit = {
    val wanted = tight
    tight = -1
    if (row > 0) send()
    else {
      awaitAll()
      grow(wanted)
    }
  }

  private def grow(wanted: Long): Unit = {
    if (wanted > MostRoom) throw new KeyfoldException("NotSupportedError",
      s"an aggregate of a query has a value or a key of $wanted bytes; expected at most $MostRoom")
    val larger = new FoldArea(forms, Integer.highestOneBit(Math.max(wanted.toInt - 1, 1)) * 2)
    try {
      worker.worker.ask(Json.obj("area" -> larger.json)): Unit
      larger.opened()
    } catch {
      case failure: Throwable =>
        larger.close()
        throw failure
    }
    area.close()
    area = larger
    slot = 0
    begin()
  }

  private def send(): Unit = {
    val nulls = forms.indices.filter(hasNulls)
    worker.worker.send(Json.obj("rows" -> row, "slot" -> slot, "nulls" -> nulls))
    batches += 1
    unanswered += 1
    if (unanswered == area.slots) await()
    slot = (slot + 1) % area.slots
    begin()
  }

  private def await(): Unit = {
    full |= worker.worker.answer().path("full").asBoolean
    unanswered -= 1
  }

  private def awaitAll(): Unit = while (unanswered > 0) await()

  /** Whether the groups should be taken away; said once. */
  def isFull: Boolean = full && {
    full = false
    true
  }

  /** Asks for all groups, whose batches come then. */
  def emit(): ArrowBatchReader = {
    if (!isOpen) open()
    if (row > 0) send()
    awaitAll()
    full = false
    worker.worker.ask(Json.obj("emit" -> true)): Unit
    new ArrowBatchReader(worker.worker.in)
  }

  /** The next batch of groups, if there is one. */
  def next(groups: ArrowBatchReader): Boolean = worker.worker.alive(groups.next())

  /** Behind the batches: the bytes that were spilled. */
  def emitted(): Long = worker.worker.answer().path("spilled").asLong
}

object RowSink {
  private val FirstRoom = 1 << 20
  private val MostRoom = 1L << 30
}
