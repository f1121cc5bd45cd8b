package keyfold.spark.functions

import java.nio.{ByteBuffer, ByteOrder}

import org.apache.datasketches.memory.Memory
import org.apache.datasketches.tdigest.TDigestDouble

/** Executor side: a state of quantiles: the numbers themselves up to 2048, then a t-digest, which only
  * unions make. Its bytes: 1 (version), u16 compression, then 0, u32 n and n doubles, or 1 and the bytes of a TDigestDouble.
  */
final class QuantileState(compression: Int) {
  def this() = this(QuantileState.LeastCompression)

  private var exact = new Array[Double](1)
  private var count = 0
  private var digest: TDigestDouble = _

  /** NaN has no place among numbers: a t-digest skips it, and so do we. */
  def add(value: Double): Unit = if (!value.isNaN) {
    if (count == exact.length) exact = java.util.Arrays.copyOf(exact, count * 2)
    exact(count) = value
    count += 1
  }

  def isEmpty: Boolean = if (digest == null) count == 0 else digest.isEmpty

  /** Linear between the two nearest numbers while they are known; NaN of an empty state, as in Doris. */
  def quantile(rank: Double): Double =
    if (isEmpty) Double.NaN
    else if (digest != null) digest.getQuantile(rank)
    else {
      java.util.Arrays.sort(exact, 0, count)
      val place = (count - 1) * rank
      val below = place.toInt
      if (below == count - 1) exact(below)
      else exact(below) * (below + 1 - place) + exact(below + 1) * (place - below)
    }

  /** The bytes of numbers. */
  def toBytes: Array[Byte] = {
    val bytes = ByteBuffer.allocate(8 + 8 * count).order(ByteOrder.LITTLE_ENDIAN)
    bytes.put(QuantileState.Version).putShort(compression.toShort).put(0.toByte).putInt(count)
    for (i <- 0 until count) bytes.putDouble(exact(i))
    bytes.array
  }
}

object QuantileState {
  val LeastCompression = 2048
  val MostCompression = 10000
  private val MostExact = 2048
  private val Version: Byte = 1
  private val Family = 20
  private val Small = 3
  private val LeastK = 10
  private val Spare = 30

  /** Doris takes what is out of bounds for its default. */
  def allowed(compression: Double): Int =
    if (compression >= LeastCompression && compression <= MostCompression) compression.toInt else LeastCompression

  def read(bytes: Array[Byte], function: String): QuantileState =
    try read(new Cursor(bytes), bytes)
    catch {
      case bad: RuntimeException => throw BitmapBytes.bad(function, bytes, "not a quantile state", bad.getMessage)
    }

  private def read(cursor: Cursor, bytes: Array[Byte]): QuantileState = {
    val version = cursor.u8()
    cursor.check(version == Version, s"version $version, not $Version")
    val state = new QuantileState(allowed(cursor.u16()))
    val form = cursor.u8()
    cursor.check(form <= 1, s"form $form")
    if (form == 0) {
      val count = cursor.u32()
      cursor.check(count <= MostExact, s"$count exact numbers")
      for (_ <- 0L until count) state.add(cursor.f64())
      cursor.end()
    } else {
      val digest = java.util.Arrays.copyOfRange(bytes, cursor.at, bytes.length)
      checkDigest(new Cursor(digest))
      state.digest = TDigestDouble.heapify(Memory.wrap(digest))
    }
    state
  }

  /** Checks a t-digest, whose library makes room for as many centroids and values as the bytes say. */
  private def checkDigest(cursor: Cursor): Unit = {
    val (words, version, family) = (cursor.u8(), cursor.u8(), cursor.u8())
    val k = cursor.u16()
    val isSmall = (cursor.u8() & Small) != 0
    cursor.skip(2)
    cursor.check(version == 1 && family == Family && words == (if (isSmall) 1 else 2), "no head of a t-digest")
    cursor.check(k >= LeastK && k <= MostCompression, s"compression $k of a t-digest")
    if (!isSmall) {
      val (centroids, waiting) = (cursor.u32(), cursor.u32())
      val most = 2L * k + Spare
      cursor.check(centroids <= most && waiting <= 4 * most && centroids + waiting > 0,
        s"$centroids centroids and $waiting values of compression $k")
      cursor.need(16 + 16 * centroids + 8 * waiting)
    }
  }
}
