package keyfold.spark.functions

import org.apache.spark.sql.types.{BinaryType, LongType}

/** Executor side: a part of a bitmap between two numbers, or places. */
abstract class BitmapPart(about: About) extends OfBitmap[Array[Byte]](about, BinaryType, LongType, LongType) {
  protected def bitmap(like: Bitmap, values: Iterator[Long]): Bitmap = {
    val part = like.fresh
    values.foreach(part.add)
    part
  }
}

object BitmapSubsetInRange extends BitmapPart(About("bitmap_subset_in_range", "(bitmap, BIGINT, BIGINT) bitmap", "NULL",
      "the numbers from the first, inclusive, to the second, exclusive; NULL unless 0 <= first < second")) {
  def invoke(bytes: Array[Byte], start: Long, end: Long): Array[Byte] =
    if (bytes == null || start < 0 || start >= end) null
    else {
      val all = read(bytes)
      bitmap(all, all.from(start).takeWhile(value => value >= 0 && value < end)).toBytes
    }
}

object BitmapSubsetLimit extends BitmapPart(About("bitmap_subset_limit", "(bitmap, BIGINT, BIGINT) bitmap", "NULL",
      "as many numbers as the third argument says, from the second on; NULL if one is negative")) {
  def invoke(bytes: Array[Byte], start: Long, limit: Long): Array[Byte] =
    if (bytes == null || start < 0 || limit < 0) null
    else {
      val all = read(bytes)
      bitmap(all, all.from(start).take(Math.min(limit, Int.MaxValue).toInt)).toBytes
    }
}

object SubBitmap extends BitmapPart(About("sub_bitmap", "(bitmap, BIGINT, BIGINT) bitmap", "NULL",
      "as many numbers as the third argument says, from the place of the second, which counts from 0, or "
        + "back from the end where negative; NULL where there are none")) {
  def invoke(bytes: Array[Byte], offset: Long, limit: Long): Array[Byte] = if (bytes == null || limit <= 0) null else {
    val all = read(bytes)
    val start = if (offset < 0) all.cardinality + offset else offset
    if (start < 0 || start >= all.cardinality) null
    else bitmap(all, all.from(0).drop(Math.toIntExact(start)).take(Math.min(limit, Int.MaxValue).toInt)).toBytes
  }
}
