package keyfold.spark

import keyfold.spark.buckets.{BinaryField, Murmur}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types.{DataType, StructType}
import org.apache.spark.unsafe.types.UTF8String

/** Both sides: the hash by which Paimon puts a row into a bucket: murmur3 over the BinaryRow of the
  * bucket key, which is hashed word by word and never built. `types` are those of the row's columns
  * from `first` on.
  */
final class BucketHash(types: Array[DataType], first: Int = 0) extends Serializable {
  private val fields = types.zipWithIndex.map { case (dataType, i) => BinaryField(dataType, first + i) }
  private val headerWords = (fields.length + 8 + 63) / 64
  private val fixedBytes = (headerWords + fields.length) * 8

  def hash(row: InternalRow): Int = {
    var state = mixHeader(Murmur.Seed, row)
    var offset = fixedBytes
    var i = 0
    while (i < fields.length) {
      val field = fields(i)
      state = Murmur.mixLong(state, if (row.isNullAt(field.at)) field.nullSlot(offset) else field.slot(row, offset))
      offset += field.varBytes(row)
      i += 1
    }
    if (offset > fixedBytes) state = mixVariable(state, row)
    Murmur.finish(state, offset)
  }

  /** The row kind +I (zero) and, from bit 8 on, a bit for each null. */
  private def mixHeader(start: Int, row: InternalRow): Int = {
    var state = start
    var bits = 0L
    var bit = 8
    var i = 0
    while (i < fields.length) {
      if (row.isNullAt(fields(i).at)) bits |= 1L << bit
      i += 1
      bit += 1
      if (bit % 64 == 0) {
        state = Murmur.mixLong(state, bits)
        bits = 0L
      }
    }
    if (bit % 64 == 0) state else Murmur.mixLong(state, bits)
  }

  private def mixVariable(start: Int, row: InternalRow): Int = {
    var state = start
    var i = 0
    while (i < fields.length) {
      state = fields(i).mixVar(state, row)
      i += 1
    }
    state
  }
}

object BucketHash {
  /** The bucket of a hash. */
  def bucket(hash: Int, buckets: Int): Int = Math.abs(hash % buckets)

  /** The hash of one value of eight bytes or fewer. */
  def ofWord(word: Long): Int = Murmur.finish(mixAlone(word), 16)

  /** The hash of one string. */
  def ofText(text: UTF8String): Int = {
    val length = text.numBytes
    if (length <= 7)
      ofWord(Murmur.shortWord(text.getBaseObject, text.getBaseOffset, length) | (0x80L | length) << 56)
    else {
      val fixed = mixAlone(16L << 32 | length)
      Murmur.finish(Murmur.mixBytes(fixed, text.getBaseObject, text.getBaseOffset, length), 16 + (length + 7) / 8 * 8)
    }
  }

  /** The header of a row of one field that is not null, then the field. */
  private def mixAlone(word: Long): Int = Murmur.mixLong(Murmur.mixLong(Murmur.Seed, 0L), word)

  /** The hash of a whole row. */
  def ofRow(schema: StructType, row: InternalRow): Int = new BucketHash(schema.fields.map(_.dataType)).hash(row)
}
