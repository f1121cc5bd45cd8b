package keyfold.spark.buckets

import org.apache.spark.unsafe.Platform

/** Both sides: murmur3 (32 bits) over words of four bytes, little endian, as Paimon uses it. */
object Murmur {
  val Seed = 42

  def mixLong(state: Int, value: Long): Int = mix(mix(state, value.toInt), (value >>> 32).toInt)

  /** Mixes bytes, with zeros up to a multiple of eight. */
  def mixBytes(start: Int, base: Object, offset: Long, length: Int): Int = {
    var state = start
    var at = 0
    while (at + 8 <= length) {
      state = mixLong(state, Platform.getLong(base, offset + at))
      at += 8
    }
    if (at < length) mixLong(state, shortWord(base, offset + at, length - at)) else state
  }

  /** Fewer than eight bytes as a little-endian number. */
  def shortWord(base: Object, offset: Long, length: Int): Long = {
    var value = 0L
    var i = length - 1
    while (i >= 0) {
      value = value << 8 | Platform.getByte(base, offset + i) & 0xffL
      i -= 1
    }
    value
  }

  def finish(state: Int, length: Int): Int = {
    var h = state ^ length
    h = (h ^ h >>> 16) * 0x85ebca6b
    h = (h ^ h >>> 13) * 0xc2b2ae35
    h ^ h >>> 16
  }

  private def mix(state: Int, word: Int): Int =
    Integer.rotateLeft(state ^ Integer.rotateLeft(word * 0xcc9e2d51, 15) * 0x1b873593, 13) * 5 + 0xe6546b64
}
