package org.apache.spark.sql.keyfold.arrow

import java.util.Arrays

import scala.jdk.CollectionConverters._

import org.apache.arrow.vector._
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.execution.arrow.{ArrowFieldWriter, ArrowWriter}
import org.apache.spark.unsafe.Platform

/** Executor side: rows into Arrow vectors. Numbers, texts and bytes are copied to their memory addresses, as FlatColumn
  * reads them; columns of other types go through Spark's writers, which cost a few calls and checks for each value.
  */
final class FlatRows(root: VectorSchemaRoot) {
  import FlatRows._

  private val vectors: Array[FieldVector] = root.getFieldVectors.asScala.toArray
  private val widths = vectors.map(widthOf)
  private val others: Array[ArrowFieldWriter] = vectors.zip(widths).map { case (vector, width) =>
    vector.setInitialCapacity(FirstRows)
    vector.allocateNew()
    if (width == Other) ArrowWriter.createFieldWriter(vector) else null
  }
  private val count = vectors.length
  private val validity, ends, data = new Array[Long](count) // addresses
  private val room, filled = new Array[Long](count) // bytes of texts: what there is place for, and what there is
  private val hasNulls = new Array[Boolean](count)
  private var capacity, rows = 0
  bind()

  private def bind(): Unit = {
    capacity = Int.MaxValue
    vectors.indices.filter(widths(_) != Other).foreach { i =>
      val vector = vectors(i)
      capacity = Math.min(capacity, vector.getValueCapacity)
      validity(i) = vector.getValidityBufferAddress
      data(i) = vector.getDataBufferAddress
      if (widths(i) == Varying) {
        ends(i) = vector.getOffsetBufferAddress
        room(i) = vector.getDataBuffer.capacity
      }
    }
  }

  def write(row: UnsafeRow): Unit = {
    while (rows == capacity) grow()
    val base = row.getBaseObject
    val words = row.getBaseOffset + UnsafeRow.calculateBitSetWidthInBytes(row.numFields)
    var i = 0
    while (i < count) {
      val width = widths(i)
      if (width == Other) others(i).write(row, i)
      else if (row.isNullAt(i)) putNull(i)
      else put(i, width, row, base, words + 8L * i)
      i += 1
    }
    rows += 1
  }

  private def put(i: Int, width: Int, row: UnsafeRow, base: AnyRef, word: Long): Unit = width match {
    case 8 => Platform.putLong(null, data(i) + 8L * rows, Platform.getLong(base, word))
    case 4 => Platform.putInt(null, data(i) + 4L * rows, Platform.getInt(base, word))
    case 2 => Platform.putShort(null, data(i) + 2L * rows, Platform.getShort(base, word))
    case 1 => Platform.putByte(null, data(i) + rows, Platform.getByte(base, word))
    case _ =>
      val place = Platform.getLong(base, word)
      val size = place.toInt
      if (filled(i) + size > room(i)) widen(i, filled(i) + size)
      Platform.copyMemory(base, row.getBaseOffset + (place >>> 32), null, data(i) + filled(i), size.toLong)
      filled(i) += size
      Platform.putInt(null, ends(i) + 4L * rows + 4, filled(i).toInt)
  }

  /** A validity is written at the end of a batch, or from the first NULL on. */
  private def putNull(i: Int): Unit = {
    if (!hasNulls(i)) {
      hasNulls(i) = true
      Platform.setMemory(null, validity(i), (capacity.toLong + 7) / 8, -1)
    }
    val at = validity(i) + (rows >> 3)
    Platform.putByte(null, at, (Platform.getByte(null, at) & ~(1 << (rows & 7))).toByte)
    if (widths(i) == Varying) Platform.putInt(null, ends(i) + 4L * rows + 4, filled(i).toInt)
  }

  private def grow(): Unit = {
    val before = capacity
    vectors.indices.filter(widths(_) != Other).foreach { i =>
      if (vectors(i).getValueCapacity == before) vectors(i) match {
        case texts: BaseVariableWidthVector => texts.reallocValidityAndOffsetBuffers()
        case flat => flat.reAlloc()
      }
    }
    bind()
    vectors.indices.filter(hasNulls(_)).foreach { i =>
      (before until capacity).foreach { row =>
        val at = validity(i) + (row >> 3)
        Platform.putByte(null, at, (Platform.getByte(null, at) | 1 << (row & 7)).toByte)
      }
    }
  }

  private def widen(i: Int, wanted: Long): Unit = {
    vectors(i).asInstanceOf[BaseVariableWidthVector].reallocDataBuffer(Math.max(wanted, 2 * room(i)))
    bind()
  }

  /** The bytes of the rows so far. */
  def size: Long = vectors.indices.map { i =>
    widths(i) match {
      case Other => others(i).getSizeInBytes().toLong
      case Varying => filled(i) + 4L * rows
      case width => width.toLong * rows
    }
  }.sum

  /** Makes the vectors whole. */
  def finish(): Unit = {
    vectors.indices.foreach { i =>
      if (widths(i) == Other) others(i).finish()
      else {
        if (!hasNulls(i)) Platform.setMemory(null, validity(i), (rows.toLong + 7) / 8, -1)
        vectors(i) match {
          case texts: BaseVariableWidthVector => texts.setLastSet(rows - 1)
          case _ =>
        }
        vectors(i).setValueCount(rows)
      }
    }
    root.setRowCount(rows)
  }

  def reset(): Unit = {
    others.foreach(other => if (other != null) other.reset())
    Arrays.fill(filled, 0)
    Arrays.fill(hasNulls, false)
    rows = 0
    root.setRowCount(0)
  }
}

private object FlatRows {
  private val FirstRows = 256
  private val Varying = 0
  private val Other = -1

  private def widthOf(vector: FieldVector): Int = vector match {
    case _: BitVector | _: DecimalVector => Other
    case _: VarCharVector | _: VarBinaryVector => Varying
    case _: BigIntVector | _: Float8Vector | _: TimeStampVector | _: TimeNanoVector => 8
    case _: IntVector | _: Float4Vector | _: DateDayVector => 4
    case _: SmallIntVector => 2
    case _: TinyIntVector => 1
    case _ => Other
  }
}
