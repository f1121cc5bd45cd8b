package keyfold.spark.buckets

import java.lang.Double.doubleToRawLongBits
import java.lang.Float.floatToRawIntBits

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.Platform
import org.apache.spark.unsafe.types.UTF8String

/** Both sides: one field of Paimon's BinaryRow: eight bytes in the fixed part, which for a value that
  * does not fit give its place in the variable part.
  */
sealed abstract class BinaryField(val at: Int) extends Serializable {
  /** The eight bytes of a value that is not null; `offset` is where its variable part would begin. */
  def slot(row: InternalRow, offset: Int): Long
  /** The eight bytes of NULL: where a variable part of fixed size is kept free, they say where. */
  def nullSlot(offset: Int): Long = 0L
  def varBytes(row: InternalRow): Int
  def mixVar(state: Int, row: InternalRow): Int

  protected def pointer(offset: Int, low: Int): Long = offset.toLong << 32 | low & 0xffffffffL
}

object BinaryField {
  def apply(dataType: DataType, at: Int): BinaryField = dataType match {
    case BooleanType => new Fixed(at, row => if (row.getBoolean(at)) 1L else 0L)
    case ByteType => new Fixed(at, row => row.getByte(at) & 0xffL)
    case ShortType => new Fixed(at, row => row.getShort(at) & 0xffffL)
    case IntegerType | DateType => new Fixed(at, row => row.getInt(at) & 0xffffffffL)
    case LongType => new Fixed(at, row => row.getLong(at))
    case FloatType => new Fixed(at, row => floatToRawIntBits(row.getFloat(at)) & 0xffffffffL)
    case DoubleType => new Fixed(at, row => doubleToRawLongBits(row.getDouble(at)))
    case d: DecimalType if d.precision <= 18 =>
      new Fixed(at, row => row.getDecimal(at, d.precision, d.scale).toUnscaledLong)
    case d: DecimalType => new WideDecimal(at, d)
    case TimestampType | TimestampNTZType => new Timestamp(at)
    case time: TimeType => new Fixed(at, new TimeOfDay(at, time.precision))
    case _: StringType => new Text(at)
    case BinaryType => new Bytes(at)
    case other => throw new IllegalArgumentException(s"a bucket key cannot be of type ${other.sql}")
  }

  private trait Word extends Serializable {
    def of(row: InternalRow): Long
  }

  /** Milliseconds of a day; digits of a second that the column lacks are left out, as where it is stored. */
  private final class TimeOfDay(at: Int, digits: Int) extends Word {
    private val nanos = Math.pow(10, 9.0 - digits).toLong
    override def of(row: InternalRow): Long = row.getLong(at) / nanos * nanos / 1000000L
  }

  private final class Fixed(at: Int, word: Word) extends BinaryField(at) {
    override def slot(row: InternalRow, offset: Int): Long = word.of(row)
    override def varBytes(row: InternalRow): Int = 0
    override def mixVar(state: Int, row: InternalRow): Int = state
  }

  /** More than 18 digits: big-endian minimal two's complement, in sixteen bytes. */
  private final class WideDecimal(at: Int, d: DecimalType) extends BinaryField(at) {
    override def slot(row: InternalRow, offset: Int): Long = pointer(offset, unscaled(row).length)
    override def nullSlot(offset: Int): Long = pointer(offset, 0)
    override def varBytes(row: InternalRow): Int = 16
    override def mixVar(state: Int, row: InternalRow): Int = {
      val bytes = java.util.Arrays.copyOf(if (row.isNullAt(at)) Array.emptyByteArray else unscaled(row), 16)
      Murmur.mixBytes(state, bytes, Platform.BYTE_ARRAY_OFFSET.toLong, 16)
    }
    private def unscaled(row: InternalRow): Array[Byte] =
      row.getDecimal(at, d.precision, d.scale).toJavaBigDecimal.unscaledValue.toByteArray
  }

  /** Microseconds, as Paimon's TIMESTAMP(6): milliseconds, and nanoseconds within one. */
  private final class Timestamp(at: Int) extends BinaryField(at) {
    override def slot(row: InternalRow, offset: Int): Long =
      pointer(offset, Math.floorMod(row.getLong(at), 1000L).toInt * 1000)
    override def nullSlot(offset: Int): Long = pointer(offset, 0)
    override def varBytes(row: InternalRow): Int = 8
    override def mixVar(state: Int, row: InternalRow): Int =
      Murmur.mixLong(state, if (row.isNullAt(at)) 0L else Math.floorDiv(row.getLong(at), 1000L))
  }

  private final class Text(at: Int) extends OfBytes(at) {
    override protected def length(row: InternalRow): Int = row.getUTF8String(at).numBytes
    override protected def word(row: InternalRow): Long = {
      val text: UTF8String = row.getUTF8String(at)
      Murmur.shortWord(text.getBaseObject, text.getBaseOffset, text.numBytes)
    }
    override protected def mixAll(state: Int, row: InternalRow): Int = {
      val text: UTF8String = row.getUTF8String(at)
      Murmur.mixBytes(state, text.getBaseObject, text.getBaseOffset, text.numBytes)
    }
  }

  private final class Bytes(at: Int) extends OfBytes(at) {
    private val start = Platform.BYTE_ARRAY_OFFSET.toLong
    override protected def length(row: InternalRow): Int = row.getBinary(at).length
    override protected def word(row: InternalRow): Long =
      Murmur.shortWord(row.getBinary(at), start, row.getBinary(at).length)
    override protected def mixAll(state: Int, row: InternalRow): Int =
      Murmur.mixBytes(state, row.getBinary(at), start, row.getBinary(at).length)
  }

  /** Up to seven bytes stand in the fixed part, their number above them; more in the variable part. */
  private abstract class OfBytes(at: Int) extends BinaryField(at) {
    protected def length(row: InternalRow): Int
    protected def word(row: InternalRow): Long
    protected def mixAll(state: Int, row: InternalRow): Int

    override def slot(row: InternalRow, offset: Int): Long = {
      val bytes = length(row)
      if (bytes > 7) pointer(offset, bytes) else word(row) | (0x80L | bytes) << 56
    }
    override def varBytes(row: InternalRow): Int = {
      val bytes = if (row.isNullAt(at)) 0 else length(row)
      if (bytes > 7) (bytes + 7) / 8 * 8 else 0
    }
    override def mixVar(state: Int, row: InternalRow): Int =
      if (row.isNullAt(at) || length(row) <= 7) state else mixAll(state, row)
  }
}
