package keyfold.spark.functions

import keyfold.spark.KeyfoldException
import org.apache.spark.sql.catalyst.util.{ArrayData, GenericArrayData}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/** Executor side: a function of one bitmap. */
abstract class OfBitmap[R](about: About, result: DataType, more: DataType*)
    extends Scalar[R](about, result, BinaryType +: more: _*) {
  protected def read(bytes: Array[Byte]): Bitmap = BitmapBytes.read(bytes, about.name)

  /** A number as BIGINT, which a bitmap's greatest numbers exceed. */
  protected def bigint(value: Long): Long =
    if (value >= 0) value
    else throw new KeyfoldException("FunctionError",
      s"function ${about.name}: ${java.lang.Long.toUnsignedString(value)} exceeds BIGINT; bitmap_to_string shows it")
}

object BitmapCount extends OfBitmap[Long](About("bitmap_count rb_cardinality", "(bitmap) BIGINT", "0",
      "how many numbers a bitmap holds"), LongType) {
  override def isResultNullable: Boolean = false
  def invoke(bytes: Array[Byte]): Long = if (bytes == null) 0 else read(bytes).cardinality
}

object BitmapMin extends OfBitmap[java.lang.Long](About("bitmap_min", "(bitmap) BIGINT", "NULL",
      "a bitmap's least number; NULL of an empty one, an error where it exceeds BIGINT"), LongType) {
  def invoke(bytes: Array[Byte]): java.lang.Long =
    Option(bytes).map(read).filterNot(_.isEmpty).map(bitmap => Long.box(bigint(bitmap.first))).orNull
}

object BitmapMax extends OfBitmap[java.lang.Long](About("bitmap_max", "(bitmap) BIGINT", "NULL",
      "a bitmap's greatest number; NULL of an empty one, an error where it exceeds BIGINT"), LongType) {
  def invoke(bytes: Array[Byte]): java.lang.Long =
    Option(bytes).map(read).filterNot(_.isEmpty).map(bitmap => Long.box(bigint(bitmap.last))).orNull
}

object BitmapToString extends OfBitmap[UTF8String](About("bitmap_to_string", "(bitmap) STRING", "NULL",
      "a bitmap's numbers, ascending, between commas; '' of an empty one"), StringType) {
  def invoke(bytes: Array[Byte]): UTF8String = if (bytes == null) null else {
    val text = new java.lang.StringBuilder
    read(bytes).foreach { value =>
      if (text.length > 0) text.append(','): Unit
      text.append(java.lang.Long.toUnsignedString(value)): Unit
    }
    UTF8String.fromString(text.toString)
  }
}

object BitmapToArray extends OfBitmap[ArrayData](About("bitmap_to_array rb_to_array", "(bitmap) ARRAY<BIGINT>", "NULL",
      "a bitmap's numbers, ascending; an error where one exceeds BIGINT"), ArrayType(LongType, containsNull = false)) {
  def invoke(bytes: Array[Byte]): ArrayData = if (bytes == null) null else {
    val bitmap = read(bytes)
    val values = new Array[Long](Math.toIntExact(bitmap.cardinality))
    var at = 0
    bitmap.foreach { value =>
      values(at) = bigint(value)
      at += 1
    }
    new GenericArrayData(values)
  }
}

object BitmapContains extends Declared {
  override val about: About = About("bitmap_contains rb_contains", "(bitmap, whole number) BOOLEAN", "NULL",
    "whether a bitmap holds a number")

  override protected def form: PartialFunction[Seq[DataType], Scalar[_]] = {
    case Seq(_, Numbers.Whole(number)) => new BitmapHolds(number)
  }
}

/** Executor side: whether it holds a number of this type. */
final class BitmapHolds(number: DecimalType)
    extends OfBitmap[java.lang.Boolean](BitmapContains.about, BooleanType, number) {
  def invoke(bytes: Array[Byte], value: Decimal): java.lang.Boolean =
    if (bytes == null || value == null) null else Numbers.unsigned(value).exists(read(bytes).contains)
}

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
