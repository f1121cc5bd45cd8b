package keyfold.spark

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types._

/** Both sides: the bucket of a row as Paimon computes it: murmur3 over the row's BinaryRow, which is
  * hashed word by word and never built. `fields` are the types of the row's columns from `first` on.
  */
final class BucketHash(fields: Array[DataType], first: Int = 0) extends Serializable {
  import BucketHash._

  private val fixedBytes = (fields.length + 8 + 63) / 64 * 8 + fields.length * 8

  def hash(row: InternalRow): Int = {
    var state = Seed
    state = nullBits(row, state)
    var offset = fixedBytes
    var i = 0
    while (i < fields.length) {
      state = mixLong(state, slot(row, i, offset))
      offset += varBytes(row, i)
      i += 1
    }
    i = 0
    while (i < fields.length) {
      state = mixVar(state, row, i)
      i += 1
    }
    finish(state, offset)
  }

  private def nullBits(row: InternalRow, start: Int): Int = {
    var state = start
    var word = 0
    while (word < (fields.length + 8 + 63) / 64) {
      var bits = 0L
      for (bit <- 0 until 64) {
        val field = word * 64 + bit - 8
        if (field >= 0 && field < fields.length && row.isNullAt(first + field)) bits |= 1L << bit
      }
      state = mixLong(state, bits)
      word += 1
    }
    state
  }

  /** The eight bytes of a field in the fixed part; values that don't fit stand at `offset`. */
  private def slot(row: InternalRow, i: Int, offset: Int): Long = {
    val at = first + i
    if (row.isNullAt(at)) 0L
    else fields(i) match {
      case BooleanType => if (row.getBoolean(at)) 1L else 0L
      case ByteType => row.getByte(at) & 0xffL
      case ShortType => row.getShort(at) & 0xffffL
      case IntegerType | DateType => row.getInt(at) & 0xffffffffL
      case LongType => row.getLong(at)
      case FloatType => java.lang.Float.floatToRawIntBits(row.getFloat(at)) & 0xffffffffL
      case DoubleType => java.lang.Double.doubleToRawLongBits(row.getDouble(at))
      case d: DecimalType if d.precision <= 18 => row.getDecimal(at, d.precision, d.scale).toUnscaledLong
      case d: DecimalType => pointer(offset, unscaled(row, at, d).length)
      case TimestampType | TimestampNTZType => pointer(offset, Math.floorMod(row.getLong(at), 1000L).toInt * 1000)
      case _ =>
        val bytes = text(row, i)
        if (bytes.length > 7) pointer(offset, bytes.length)
        else word(bytes, 0) | (0x80L | bytes.length) << 56
    }
  }

  private def varBytes(row: InternalRow, i: Int): Int = fields(i) match {
    case d: DecimalType if d.precision > 18 => 16
    case TimestampType | TimestampNTZType => 8
    case _: StringType | BinaryType if !row.isNullAt(first + i) =>
      val length = text(row, i).length
      if (length > 7) (length + 7) / 8 * 8 else 0
    case _ => 0
  }

  private def mixVar(state: Int, row: InternalRow, i: Int): Int = {
    val length = varBytes(row, i)
    if (length == 0) state
    else if (row.isNullAt(first + i)) mixBytes(state, Array.emptyByteArray, length)
    else fields(i) match {
      case d: DecimalType => mixBytes(state, unscaled(row, first + i, d), length)
      case TimestampType | TimestampNTZType => mixLong(state, Math.floorDiv(row.getLong(first + i), 1000L))
      case _ => mixBytes(state, text(row, i), length)
    }
  }

  private def text(row: InternalRow, i: Int): Array[Byte] = fields(i) match {
    case _: StringType => row.getUTF8String(first + i).getBytes
    case _ => row.getBinary(first + i)
  }
}

object BucketHash {
  private val Seed = 42

  /** The bucket of a hash. */
  def bucket(hash: Int, buckets: Int): Int = Math.abs(hash % buckets)

  /** The hash of one row of the given types, given as Spark DDL and as Spark's internal values. */
  def of(ddl: String, values: Seq[Any]): Int =
    new BucketHash(StructType.fromDDL(ddl).fields.map(_.dataType)).hash(InternalRow.fromSeq(values))

  private def pointer(offset: Int, low: Int): Long = offset.toLong << 32 | low & 0xffffffffL

  private def unscaled(row: InternalRow, at: Int, d: DecimalType): Array[Byte] =
    row.getDecimal(at, d.precision, d.scale).toJavaBigDecimal.unscaledValue.toByteArray

  /** Eight bytes from `start`, little endian, zeros beyond the end. */
  private def word(bytes: Array[Byte], start: Int): Long = {
    var value = 0L
    var i = Math.min(bytes.length, start + 8) - 1
    while (i >= start) {
      value = value << 8 | bytes(i) & 0xffL
      i -= 1
    }
    value
  }

  private def mixBytes(start: Int, bytes: Array[Byte], padded: Int): Int = {
    var state = start
    var at = 0
    while (at < padded) {
      state = mixLong(state, word(bytes, at))
      at += 8
    }
    state
  }

  private def mixLong(state: Int, value: Long): Int = mix(mix(state, value.toInt), (value >>> 32).toInt)

  private def mix(state: Int, word: Int): Int =
    Integer.rotateLeft(state ^ Integer.rotateLeft(word * 0xcc9e2d51, 15) * 0x1b873593, 13) * 5 + 0xe6546b64

  private def finish(state: Int, length: Int): Int = {
    var h = state ^ length
    h = (h ^ h >>> 16) * 0x85ebca6b
    h = (h ^ h >>> 13) * 0xc2b2ae35
    h ^ h >>> 16
  }
}
