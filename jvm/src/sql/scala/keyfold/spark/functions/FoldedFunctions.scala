package keyfold.spark.functions

import java.util.HexFormat

import org.apache.spark.sql.connector.catalog.functions.BoundFunction
import org.apache.spark.sql.types._

/** Driver side: an aggregate that Python folds, for arguments of certain types. `of` says to Python what they are,
  * `nothing` is the result of no rows, by its SQL text or the digits of its bytes.
  */
final class FoldForm(about: About, val of: String, val nothing: String, result: DataType, arguments: Seq[DataType])
    extends Bound {
  override def name(): String = about.name
  override def inputTypes(): Array[DataType] = arguments.toArray
  override def resultType(): DataType = result
  override def isResultNullable: Boolean = false
}

/** Driver side: an aggregate that Python folds. Its result is a number, or a state that is `empty` of no rows; `takes`
  * gives the types in which it takes arguments.
  */
final class FoldedFunction(override val about: About, of: String, empty: => Array[Byte],
    takes: PartialFunction[Seq[DataType], Seq[DataType]]) extends Declared {
  override def isAggregate: Boolean = true

  override protected def form: PartialFunction[Seq[DataType], BoundFunction] = takes.andThen { arguments =>
    if (about.result == "BIGINT") new FoldForm(about, of, "0", LongType, arguments)
    else new FoldForm(about, of, HexFormat.of.formatHex(empty), BinaryType, arguments)
  }
}

object FoldedFunctions {
  private val Bytes: PartialFunction[Seq[DataType], Seq[DataType]] = { case _ => Seq(BinaryType) }

  /** A column of numbers; those that a bitmap cannot hold are skipped, as in Doris. */
  private val Number: PartialFunction[Seq[DataType], Seq[DataType]] = {
    case Seq(one) if Numbers.isBigint(one) => Seq(LongType)
    case Seq(Numbers.Whole(_)) => Seq(Numbers.LargeInt)
  }

  /** The bitmaps of the rows of each named value are united, then intersected. */
  private val OfValues: PartialFunction[Seq[DataType], Seq[DataType]] = {
    case Seq(_, column, values @ _*) if values.nonEmpty && isPlain(column) =>
      BinaryType +: Seq.fill(values.length + 1)(column)
  }

  private def isPlain(kind: DataType): Boolean = kind match {
    case _: BinaryType | _: ArrayType | _: MapType | _: StructType => false
    case _ => true
  }

  val all: Seq[Declared] = Seq(
    ofBitmaps("bitmap_union rb_or_agg", "(bitmap) bitmap", "bitmaps", "the union of a group's bitmaps"),
    ofBitmaps("bitmap_union_count orthogonal_bitmap_union_count", "(bitmap) BIGINT", "bitmaps",
      "how many numbers the union of a group's bitmaps holds"),
    ofBitmaps("bitmap_intersect rb_and_agg", "(bitmap) bitmap", "algebra", "what all of a group's bitmaps share"),
    ofBitmaps("group_bitmap_xor rb_xor_agg", "(bitmap) bitmap", "algebra",
      "the numbers in an odd number of a group's bitmaps"),
    ofBitmaps("bitmap_agg rb_build_agg", "(whole number) bitmap", "numbers",
      "the bitmap of a group's numbers from 0 to 2^64-1", takes = Number),
    ofBitmaps("bitmap_union_int", "(whole number) BIGINT", "numbers",
      "how many different numbers from 0 to 2^64-1 a group has", takes = Number),
    ofBitmaps("intersect_count orthogonal_bitmap_intersect_count", "(bitmap, column, value, …) BIGINT", "shared",
      "how many numbers the rows of each value of the column share", "rows of a NULL are skipped", OfValues),
    ofBitmaps("orthogonal_bitmap_intersect", "(bitmap, column, value, …) bitmap", "shared",
      "the numbers that the rows of each value of the column share", "rows of a NULL are skipped", OfValues),
    new FoldedFunction(About("hll_union hll_raw_agg", "(HLL) HLL", "skipped; an empty HLL over nothing",
      "the union of a group's sketches"), "sketches", HllEmpty.invoke(), Bytes),
    new FoldedFunction(About("hll_union_agg", "(HLL) BIGINT", "skipped; 0 over nothing",
      "about how many different values a group's sketches have seen"), "sketches", HllEmpty.invoke(), Bytes),
    new FoldedFunction(About("quantile_union percentile_union", "(quantile state) quantile state",
      "skipped; an empty state over nothing", "the state of all numbers of a group's states"),
      "quantiles", QuantileStateEmpty.invoke(), Bytes))

  private def ofBitmaps(names: String, call: String, of: String, text: String, nulls: String = "skipped",
      takes: PartialFunction[Seq[DataType], Seq[DataType]] = Bytes): Declared = {
    val nothing = if (call.endsWith("BIGINT")) "0" else "an empty bitmap"
    new FoldedFunction(About(names, call, s"$nulls; $nothing over nothing", text), of, BitmapEmpty.invoke(), takes)
  }
}
