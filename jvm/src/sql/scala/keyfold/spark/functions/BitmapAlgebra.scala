package keyfold.spark.functions

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.catalog.functions.BoundFunction
import org.apache.spark.sql.types._

/** Both sides: an operation over two bitmaps or more, from left to right. */
abstract class BitmapAlgebra(override val about: About, skipsNulls: Boolean)(
    operation: (Bitmap, Bitmap) => Bitmap) extends Declared {
  private val isCount = about.call.endsWith("BIGINT")

  override protected def form(found: Seq[DataType]): BoundFunction =
    if (found.length < 2) throw wrong(s"not ${found.length} arguments")
    else if (isCount) new AlgebraCount(this, found.length)
    else new AlgebraBitmap(this, found.length)

  /** None where the result is NULL, which a count shows as 0. */
  def result(bitmaps: Seq[Array[Byte]]): Option[Bitmap] = {
    val present = bitmaps.filter(_ != null)
    if (present.isEmpty || present.length < bitmaps.length && !skipsNulls) None
    else Some(present.map(BitmapBytes.read(_, about.name)).reduceLeft(operation))
  }
}

/** Executor side: one whose result is a bitmap. Spark calls `invoke` where it has one of as many arguments. */
final class AlgebraBitmap(of: BitmapAlgebra, count: Int)
    extends Scalar[Array[Byte]](of.about, BinaryType, Seq.fill(count)(BinaryType): _*) {
  def invoke(a: Array[Byte], b: Array[Byte]): Array[Byte] = bytes(Seq(a, b))
  def invoke(a: Array[Byte], b: Array[Byte], c: Array[Byte]): Array[Byte] = bytes(Seq(a, b, c))
  override def produceResult(row: InternalRow): Array[Byte] = bytes((0 until count).map(row.getBinary))

  private def bytes(bitmaps: Seq[Array[Byte]]): Array[Byte] = of.result(bitmaps).map(_.toBytes).orNull
}

/** Executor side: one whose result is a number. */
final class AlgebraCount(of: BitmapAlgebra, count: Int)
    extends Scalar[Long](of.about, LongType, Seq.fill(count)(BinaryType): _*) {
  override def isResultNullable: Boolean = false
  def invoke(a: Array[Byte], b: Array[Byte]): Long = cardinality(Seq(a, b))
  def invoke(a: Array[Byte], b: Array[Byte], c: Array[Byte]): Long = cardinality(Seq(a, b, c))
  override def produceResult(row: InternalRow): Long = cardinality((0 until count).map(row.getBinary))

  private def cardinality(bitmaps: Seq[Array[Byte]]): Long = of.result(bitmaps).fold(0L)(_.cardinality)
}

object BitmapAnd extends BitmapAlgebra(About("bitmap_and rb_and", "(bitmap, bitmap, …) bitmap", "NULL",
      "the numbers that are in all bitmaps"), skipsNulls = false)(_ and _)

object BitmapOr extends BitmapAlgebra(About("bitmap_or rb_or", "(bitmap, bitmap, …) bitmap",
      "skipped; NULL where all are", "the numbers that are in any bitmap"), skipsNulls = true)(_ or _)

object BitmapXor extends BitmapAlgebra(About("bitmap_xor rb_xor", "(bitmap, bitmap, …) bitmap", "NULL",
      "the numbers that are in an odd number of the bitmaps"), skipsNulls = false)(_ xor _)

object BitmapAndNot extends BitmapAlgebra(About("bitmap_and_not bitmap_not rb_andnot", "(bitmap, bitmap, …) bitmap",
      "NULL", "the numbers of the first bitmap that are in none of the others"), skipsNulls = false)(_ andNot _)

object BitmapAndCount extends BitmapAlgebra(About("bitmap_and_count", "(bitmap, bitmap, …) BIGINT", "0",
      "how many numbers are in all bitmaps"), skipsNulls = false)(_ and _)

object BitmapOrCount extends BitmapAlgebra(About("bitmap_or_count", "(bitmap, bitmap, …) BIGINT", "skipped",
      "how many numbers are in any bitmap"), skipsNulls = true)(_ or _)

object BitmapXorCount extends BitmapAlgebra(About("bitmap_xor_count", "(bitmap, bitmap, …) BIGINT", "0",
      "how many numbers are in an odd number of the bitmaps"), skipsNulls = false)(_ xor _)

object BitmapAndNotCount extends BitmapAlgebra(About("bitmap_and_not_count", "(bitmap, bitmap, …) BIGINT", "0",
      "how many numbers of the first bitmap are in none of the others"), skipsNulls = false)(_ andNot _)

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
