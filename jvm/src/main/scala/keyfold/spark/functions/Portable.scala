package keyfold.spark.functions

import org.roaringbitmap.RoaringBitmap
import org.roaringbitmap.longlong.Roaring64Bitmap

/** Executor side: the portable forms of the RoaringFormatSpec, fully checked before the library sees them. */
object Portable {
  private val NoRuns = 12346
  private val WithRuns = 12347
  private val OffsetsFrom = 4
  private val LargestArray = 4096

  def read32(cursor: Cursor): RoaringBitmap = {
    val start = cursor.at
    check(cursor)
    val bitmap = new RoaringBitmap
    bitmap.deserialize(cursor.since(start))
    bitmap
  }

  /** A count, then maps of one high half each. */
  def read64(cursor: Cursor): Roaring64Bitmap = {
    val maps = cursor.i64()
    cursor.check(maps >= 0 && maps <= cursor.remaining / 12, s"$maps maps do not fit")
    val all = new Roaring64Bitmap
    var last = -1L
    for (_ <- 0L until maps) {
      val high = cursor.u32()
      cursor.check(high > last, s"map $high follows map $last")
      last = high
      read32(cursor).forEach((low: Int) => all.addLong(high << 32 | low & 0xffffffffL))
    }
    all
  }

  private def check(cursor: Cursor): Unit = {
    val start = cursor.at
    val cookie = cursor.i32()
    val hasRuns = (cookie & 0xffff) == WithRuns
    cursor.check(hasRuns || cookie == NoRuns, f"cookie $cookie%08x")
    val count = if (hasRuns) (cookie >>> 16) + 1 else cursor.i32()
    cursor.check(count >= 0 && count <= 0x10000, s"$count containers")
    val flags = if (hasRuns) Array.fill((count + 7) / 8)(cursor.u8()) else Array.empty[Int]
    cursor.need(4L * count)
    val cardinalities = new Array[Int](count)
    var last = -1
    for (i <- 0 until count) {
      val key = cursor.u16()
      cursor.check(key > last, s"container $key follows $last")
      last = key
      cardinalities(i) = cursor.u16() + 1
    }
    val offsets = if (!hasRuns || count >= OffsetsFrom) Array.fill(count)(cursor.u32()) else null
    for (i <- 0 until count) {
      if (offsets != null) cursor.check(offsets(i) == cursor.at - start, s"container $i begins at ${offsets(i)}")
      val isRuns = hasRuns && (flags(i / 8) >> i % 8 & 1) == 1
      if (isRuns) Containers.runs(cursor, cardinalities(i)): Unit
      else if (cardinalities(i) <= LargestArray) Containers.array(cursor, cardinalities(i)): Unit
      else Containers.bitmap(cursor, cardinalities(i)): Unit
    }
  }
}
