package org.apache.spark.sql.keyfold.aggregates

import java.util.HexFormat

import com.fasterxml.jackson.databind.JsonNode
import keyfold.spark.Json
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.util.GenericArrayData
import org.apache.spark.sql.types.{AbstractDataType, AnyDataType, ArrayType, BinaryType, DataType, LongType}

/** Both sides: an aggregate that Python folds. Rows go to a worker in batches, and what Spark has of a group is
  * its number there; between tasks a group is a payload. `fold` is Python's own description, `options` shows the
  * arguments behind the column. With `gives` the value is a state of that signature. With `frames`, in a
  * window, the value is the number of a group, whose result the operator above gets. In other operators of Spark's a new
  * group ends the one before. `inScans` if it may fold what scans have folded. Spark casts the arguments to `inputTypes`, if any.
  * The last children are what rows are ordered by, a pair of `order` for each.
  */
final case class FoldFunction(
    name: String,
    fold: String,
    value: DataType,
    empty: Option[String],
    children: Seq[Expression],
    gives: Option[String] = None,
    options: Seq[String] = Nil,
    inScans: Boolean = false,
    isNeverNull: Boolean = false,
    inputTypes: Seq[AbstractDataType] = Nil,
    mutableAggBufferOffset: Int = 0,
    inputAggBufferOffset: Int = 0,
    frames: Option[(FoldBatcher, Int)] = None,
    order: Seq[(SortDirection, NullOrdering)] = Nil) extends TypedImperativeAggregate[Accumulator] with SupportsOrderingWithinGroup
    with ImplicitCastInputTypes with GivesState {
  @transient private lazy val arguments = UnsafeProjection.create(Seq(argument))
  @transient private lazy val alone =
    frames.fold(FoldBatcher()(Seq(this)).columns.head) { case (batcher, i) => batcher.columns(i) }
  @transient private var shared: Option[FoldColumn] = None

  def columns: Seq[Expression] = children.dropRight(order.size)

  /** The keys of the order. */
  def by: Seq[SortOrder] = children.takeRight(order.size).zip(order).map { case (key, (direction, nulls)) =>
    SortOrder(key, direction, nulls, Nil)
  }

  /** The value that Python folds: the argument, or of several the first, with whether the second equals each other;
    * with what it is ordered by, if anything.
    */
  def argument: Expression = {
    val value =
      if (columns.size == 1) columns.head
      else CreateStruct(columns.head +: columns.drop(2).map(EqualTo(columns(1), _)))
    if (order.isEmpty) value
    else CreateNamedStruct((value +: by.map(_.child)).zipWithIndex.flatMap { case (field, i) => Seq(Literal(s"_$i"), field) })
  }

  /** The fold as workers are told of it. */
  def described: JsonNode =
    if (order.isEmpty) Json.parse(fold)
    else Json.obj("of" -> "ordered", "fold" -> Json.parse(fold), "type" -> Json.parse(argument.dataType.json),
      "order" -> order.map { case (direction, nulls) => Seq(direction == Descending, nulls == NullsFirst) })

  override def signature: Option[String] = gives
  override def dataType: DataType = if (frames.isEmpty) value else LongType
  override def nullable: Boolean = gives.isEmpty && !isNeverNull
  override def prettyName: String = name.stripPrefix("keyfold.")
  override def toString: String = s"$name(${(columns.map(_.toString) ++ options).mkString(", ")})${within(_.toString)}"
  override def sql(isDistinct: Boolean): String = s"$prettyName(${if (isDistinct) "DISTINCT " else ""}" +
    s"${(columns.map(_.sql) ++ options).mkString(", ")})${within(_.sql)}"

  private def within(shown: SortOrder => String): String =
    if (order.isEmpty) "" else s" WITHIN GROUP (ORDER BY ${by.map(shown).mkString(", ")})"

  override protected def flatArguments: Iterator[Any] = children.iterator
  override lazy val defaultResult: Option[Literal] = FoldFunction.ofNothing(empty, value)

  override def orderingFilled: Boolean = order.nonEmpty
  override def isOrderingMandatory: Boolean = false
  override def isDistinctSupported: Boolean = true
  override def withOrderingWithinGroup(found: Seq[SortOrder]): AggregateFunction = copy(
    children = columns ++ found.map(_.child), order = found.map(by => by.direction -> by.nullOrdering),
    inputTypes = if (inputTypes.isEmpty) Nil else inputTypes ++ found.map(_ => AnyDataType))

  /** Executor side: folds in a column that an operator shares among its functions, in place of one of its own. */
  def attach(column: FoldColumn): Unit = shared = Some(column)

  override def createAggregationBuffer(): Accumulator = {
    val column = shared.getOrElse(alone)
    if (shared.isEmpty && frames.isEmpty) column.restart()
    new Accumulator(column, column.newGroup())
  }

  override def update(group: Accumulator, row: InternalRow): Accumulator = {
    group.number = group.column.add(group.number, arguments(row))
    group
  }

  override def merge(group: Accumulator, other: Accumulator): Accumulator = {
    group.column.merge(group.number, other.payload)
    group
  }

  override def eval(group: Accumulator): Any =
    if (frames.isEmpty) group.column.value(group.number) else group.column.see(group.number)

  override def serialize(group: Accumulator): Array[Byte] = group.payload
  override def deserialize(payload: Array[Byte]): Accumulator = new Accumulator(null, -1, payload)

  override def withNewMutableAggBufferOffset(offset: Int): ImperativeAggregate = copy(mutableAggBufferOffset = offset)
  override def withNewInputAggBufferOffset(offset: Int): ImperativeAggregate = copy(inputAggBufferOffset = offset)
  override protected def withNewChildrenInternal(changed: IndexedSeq[Expression]): Expression = copy(children = changed)
}

object FoldFunction {
  /** The value of no rows, by its SQL text, or by the digits of bytes; of arrays it is the empty one. */
  def ofNothing(empty: Option[String], value: DataType): Option[Literal] = empty.map { text =>
    value match {
      case BinaryType => Literal(HexFormat.of.parseHex(text), value)
      case _: ArrayType => Literal(new GenericArrayData(Array.empty[Any]), value)
      case _ => Literal(Cast(Literal(text), value, Some("UTC")).eval(), value)
    }
  }
}

/** Executor side: a group of a fold: its number in a worker, or the payload that another task sent. */
final class Accumulator(val column: FoldColumn, var number: Long, sent: Array[Byte] = null) {
  def payload: Array[Byte] = if (column == null) sent else column.state(number)
}
