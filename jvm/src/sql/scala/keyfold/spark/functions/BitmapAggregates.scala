package keyfold.spark.functions

import org.apache.spark.sql.connector.catalog.functions.BoundFunction
import org.apache.spark.sql.types._

object BitmapUnion extends FoldOfBytes(About("bitmap_union rb_or_agg", "(bitmap) bitmap",
      "skipped; an empty bitmap over nothing", "the union of a group's bitmaps"),
      "bitmaps", BitmapEmpty.invoke(), BinaryType)

object BitmapIntersect extends FoldOfBytes(About("bitmap_intersect rb_and_agg", "(bitmap) bitmap",
      "skipped; an empty bitmap over nothing", "what all of a group's bitmaps share"),
      "algebra", BitmapEmpty.invoke(), BinaryType)

object GroupBitmapXor extends FoldOfBytes(About("group_bitmap_xor rb_xor_agg", "(bitmap) bitmap",
      "skipped; an empty bitmap over nothing", "the numbers in an odd number of a group's bitmaps"),
      "algebra", BitmapEmpty.invoke(), BinaryType)

object BitmapUnionCount extends FoldOfBytes(About("bitmap_union_count orthogonal_bitmap_union_count",
      "(bitmap) BIGINT", "skipped; 0 over nothing", "how many numbers the union of a group's bitmaps holds"),
      "bitmaps", 0L, LongType)

/** Driver side: an aggregate of a column of numbers; those that a bitmap cannot hold are skipped, as in Doris. */
abstract class BitmapOfNumbers(override val about: About, nothing: => Any, result: DataType) extends Declared {
  override def isAggregate: Boolean = true

  override protected def form(found: Seq[DataType]): BoundFunction = found match {
    case Seq(one) if Numbers.isBigint(one) => new FoldForm(about, "numbers", nothing, result, LongType)
    case Seq(one) if Numbers.wholeType(one).isDefined =>
      new FoldForm(about, "numbers", nothing, result, Numbers.LargeInt)
    case _ => throw wrong(s"not ${found.map(_.sql).mkString(", ")}")
  }
}

object BitmapAgg extends BitmapOfNumbers(About("bitmap_agg rb_build_agg", "(whole number) bitmap",
      "skipped; an empty bitmap over nothing", "the bitmap of a group's numbers from 0 to 2^64-1"),
      BitmapEmpty.invoke(), BinaryType)

object BitmapUnionInt extends BitmapOfNumbers(About("bitmap_union_int", "(whole number) BIGINT",
      "skipped; 0 over nothing", "how many different numbers from 0 to 2^64-1 a group has"), 0L, LongType)

/** Driver side: the bitmaps of the rows of each named value are united, then intersected. */
abstract class Intersected(override val about: About, nothing: => Any, result: DataType) extends Declared {
  override def isAggregate: Boolean = true

  override protected def form(found: Seq[DataType]): BoundFunction = found match {
    case Seq(_, _: BinaryType | _: ArrayType | _: MapType | _: StructType, _*) => throw wrong(s"not ${found(1).sql}")
    case Seq(_, of, values @ _*) if values.nonEmpty =>
      new FoldForm(about, "shared", nothing, result, BinaryType +: Seq.fill(values.length + 1)(of): _*)
    case _ => throw wrong(s"not ${found.length} arguments")
  }
}

object IntersectCount extends Intersected(About("intersect_count orthogonal_bitmap_intersect_count",
      "(bitmap, column, value, …) BIGINT", "rows of a NULL are skipped; 0 over nothing",
      "how many numbers the rows of each value of the column share"), 0L, LongType)

object OrthogonalBitmapIntersect extends Intersected(About("orthogonal_bitmap_intersect",
      "(bitmap, column, value, …) bitmap", "rows of a NULL are skipped; an empty bitmap over nothing",
      "the numbers that the rows of each value of the column share"), BitmapEmpty.invoke(), BinaryType)
