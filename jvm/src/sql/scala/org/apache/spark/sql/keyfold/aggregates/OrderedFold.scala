package org.apache.spark.sql.keyfold.aggregates

import java.nio.{ByteBuffer, ByteOrder}

import scala.collection.mutable.ArrayBuffer

import keyfold.spark.KeyfoldException
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.plans.logical.{CollectMetrics, LogicalPlan}
import org.apache.spark.sql.types.{BinaryType, DataType}
import org.apache.spark.unsafe.Platform

/** Both sides: an aggregate `WITHIN GROUP (ORDER BY …)`. The rows of a group are kept, with what they are ordered by,
  * and Python folds them in that order at the end.
  */
final case class OrderedFold(
    call: FoldFunction,
    by: Seq[Expression],
    directions: Seq[(SortDirection, NullOrdering)],
    mutableAggBufferOffset: Int = 0,
    inputAggBufferOffset: Int = 0) extends TypedImperativeAggregate[OrderedRows] with SupportsOrderingWithinGroup {
  @transient private lazy val kept = UnsafeProjection.create(children)
  @transient private lazy val arguments = UnsafeProjection.create(Seq(call.copy(children = fields.take(call.children.size)).argument))
  @transient private lazy val order = RowOrdering.create(orders(fields.drop(call.children.size)), Nil)
  @transient private lazy val alone = new FoldBatcher(Seq(call)).columns.head
  @transient private var shared: Option[FoldColumn] = None
  @transient private lazy val own = new KeptBytes
  @transient private var counted: Option[KeptBytes] = None

  private def fields = children.zipWithIndex.map { case (child, i) => BoundReference(i, child.dataType, child.nullable) }
  private def column: FoldColumn = shared.getOrElse(alone)

  override def children: Seq[Expression] = call.children ++ by
  override def dataType: DataType = call.dataType
  override def nullable: Boolean = true
  override def prettyName: String = call.prettyName
  override def sql(isDistinct: Boolean): String =
    s"${call.sql(isDistinct)} WITHIN GROUP (ORDER BY ${orders(by).map(_.sql).mkString(", ")})"

  private def orders(of: Seq[Expression]): Seq[SortOrder] = of.zip(directions).map { case (one, (direction, nulls)) =>
    SortOrder(one, direction, nulls, Nil)
  }
  override def toString: String = s"$call WITHIN GROUP (ORDER BY ${by.mkString(", ")})"
  override protected def flatArguments: Iterator[Any] = children.iterator
  override def defaultResult: Option[Literal] = call.defaultResult
  override def orderingFilled: Boolean = true
  override def isOrderingMandatory: Boolean = false
  override def isDistinctSupported: Boolean = true
  override def withOrderingWithinGroup(order: Seq[SortOrder]): AggregateFunction = call.withOrderingWithinGroup(order)

  /** Executor side: folds in a column that an operator shares among its functions, in place of one of its own. */
  def attach(to: FoldColumn, kept: KeptBytes): Unit = {
    shared = Some(to)
    counted = Some(kept)
  }

  /** Executor side: sends the rows of a group, so that its value comes together with those of others. */
  def prepare(buffer: InternalRow): Unit =
    send(buffer.get(mutableAggBufferOffset, BinaryType).asInstanceOf[OrderedRows]): Unit

  private def send(group: OrderedRows): Int = {
    if (group.number < 0) {
      if (call.isSingle) column.restart()
      group.number = column.newGroup()
      group.rows.sorted(order).foreach(row => column.add(group.number, arguments(row)))
    }
    group.number
  }

  override def createAggregationBuffer(): OrderedRows = new OrderedRows
  override def update(group: OrderedRows, row: InternalRow): OrderedRows = add(group, kept(row).copy())

  private def add(group: OrderedRows, row: UnsafeRow): OrderedRows = {
    group.number = -1
    group.rows += row
    counted.getOrElse(own).count += OrderedFold.RowBytes + row.getSizeInBytes
    group
  }

  override def merge(group: OrderedRows, other: OrderedRows): OrderedRows = {
    other.rows.foreach(add(group, _))
    group
  }

  override def eval(group: OrderedRows): Any = column.value(send(group))

  override def serialize(group: OrderedRows): Array[Byte] = {
    val size = group.rows.iterator.map(_.getSizeInBytes + 4L).sum
    if (size > OrderedFold.MostBytes)
      throw new KeyfoldException("NotSupportedError", s"function ${call.name} WITHIN GROUP: the rows of one group take "
        + s"$size bytes; Spark moves at most ${OrderedFold.MostBytes} as one value")
    val payload = ByteBuffer.allocate(size.toInt).order(ByteOrder.LITTLE_ENDIAN)
    group.rows.foreach(row => payload.putInt(row.getSizeInBytes).put(row.getBytes))
    payload.array
  }

  override def deserialize(payload: Array[Byte]): OrderedRows = {
    val read = ByteBuffer.wrap(payload).order(ByteOrder.LITTLE_ENDIAN)
    val group = new OrderedRows
    while (read.hasRemaining) {
      val size = read.getInt
      val row = new UnsafeRow(children.size)
      row.pointTo(payload, Platform.BYTE_ARRAY_OFFSET + read.position().toLong, size)
      group.rows += row
      read.position(read.position() + size)
    }
    group
  }

  override def withNewMutableAggBufferOffset(offset: Int): ImperativeAggregate = copy(mutableAggBufferOffset = offset)
  override def withNewInputAggBufferOffset(offset: Int): ImperativeAggregate = copy(inputAggBufferOffset = offset)
  override protected def withNewChildrenInternal(changed: IndexedSeq[Expression]): Expression = {
    val (of, order) = changed.splitAt(call.children.size)
    copy(call = call.copy(children = of), by = order)
  }
}

object OrderedFold {
  private val RowBytes = 64
  private val MostBytes = Int.MaxValue - 15 // of an array of Java, rounded up to words
}

/** Executor side: the bytes of the rows that an operator keeps. */
final class KeptBytes {
  var count = 0L
}

/** Executor side: the rows of one group, and its number where they were sent. */
final class OrderedRows {
  val rows = new ArrayBuffer[UnsafeRow]
  var number: Int = -1
}

/** Driver side: refuses DISTINCT with an ORDER BY on another expression: which of two equal values remains would be
  * undefined; and folds in observed metrics, which Spark puts together on the driver. To an
  * AnalysisException Spark would add the whole plan.
  */
object RefusedFolds extends (LogicalPlan => Unit) {
  override def apply(plan: LogicalPlan): Unit = plan.foreach(node => node.expressions.foreach(_.foreach {
    case fold: FoldFunction if node.isInstanceOf[CollectMetrics] => throw observed(fold)
    case fold: OrderedFold if node.isInstanceOf[CollectMetrics] => throw observed(fold.call)
    case call: AggregateExpression if call.isDistinct => call.aggregateFunction match {
        case fold: OrderedFold if !fold.by.forall(isValue(fold, _)) => throw new KeyfoldException("NotSupportedError",
            s"function ${fold.call.name}: DISTINCT together with WITHIN GROUP (ORDER BY "
              + s"${fold.by.map(_.sql).mkString(", ")}); expected ORDER BY ${fold.call.children.head.sql}")
        case _ =>
      }
    case _ =>
  }))

  private def observed(fold: FoldFunction): Throwable =
    new KeyfoldException("NotSupportedError", s"function ${fold.name} in observed metrics is not supported: they are put "
      + "together where no worker folds; aggregate the DataFrame")

  private def isValue(fold: OrderedFold, key: Expression): Boolean = fold.call.children.head match {
    case cast: Cast if cast.child.semanticEquals(key) => true
    case value => value.semanticEquals(key)
  }
}
