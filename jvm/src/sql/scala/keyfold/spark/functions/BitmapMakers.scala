package keyfold.spark.functions

import scala.annotation.nowarn

import org.apache.commons.codec.digest.MurmurHash3
import org.apache.spark.sql.catalyst.util.ArrayData
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.hash.Murmur3_x86_32
import org.apache.spark.unsafe.types.UTF8String

/** Both sides: a bitmap of one number. Doris reads a number that is NULL, junk or out of range as none. */
abstract class ToBitmap(override val names: String, isWide: Boolean) extends Declared {
  def of(value: Option[Long]): Array[Byte] = {
    val bitmap = Bitmap.of(value)
    (if (isWide) bitmap.toWide else bitmap).toBytes
  }

  override protected def form: PartialFunction[Seq[DataType], Scalar[_]] = {
    case Seq(_: StringType) => new ToBitmapOfText(this)
    case Seq(Numbers.Whole(number)) => new ToBitmapOfNumber(this, number)
  }
}

object ToBitmap32 extends ToBitmap("to_bitmap", isWide = false)
object ToBitmap64 extends ToBitmap("to_bitmap64", isWide = true)

/** Executor side: the bitmap of a number. */
final class ToBitmapOfNumber(of: ToBitmap, number: DecimalType)
    extends Scalar[Array[Byte]](of.names, BinaryType, number) {
  def invoke(value: Decimal): Array[Byte] = of.of(Option(value).flatMap(Numbers.unsigned(_: Decimal)))
}

/** Executor side: the bitmap of a number in a text. */
final class ToBitmapOfText(of: ToBitmap) extends Scalar[Array[Byte]](of.names, BinaryType, StringType) {
  def invoke(text: UTF8String): Array[Byte] = of.of(Option(text).flatMap(text => Numbers.unsigned(text.toString)))
}

object BitmapEmpty extends Scalar[Array[Byte]]("bitmap_empty", BinaryType) {
  def invoke(): Array[Byte] = new Bitmap().toBytes
}

/** Executor side: NULL for a text with anything but numbers between its commas, as in Doris; nothing is skipped. */
object BitmapFromString extends Scalar[Array[Byte]]("bitmap_from_string", BinaryType, StringType) {
  def invoke(text: UTF8String): Array[Byte] = if (text == null) null else {
    val parts = text.toString.split(',').toSeq.filter(_.nonEmpty)
    Bitmap.ofAll(parts.map(Numbers.unsigned(_: String))).map(_.toBytes).orNull
  }
}

/** Both sides: a bitmap of an array's numbers. A NULL among them is to Doris a number like any it can't
  * hold, and nothing to Fluss.
  */
abstract class ArrayBitmap(override val names: String, skipsNulls: Boolean) extends Declared {
  def of(numbers: Seq[Option[Decimal]]): Option[Bitmap] =
    Bitmap.ofAll((if (skipsNulls) numbers.filter(_.nonEmpty) else numbers).map(_.flatMap(Numbers.unsigned(_: Decimal))))

  override protected def form: PartialFunction[Seq[DataType], Scalar[_]] = {
    case Seq(ArrayType(Numbers.Whole(element), _)) => new BitmapOfArray(this, element)
    case Seq(NullType) => new BitmapOfArray(this, Numbers.OfBigint)
  }
}

object BitmapFromArray extends ArrayBitmap("bitmap_from_array", skipsNulls = false)
object RbBuild extends ArrayBitmap("rb_build", skipsNulls = true)

/** Executor side: the bitmap of an array whose elements were cast to one DECIMAL. */
final class BitmapOfArray(of: ArrayBitmap, element: DecimalType)
    extends Scalar[Array[Byte]](of.names, BinaryType, ArrayType(element)) {
  def invoke(values: ArrayData): Array[Byte] = if (values == null) null else {
    val numbers = (0 until values.numElements()).map { place =>
      if (values.isNullAt(place)) None else Some(values.getDecimal(place, element.precision, element.scale))
    }
    of.of(numbers).map(_.toBytes).orNull
  }
}

/** Executor side: the bitmap of a text's MurmurHash3, with Doris' seed, so that both give the same number. */
object BitmapHash extends Scalar[Array[Byte]]("bitmap_hash", BinaryType, StringType) {
  private val Seed = 104729

  def invoke(text: UTF8String): Array[Byte] = Bitmap.of(Option(text).map(text =>
    Murmur3_x86_32.hashUnsafeBytes2(text.getBaseObject, text.getBaseOffset, text.numBytes, Seed) & 0xffffffffL)).toBytes
}

/** Executor side: the bitmap of one lane of a text's 128-bit MurmurHash3, seed 0, as Doris has it. */
object BitmapHash64 extends Scalar[Array[Byte]]("bitmap_hash64", BinaryType, StringType) {
  @nowarn("cat=deprecation") // it is no hash of MurmurHash3's author, which is why the library discourages it
  def invoke(text: UTF8String): Array[Byte] =
    Bitmap.of(Option(text).map(text => MurmurHash3.hash64(text.getBytes, 0, text.numBytes, 0))).toBytes
}
