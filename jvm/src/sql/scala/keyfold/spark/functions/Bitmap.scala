package keyfold.spark.functions

import java.nio.{ByteBuffer, ByteOrder}

import org.roaringbitmap.RoaringBitmap
import org.roaringbitmap.longlong.Roaring64Bitmap

/** Executor side: a live set of unsigned 64-bit numbers. It is narrow, 32 bits, until a number or a set
  * that is wide comes in: a result has the portable 32-bit form where all that it is made of had it.
  * The other set of an operation is used up: its containers may become this one's.
  */
final class Bitmap private (private var narrow: RoaringBitmap, private var wide: Roaring64Bitmap) {
  def this() = this(new RoaringBitmap, null)

  def isNarrow: Boolean = wide == null

  /** An empty bitmap of the same width. */
  def fresh: Bitmap = if (isNarrow) new Bitmap else Bitmap.wide(new Roaring64Bitmap)

  def add(value: Long): Unit =
    if (isNarrow && value >>> 32 == 0) narrow.add(value.toInt)
    else toWide.wide.addLong(value)

  def or(other: Bitmap): Bitmap = combine(other)(_.or(_), _.or(_))
  def and(other: Bitmap): Bitmap = combine(other)(_.and(_), _.and(_))
  def xor(other: Bitmap): Bitmap = combine(other)(_.xor(_), Bitmap.xor)
  def andNot(other: Bitmap): Bitmap = combine(other)(_.andNot(_), _.andNot(_))

  def isEmpty: Boolean = if (isNarrow) narrow.isEmpty else wide.isEmpty
  def cardinality: Long = if (isNarrow) narrow.getLongCardinality else wide.getLongCardinality
  def contains(value: Long): Boolean =
    if (isNarrow) value >>> 32 == 0 && narrow.contains(value.toInt) else wide.contains(value)
  def intersects(other: Bitmap): Boolean =
    if (isNarrow && other.isNarrow) RoaringBitmap.intersects(narrow, other.narrow)
    else Roaring64Bitmap.intersects(widened, other.widened)

  /** The least and the greatest, as unsigned numbers, of a set that is not empty. */
  def first: Long = if (isNarrow) narrow.first & Bitmap.Mask else wide.first
  def last: Long = if (isNarrow) narrow.last & Bitmap.Mask else wide.last

  def foreach(each: Long => Unit): Unit =
    if (isNarrow) narrow.forEach((value: Int) => each(value & Bitmap.Mask))
    else wide.forEach((value: Long) => each(value))

  /** The numbers from `start` on, ascending as unsigned ones. */
  def from(start: Long): Iterator[Long] =
    if (!isNarrow) {
      val values = wide.getLongIteratorFrom(start)
      Iterator.continually(()).takeWhile(_ => values.hasNext).map(_ => values.next)
    } else if (start >>> 32 != 0) Iterator.empty
    else {
      val values = narrow.getIntIterator
      values.advanceIfNeeded(start.toInt)
      Iterator.continually(()).takeWhile(_ => values.hasNext).map(_ => values.next & Bitmap.Mask)
    }

  /** This bitmap, which is wide from now on. */
  def toWide: Bitmap = {
    if (isNarrow) {
      wide = Bitmap.widened(narrow)
      narrow = null
    }
    this
  }

  /** The portable 32-bit form, or the bytes of Java's Roaring64Bitmap. */
  def toBytes: Array[Byte] =
    if (isNarrow) {
      narrow.runOptimize(): Unit
      written(narrow.serializedSizeInBytes)(narrow.serialize(_: ByteBuffer))
    } else {
      wide.runOptimize(): Unit
      written(Math.toIntExact(wide.serializedSizeInBytes))(wide.serialize(_: ByteBuffer))
    }

  private def written(size: Int)(write: ByteBuffer => Unit): Array[Byte] = {
    val buffer = ByteBuffer.allocate(size).order(ByteOrder.LITTLE_ENDIAN)
    write(buffer)
    buffer.array
  }

  private def combine(other: Bitmap)(narrowly: (RoaringBitmap, RoaringBitmap) => Unit,
      widely: (Roaring64Bitmap, Roaring64Bitmap) => Unit): Bitmap = {
    if (isNarrow && other.isNarrow) narrowly(narrow, other.narrow)
    else widely(toWide.wide, other.widened)
    this
  }

  private def widened: Roaring64Bitmap = if (isNarrow) Bitmap.widened(narrow) else wide
}

object Bitmap {
  private val Mask = 0xffffffffL

  def of(numbers: Iterable[Long]): Bitmap = {
    val bitmap = new Bitmap
    numbers.foreach(bitmap.add)
    bitmap
  }

  /** The set of these numbers, None if one is. */
  def ofAll(numbers: Seq[Option[Long]]): Option[Bitmap] = Option.when(numbers.forall(_.isDefined))(of(numbers.flatten))

  def narrow(bitmap: RoaringBitmap): Bitmap = new Bitmap(bitmap, null)
  def wide(bitmap: Roaring64Bitmap): Bitmap = new Bitmap(null, bitmap)

  /** The library's own `xor` leaves containers that hold nothing, which it then writes. */
  private def xor(wide: Roaring64Bitmap, other: Roaring64Bitmap): Unit = {
    val shared = Roaring64Bitmap.and(wide, other)
    wide.or(other)
    wide.andNot(shared)
  }

  private def widened(narrow: RoaringBitmap): Roaring64Bitmap = {
    val wide = new Roaring64Bitmap
    widen(narrow, 0, wide)
    wide
  }

  /** Adds the numbers of a set, with upper halves. A run is added at once: a few bytes may be four billion numbers. */
  def widen(narrow: RoaringBitmap, high: Long, wide: Roaring64Bitmap): Unit =
    if (!narrow.hasRunCompression) narrow.forEach((value: Int) => wide.addLong(high | value & Mask))
    else {
      var first = narrow.nextValue(0)
      while (first >= 0) {
        val absent = narrow.nextAbsentValue(first.toInt)
        val last = if (absent < 0) Mask else absent - 1
        if (first < last) wide.addRange(high | first, high | last)
        wide.addLong(high | last)
        first = if (last == Mask) -1 else narrow.nextValue((last + 1).toInt)
      }
    }
}
