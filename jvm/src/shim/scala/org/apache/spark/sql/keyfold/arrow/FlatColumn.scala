package org.apache.spark.sql.keyfold.arrow

import org.apache.arrow.vector.{BaseFixedWidthVector, BaseVariableWidthVector, BitVector, DecimalVector, FieldVector}
import org.apache.spark.sql.types.Decimal
import org.apache.spark.sql.util.ArrowUtils
import org.apache.spark.sql.vectorized.{ColumnVector, ColumnarArray, ColumnarMap}
import org.apache.spark.unsafe.Platform
import org.apache.spark.unsafe.types.UTF8String

/** Executor side: an Arrow column of numbers, booleans, texts or bytes, read at its memory addresses.
  * Spark's ArrowColumnVector checks bounds and validity in every call; here a column without nulls,
  * as most are, costs one load a value. `bind` is due after each batch that is loaded.
  */
final class FlatColumn(vector: FieldVector) extends ColumnVector(ArrowUtils.fromArrowField(vector.getField)) {
  private val isText = vector.isInstanceOf[BaseVariableWidthVector]
  private val isBits = vector.isInstanceOf[BitVector]
  private var nulls = 0
  private var validity = 0L
  private var values = 0L
  private var offsets = 0L

  def bind(): Unit = {
    nulls = vector.getNullCount
    validity = vector.getValidityBufferAddress
    values = vector.getDataBufferAddress
    if (isText) offsets = vector.getOffsetBufferAddress
  }

  override def hasNull: Boolean = nulls > 0
  override def numNulls: Int = nulls
  override def isNullAt(row: Int): Boolean = nulls > 0 && !bit(validity, row)

  override def getBoolean(row: Int): Boolean =
    if (isBits) bit(values, row) else Platform.getByte(null, values + row) != 0
  override def getByte(row: Int): Byte = Platform.getByte(null, values + row)
  override def getShort(row: Int): Short = Platform.getShort(null, values + row * 2L)
  override def getInt(row: Int): Int = Platform.getInt(null, values + row * 4L)
  override def getLong(row: Int): Long = Platform.getLong(null, values + row * 8L)
  override def getFloat(row: Int): Float = Platform.getFloat(null, values + row * 4L)
  override def getDouble(row: Int): Double = Platform.getDouble(null, values + row * 8L)

  override def getUTF8String(row: Int): UTF8String =
    if (isNullAt(row)) null
    else {
      val start = offset(row)
      UTF8String.fromAddress(null, values + start, offset(row + 1) - start)
    }

  override def getBinary(row: Int): Array[Byte] =
    if (isNullAt(row)) null
    else {
      val start = offset(row)
      val bytes = new Array[Byte](offset(row + 1) - start)
      Platform.copyMemory(null, values + start, bytes, Platform.BYTE_ARRAY_OFFSET, bytes.length.toLong)
      bytes
    }

  /** Decimals of 18 digits or less are the low half of Arrow's 128 bits. */
  override def getDecimal(row: Int, precision: Int, scale: Int): Decimal =
    if (isNullAt(row)) null
    else if (precision <= Decimal.MAX_LONG_DIGITS)
      Decimal.createUnsafe(Platform.getLong(null, values + row * 16L), precision, scale)
    else Decimal(vector.asInstanceOf[DecimalVector].getObjectNotNull(row), precision, scale)

  override def getArray(row: Int): ColumnarArray = throw nested
  override def getMap(row: Int): ColumnarMap = throw nested
  override def getChild(ordinal: Int): ColumnVector = throw nested

  /** The stream that loads the vector frees it. */
  override def close(): Unit = ()
  override def closeIfFreeable(): Unit = ()

  private def nested = new UnsupportedOperationException(s"a $dataType column holds no values inside its values")
  private def offset(row: Int): Int = Platform.getInt(null, offsets + row * 4L)
  private def bit(bits: Long, row: Int): Boolean =
    (Platform.getByte(null, bits + (row >> 3)) >> (row & 7) & 1) != 0
}

object FlatColumn {
  /** Whether the vector has a layout that is read here; others are Spark's ArrowColumnVector. */
  def reads(vector: FieldVector): Boolean = vector match {
    case _: BaseFixedWidthVector | _: BaseVariableWidthVector => true
    case _ => false
  }
}
