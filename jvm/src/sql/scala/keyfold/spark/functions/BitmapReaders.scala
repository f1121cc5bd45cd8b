package keyfold.spark.functions

import keyfold.spark.KeyfoldException
import org.apache.spark.sql.catalyst.util.{ArrayData, GenericArrayData}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/** Executor side: a function of one bitmap. */
abstract class OfBitmap[R](names: String, result: DataType, more: DataType*)
    extends Scalar[R](names, result, BinaryType +: more: _*) {
  protected def read(bytes: Array[Byte]): Bitmap = BitmapBytes.read(bytes, name())

  /** A number as BIGINT, which a bitmap's greatest numbers exceed. */
  protected def bigint(value: Long): Long =
    if (value >= 0) value
    else throw new KeyfoldException("FunctionError",
      s"function ${name()}: ${java.lang.Long.toUnsignedString(value)} exceeds BIGINT; bitmap_to_string shows it")
}

object BitmapCount extends OfBitmap[Long]("bitmap_count rb_cardinality", LongType) {
  override def isResultNullable: Boolean = false
  def invoke(bytes: Array[Byte]): Long = if (bytes == null) 0 else read(bytes).cardinality
}

object BitmapMin extends OfBitmap[java.lang.Long]("bitmap_min", LongType) {
  def invoke(bytes: Array[Byte]): java.lang.Long =
    Option(bytes).map(read).filterNot(_.isEmpty).map(bitmap => Long.box(bigint(bitmap.first))).orNull
}

object BitmapMax extends OfBitmap[java.lang.Long]("bitmap_max", LongType) {
  def invoke(bytes: Array[Byte]): java.lang.Long =
    Option(bytes).map(read).filterNot(_.isEmpty).map(bitmap => Long.box(bigint(bitmap.last))).orNull
}

object BitmapToString extends OfBitmap[UTF8String]("bitmap_to_string", StringType) {
  def invoke(bytes: Array[Byte]): UTF8String = if (bytes == null) null else {
    val text = new java.lang.StringBuilder
    read(bytes).foreach { value =>
      if (text.length > 0) text.append(','): Unit
      text.append(java.lang.Long.toUnsignedString(value)): Unit
    }
    UTF8String.fromString(text.toString)
  }
}

object BitmapToArray extends OfBitmap[ArrayData]("bitmap_to_array rb_to_array", ArrayType(LongType, containsNull = false)) {
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
  override val names: String = "bitmap_contains rb_contains"

  override protected def form: PartialFunction[Seq[DataType], Scalar[_]] = {
    case Seq(_, Numbers.Whole(number)) => new BitmapHolds(number)
  }
}

/** Executor side: whether it holds a number of this type. */
final class BitmapHolds(number: DecimalType)
    extends OfBitmap[java.lang.Boolean](BitmapContains.names, BooleanType, number) {
  def invoke(bytes: Array[Byte], value: Decimal): java.lang.Boolean =
    if (bytes == null || value == null) null else Numbers.unsigned(value).exists(read(bytes).contains)
}

/** Executor side: a part of a bitmap between two numbers, or places. */
abstract class BitmapPart(names: String) extends OfBitmap[Array[Byte]](names, BinaryType, LongType, LongType) {
  protected def part(all: Bitmap)(values: Bitmap => Iterator[Long]): Array[Byte] = {
    val part = all.fresh
    values(all).foreach(part.add)
    part.toBytes
  }

  protected def most(limit: Long): Int = Math.min(limit, Int.MaxValue).toInt
}

object BitmapSubsetInRange extends BitmapPart("bitmap_subset_in_range") {
  def invoke(bytes: Array[Byte], start: Long, end: Long): Array[Byte] =
    if (bytes == null || start < 0 || start >= end) null
    else part(read(bytes))(_.from(start).takeWhile(value => value >= 0 && value < end))
}

object BitmapSubsetLimit extends BitmapPart("bitmap_subset_limit") {
  def invoke(bytes: Array[Byte], start: Long, limit: Long): Array[Byte] =
    if (bytes == null || start < 0 || limit < 0) null else part(read(bytes))(_.from(start).take(most(limit)))
}

object SubBitmap extends BitmapPart("sub_bitmap") {
  def invoke(bytes: Array[Byte], offset: Long, limit: Long): Array[Byte] = if (bytes == null || limit <= 0) null else {
    val all = read(bytes)
    val start = if (offset < 0) all.cardinality + offset else offset
    if (start < 0 || start >= all.cardinality) null
    else part(all)(_.from(0).drop(Math.toIntExact(start)).take(most(limit)))
  }
}
