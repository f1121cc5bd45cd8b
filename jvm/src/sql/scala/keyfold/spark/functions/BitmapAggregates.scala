package keyfold.spark.functions

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.catalog.functions.BoundFunction
import org.apache.spark.sql.types._

/** Both sides: an aggregate of a column of bitmaps that are taken in one by one. */
abstract class BitmapFold[R](about: About, result: DataType)(operation: (Bitmap, Bitmap) => Bitmap)
    extends Aggregation[BitmapState, R](about, result, BinaryType) {
  override def empty: BitmapState = new BitmapState
  override def of(parts: Array[Array[Byte]]): BitmapState = BitmapState.of(parts.head, about.name)
  override def join(left: BitmapState, right: BitmapState): BitmapState = left.join(right, operation)
  override def take(state: BitmapState, row: InternalRow): BitmapState =
    if (row.isNullAt(0)) state else state.fold(BitmapBytes.read(row.getBinary(0), about.name), operation)
}

object BitmapUnion extends BitmapFold[Array[Byte]](About("bitmap_union rb_or_agg", "(bitmap) bitmap",
      "skipped; an empty bitmap over nothing", "the union of a group's bitmaps"), BinaryType)(_ or _) {
  override def produce(state: BitmapState): Array[Byte] = state.bitmap.toBytes
}

object BitmapIntersect extends BitmapFold[Array[Byte]](About("bitmap_intersect rb_and_agg", "(bitmap) bitmap",
      "skipped; an empty bitmap over nothing", "what all of a group's bitmaps share"), BinaryType)(_ and _) {
  override def produce(state: BitmapState): Array[Byte] = state.bitmap.toBytes
}

object GroupBitmapXor extends BitmapFold[Array[Byte]](About("group_bitmap_xor rb_xor_agg", "(bitmap) bitmap",
      "skipped; an empty bitmap over nothing", "the numbers in an odd number of a group's bitmaps"),
      BinaryType)(_ xor _) {
  override def produce(state: BitmapState): Array[Byte] = state.bitmap.toBytes
}

object BitmapUnionCount extends BitmapFold[Long](About("bitmap_union_count orthogonal_bitmap_union_count",
      "(bitmap) BIGINT", "skipped; 0 over nothing", "how many numbers the union of a group's bitmaps holds"),
      LongType)(_ or _) {
  override def produce(state: BitmapState): Long = state.bitmap.cardinality
}

/** Both sides: an aggregate of a column of numbers; those that a bitmap cannot hold are skipped, as in Doris. */
abstract class BitmapOfNumbers(override val about: About, val result: DataType) extends Declared {
  def produce(state: BitmapState): Any
  override def isAggregate: Boolean = true

  override protected def form(found: Seq[DataType]): BoundFunction = found match {
    case Seq(one) if Numbers.isBigint(one) => new NumbersFold(this, LongType)
    case Seq(one) if Numbers.wholeType(one).isDefined => new NumbersFold(this, Numbers.LargeInt)
    case _ => throw wrong(s"not ${found.map(_.sql).mkString(", ")}")
  }
}

object BitmapAgg extends BitmapOfNumbers(About("bitmap_agg rb_build_agg", "(whole number) bitmap",
      "skipped; an empty bitmap over nothing", "the bitmap of a group's numbers from 0 to 2^64-1"), BinaryType) {
  override def produce(state: BitmapState): Any = state.bitmap.toBytes
}

object BitmapUnionInt extends BitmapOfNumbers(About("bitmap_union_int", "(whole number) BIGINT",
      "skipped; 0 over nothing", "how many different numbers from 0 to 2^64-1 a group has"), LongType) {
  override def produce(state: BitmapState): Any = state.bitmap.cardinality
}

/** Executor side: of numbers of one type. */
final class NumbersFold(declared: BitmapOfNumbers, number: DataType)
    extends Aggregation[BitmapState, Any](declared.about, declared.result, number) {
  override def empty: BitmapState = new BitmapState
  override def of(parts: Array[Array[Byte]]): BitmapState = BitmapState.of(parts.head, about.name)
  override def join(left: BitmapState, right: BitmapState): BitmapState = left.join(right, _ or _)
  override def produce(state: BitmapState): Any = declared.produce(state)

  override def take(state: BitmapState, row: InternalRow): BitmapState = {
    if (!row.isNullAt(0)) number match {
      case LongType => Some(row.getLong(0)).filter(_ >= 0).foreach(state.bitmap.add)
      case _ => Numbers.unsigned(row.getDecimal(0, Numbers.LargeInt.precision, 0)).foreach(state.bitmap.add)
    }
    state
  }
}
