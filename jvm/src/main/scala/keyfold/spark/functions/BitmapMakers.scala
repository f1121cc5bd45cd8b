package keyfold.spark.functions

import org.apache.spark.sql.catalyst.util.ArrayData
import org.apache.spark.sql.connector.catalog.functions.BoundFunction
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/** Both sides: a bitmap of one number. Doris reads a number that is NULL, junk or out of range as none. */
abstract class ToBitmap(name: String, isWide: Boolean) extends Declared {
  override val about: About = About(name, "(whole number or STRING) bitmap", "an empty bitmap",
    "the bitmap of one number from 0 to 2^64-1" + (if (isWide) ", in 64-bit form" else "") +
      "; an empty bitmap for any other number or text")

  def of(value: Option[Long]): Array[Byte] = {
    val bitmap = if (isWide) new Bitmap().toWide else new Bitmap
    value.foreach(bitmap.add)
    bitmap.toBytes
  }

  override protected def form(found: Seq[DataType]): BoundFunction = found match {
    case Seq(_: StringType) => new ToBitmapOfText(this)
    case Seq(one) => new ToBitmapOfNumber(this, Numbers.wholeType(one).getOrElse(throw wrong(s"not ${one.sql}")))
    case _ => throw wrong(s"not ${found.length} arguments")
  }
}

object ToBitmap32 extends ToBitmap("to_bitmap", isWide = false)
object ToBitmap64 extends ToBitmap("to_bitmap64", isWide = true)

/** Executor side: of a number. */
final class ToBitmapOfNumber(of: ToBitmap, number: DecimalType)
    extends Scalar[Array[Byte]](of.about, BinaryType, number) {
  def invoke(value: Decimal): Array[Byte] = of.of(Option(value).flatMap(Numbers.unsigned(_: Decimal)))
}

/** Executor side: of a text. */
final class ToBitmapOfText(of: ToBitmap) extends Scalar[Array[Byte]](of.about, BinaryType, StringType) {
  def invoke(text: UTF8String): Array[Byte] = of.of(Option(text).flatMap(text => Numbers.unsigned(text.toString)))
}

object BitmapEmpty extends Scalar[Array[Byte]](About("bitmap_empty", "() bitmap", "-", "the empty bitmap"), BinaryType) {
  def invoke(): Array[Byte] = new Bitmap().toBytes
}

/** As Doris, a text with anything but numbers between its commas is NULL; nothing between them is skipped. */
object BitmapFromString extends Scalar[Array[Byte]](About("bitmap_from_string", "(STRING) bitmap", "NULL",
      "the bitmap of numbers between commas; NULL where one is no number from 0 to 2^64-1"),
      BinaryType, StringType) {
  def invoke(text: UTF8String): Array[Byte] = if (text == null) null else {
    val parts = text.toString.split(',').toSeq.filter(_.nonEmpty)
    Bitmap.of(parts.map(Numbers.unsigned(_: String))).map(_.toBytes).orNull
  }
}

object BitmapFromArray extends Declared {
  override val about: About = About("bitmap_from_array rb_build", "(ARRAY<whole number>) bitmap",
    "NULL; NULL elements are skipped", "the bitmap of an array's numbers; NULL where one is not from 0 to 2^64-1")

  override protected def form(found: Seq[DataType]): BoundFunction = found match {
    case Seq(ArrayType(element, _)) if Numbers.wholeType(element).isDefined =>
      new BitmapOfArray(Numbers.wholeType(element).get)
    case Seq(NullType) => new BitmapOfArray(Numbers.OfBigint)
    case _ => throw wrong(s"not ${found.map(_.sql).mkString(", ")}")
  }
}

/** Executor side: of an array whose elements were cast to one DECIMAL. */
final class BitmapOfArray(element: DecimalType)
    extends Scalar[Array[Byte]](BitmapFromArray.about, BinaryType, ArrayType(element)) {
  def invoke(values: ArrayData): Array[Byte] = if (values == null) null else {
    val present = (0 until values.numElements()).filterNot(values.isNullAt)
    val numbers = present.map(i => Numbers.unsigned(values.getDecimal(i, element.precision, element.scale)))
    Bitmap.of(numbers).map(_.toBytes).orNull
  }
}
