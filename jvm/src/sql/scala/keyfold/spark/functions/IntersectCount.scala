package keyfold.spark.functions

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.catalog.functions.BoundFunction
import org.apache.spark.sql.types._

/** Both sides: the bitmaps of the rows of each named value are united, then intersected. */
abstract class Intersected(override val about: About, val result: DataType) extends Declared {
  def produce(shared: Bitmap): Any
  override def isAggregate: Boolean = true

  override protected def form(found: Seq[DataType]): BoundFunction = found match {
    case Seq(_, _: BinaryType | _: ArrayType | _: MapType | _: StructType, _*) => throw wrong(s"not ${found(1).sql}")
    case Seq(_, of, values @ _*) if values.nonEmpty => new IntersectedValues(this, of, values.length)
    case _ => throw wrong(s"not ${found.length} arguments")
  }
}

object IntersectCount extends Intersected(About("intersect_count orthogonal_bitmap_intersect_count",
      "(bitmap, column, value, …) BIGINT", "rows of a NULL are skipped; 0 over nothing",
      "how many numbers the rows of each value of the column share"), LongType) {
  override def produce(shared: Bitmap): Any = shared.cardinality
}

object OrthogonalBitmapIntersect extends Intersected(About("orthogonal_bitmap_intersect",
      "(bitmap, column, value, …) bitmap", "rows of a NULL are skipped; an empty bitmap over nothing",
      "the numbers that the rows of each value of the column share"), BinaryType) {
  override def produce(shared: Bitmap): Any = shared.toBytes
}

/** Executor side: one bitmap a value. */
final class BitmapStates(val states: Array[BitmapState]) extends Live {
  override def parts: Array[Array[Byte]] = states.map(_.bytes)
}

/** Executor side: for a column of this type, and this number of values. */
final class IntersectedValues(declared: Intersected, column: DataType, values: Int)
    extends Aggregation[BitmapStates, Any](declared.about, declared.result,
      BinaryType +: Seq.fill(values + 1)(column): _*) {
  override def empty: BitmapStates = new BitmapStates(Array.fill(values)(new BitmapState))
  override def of(parts: Array[Array[Byte]]): BitmapStates =
    new BitmapStates(parts.map(BitmapState.of(_, about.name)))

  override def take(all: BitmapStates, row: InternalRow): BitmapStates = {
    if (!row.isNullAt(0) && !row.isNullAt(1)) {
      val found = row.get(1, column)
      for (i <- all.states.indices if !row.isNullAt(2 + i) && row.get(2 + i, column) == found)
        all.states(i).fold(BitmapBytes.read(row.getBinary(0), about.name), _ or _): Unit
    }
    all
  }

  override def join(left: BitmapStates, right: BitmapStates): BitmapStates = {
    for (i <- left.states.indices) left.states(i).join(right.states(i), _ or _): Unit
    left
  }

  /** A window's frame goes on growing after this: no state is changed, and each is copied through bytes. */
  override def produce(all: BitmapStates): Any =
    declared.produce(all.states.map(state => BitmapBytes.read(state.bitmap.toBytes, about.name)).reduceLeft(_ and _))
}
