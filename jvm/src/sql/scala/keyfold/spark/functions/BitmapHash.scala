package keyfold.spark.functions

import org.apache.spark.sql.types.{BinaryType, StringType}
import org.apache.spark.unsafe.hash.Murmur3_x86_32
import org.apache.spark.unsafe.types.UTF8String

/** Executor side: the bitmap of a text's MurmurHash3, with Doris' seed, so that both give the same number. */
object BitmapHash extends Scalar[Array[Byte]](About("bitmap_hash", "(STRING) bitmap", "an empty bitmap",
      "the bitmap of a text's 32-bit MurmurHash3; two texts can have one hash"), BinaryType, StringType) {
  private val Seed = 104729

  def invoke(text: UTF8String): Array[Byte] = {
    val bitmap = new Bitmap
    if (text != null) bitmap.add(
      Murmur3_x86_32.hashUnsafeBytes2(text.getBaseObject, text.getBaseOffset, text.numBytes, Seed) & 0xffffffffL)
    bitmap.toBytes
  }
}

/** Executor side: the bitmap of a text's 64-bit MurmurHash3. */
object BitmapHash64 extends Scalar[Array[Byte]](About("bitmap_hash64", "(STRING) bitmap", "an empty bitmap",
      "the bitmap of a text's 64-bit MurmurHash3"), BinaryType, StringType) {
  def invoke(text: UTF8String): Array[Byte] = {
    val bitmap = new Bitmap
    if (text != null) bitmap.add(Murmur64.hash(text.getBytes))
    bitmap.toBytes
  }
}

/** Executor side: one lane of MurmurHash3's 128-bit variant over words of 8 bytes, seed 0, as Doris has it. */
object Murmur64 {
  def hash(bytes: Array[Byte]): Long = {
    val whole = bytes.length / 8 * 8
    var h = 0L
    for (start <- 0 until whole by 8) {
      h ^= mixed(word(bytes, start, 8))
      h = java.lang.Long.rotateLeft(h, 27) * 5 + 0x52dce729L
    }
    if (whole < bytes.length) h ^= mixed(word(bytes, whole, bytes.length - whole))
    finished(h ^ bytes.length)
  }

  private def word(bytes: Array[Byte], start: Int, length: Int): Long =
    (0 until length).foldLeft(0L)((word, i) => word | (bytes(start + i) & 0xffL) << 8 * i)

  private def mixed(word: Long): Long =
    java.lang.Long.rotateLeft(word * 0x87c37b91114253d5L, 31) * 0x4cf5ad432745937fL

  private def finished(hash: Long): Long = {
    var h = hash
    h = (h ^ h >>> 33) * 0xff51afd7ed558ccdL
    h = (h ^ h >>> 33) * 0xc4ceb9fe1a85ec53L
    h ^ h >>> 33
  }
}
