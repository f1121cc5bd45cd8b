package keyfold.spark.functions

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types._

/** Both sides: an operation over two bitmaps or more, from left to right, or how many numbers its result has. */
final class BitmapAlgebra(override val about: About, val isCount: Boolean, skipsNulls: Boolean)(
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
    else Some(present.map(BitmapBytes.read(_, about.name)).reduceLeft(operation))
  }
}

/** Executor side: an operation over so many bitmaps. Spark calls `invoke` where it has one of as many arguments. */
final class OverBitmaps[R](of: BitmapAlgebra, result: DataType, count: Int)(shown: Option[Bitmap] => R)
    extends Scalar[R](of.about, result, Seq.fill(count)(BinaryType): _*) {
  override def isResultNullable: Boolean = !of.isCount
  def invoke(a: Array[Byte], b: Array[Byte]): R = shown(of.result(Seq(a, b)))
  def invoke(a: Array[Byte], b: Array[Byte], c: Array[Byte]): R = shown(of.result(Seq(a, b, c)))
  override def produceResult(row: InternalRow): R = shown(of.result((0 until count).map(row.getBinary)))
}

object BitmapAlgebra {
  val all: Seq[Declared] = Seq(
    both("bitmap_and rb_and", "in all bitmaps")(_ and _),
    both("bitmap_or rb_or", "in any bitmap", skipsNulls = true)(_ or _),
    both("bitmap_xor rb_xor", "in an odd number of the bitmaps")(_ xor _),
    both("bitmap_and_not bitmap_not rb_andnot", "in the first bitmap and none of the others")(_ andNot _)).flatten

  private def both(names: String, which: String, skipsNulls: Boolean = false)(
      operation: (Bitmap, Bitmap) => Bitmap): Seq[Declared] = {
    val set = About(names, "(bitmap, bitmap, …) bitmap", if (skipsNulls) "skipped; NULL where all are" else "NULL",
      s"the numbers $which")
    val count = About(s"${set.name}_count", "(bitmap, bitmap, …) BIGINT", if (skipsNulls) "skipped" else "0",
      s"how many numbers are $which")
    Seq(new BitmapAlgebra(set, isCount = false, skipsNulls)(operation),
      new BitmapAlgebra(count, isCount = true, skipsNulls)(operation))
  }
}

object BitmapHasAny extends OfBitmap[java.lang.Boolean](About("bitmap_has_any", "(bitmap, bitmap) BOOLEAN", "NULL",
      "whether two bitmaps share a number"), BooleanType, BinaryType) {
  def invoke(a: Array[Byte], b: Array[Byte]): java.lang.Boolean =
    if (a == null || b == null) null else read(a).intersects(read(b))
}

object BitmapHasAll extends OfBitmap[java.lang.Boolean](About("bitmap_has_all", "(bitmap, bitmap) BOOLEAN", "NULL",
      "whether the first bitmap holds every number of the second"), BooleanType, BinaryType) {
  def invoke(a: Array[Byte], b: Array[Byte]): java.lang.Boolean =
    if (a == null || b == null) null else read(b).andNot(read(a)).isEmpty
}
