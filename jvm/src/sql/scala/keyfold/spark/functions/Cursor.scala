package keyfold.spark.functions

import java.nio.{ByteBuffer, ByteOrder}

/** Executor side: why bytes are not what they should be. Thrown while guessing forms, so without a stack. */
final class Malformed(reason: String) extends RuntimeException(reason, null, false, false)

/** Executor side: reads untrusted bytes, little endian, never past their end. */
final class Cursor(val bytes: Array[Byte]) {
  private val buffer = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN)

  def at: Int = buffer.position
  def remaining: Int = buffer.remaining

  def u8(): Int = { need(1); buffer.get & 0xff }
  def u16(): Int = { need(2); buffer.getShort & 0xffff }
  def i32(): Int = { need(4); buffer.getInt }
  def u32(): Long = i32() & 0xffffffffL
  def i64(): Long = { need(8); buffer.getLong }
  def f64(): Double = java.lang.Double.longBitsToDouble(i64())

  def skip(count: Int): Unit = { need(count); buffer.position(buffer.position + count): Unit }

  /** The bytes from `from` to here, as their libraries want them. */
  def since(from: Int): ByteBuffer = ByteBuffer.wrap(bytes, from, at - from).slice.order(ByteOrder.LITTLE_ENDIAN)

  def need(count: Long): Unit =
    if (count > remaining) throw new Malformed(s"byte $at of ${bytes.length}: $count more were expected")

  def end(): Unit = if (remaining > 0) throw new Malformed(s"$remaining bytes are left over after byte $at")

  def check(isRight: Boolean, what: => String): Unit = if (!isRight) throw new Malformed(s"byte $at: $what")
}
