package keyfold.spark.functions

import java.io.{ByteArrayInputStream, DataInputStream}

import org.roaringbitmap.RoaringBitmap
import org.roaringbitmap.longlong.Roaring64Bitmap

/** Executor side: the portable forms of the RoaringFormatSpec, as the library reads and validates them. For
  * bytes that announce more containers than follow it takes memory for 65536 pointers at most.
  */
object Portable {
  private val MostBuffered = 8192

  def read32(cursor: Cursor): RoaringBitmap = {
    val before = cursor.remaining
    val left = new ByteArrayInputStream(cursor.bytes, cursor.at, before)
    val bitmap = new RoaringBitmap
    bitmap.deserialize(new DataInputStream(left), new Array[Byte](Math.min(MostBuffered, (before | 7) + 1)))
    bitmap.runOptimize(): Unit // other writers may leave more runs than `validate` allows
    cursor.check(bitmap.validate(), "numbers out of order, or not as many as announced")
    cursor.skip(before - left.available)
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
      Bitmap.widen(read32(cursor), high << 32, all)
    }
    all
  }
}
