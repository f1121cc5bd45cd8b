package keyfold.spark.functions

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types._

/** Both sides: an operation over two bitmaps or more, from left to right, or how many numbers its result has. */
final class BitmapAlgebra(override val names: String, val isCount: Boolean, skipsNulls: Boolean)(
    operation: (Bitmap, Bitmap) => Bitmap) extends Declared {
  override protected def form: PartialFunction[Seq[DataType], Scalar[_]] = {
    case found if found.length > 1 && isCount =>
      new OverBitmaps[Long](this, LongType, found.length)(_.fold(0L)(_.cardinality))
    case found if found.length > 1 => new OverBitmaps(this, BinaryType, found.length)(_.map(_.toBytes).orNull)
  }

  /** The result, None where it is NULL, which a count shows as 0. */
  def result(bitmaps: Seq[Array[Byte]]): Option[Bitmap] = {
    val present = bitmaps.filter(_ != null)
    if (present.isEmpty || present.length < bitmaps.length && !skipsNulls) None
    else Some(present.map(BitmapBytes.read(_, name())).reduceLeft(operation))
  }
}

/** Executor side: an operation over so many bitmaps. Spark calls `invoke` where it has one of as many arguments. */
final class OverBitmaps[R](of: BitmapAlgebra, result: DataType, count: Int)(shown: Option[Bitmap] => R)
    extends Scalar[R](of.names, result, Seq.fill(count)(BinaryType): _*) {
  override def isResultNullable: Boolean = !of.isCount
  def invoke(a: Array[Byte], b: Array[Byte]): R = shown(of.result(Seq(a, b)))
  def invoke(a: Array[Byte], b: Array[Byte], c: Array[Byte]): R = shown(of.result(Seq(a, b, c)))
  override def produceResult(row: InternalRow): R = shown(of.result((0 until count).map(row.getBinary)))
}

object BitmapAlgebra {
  val all: Seq[Declared] = Seq(
    both("bitmap_and rb_and")(_ and _), both("bitmap_or rb_or", skipsNulls = true)(_ or _),
    both("bitmap_xor rb_xor")(_ xor _), both("bitmap_and_not bitmap_not rb_andnot")(_ andNot _)).flatten

  private def both(names: String, skipsNulls: Boolean = false)(operation: (Bitmap, Bitmap) => Bitmap): Seq[Declared] =
    Seq(new BitmapAlgebra(names, isCount = false, skipsNulls)(operation),
      new BitmapAlgebra(s"${names.takeWhile(_ != ' ')}_count", isCount = true, skipsNulls)(operation))
}

object BitmapHasAny extends OfBitmap[java.lang.Boolean]("bitmap_has_any", BooleanType, BinaryType) {
  def invoke(a: Array[Byte], b: Array[Byte]): java.lang.Boolean =
    if (a == null || b == null) null else read(a).intersects(read(b))
}

object BitmapHasAll extends OfBitmap[java.lang.Boolean]("bitmap_has_all", BooleanType, BinaryType) {
  def invoke(a: Array[Byte], b: Array[Byte]): java.lang.Boolean =
    if (a == null || b == null) null else read(b).andNot(read(a)).isEmpty
}
