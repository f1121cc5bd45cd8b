package org.apache.spark.sql.keyfold.aggregates

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.DeclarativeAggregate
import org.apache.spark.sql.types.{BinaryType, DataType, StructType}

/** Both sides: an expression whose value is the state of an aggregate. */
trait GivesState {
  /** Empty where the value is a result. */
  def signature: Option[String]
}

/** Driver side: the function, the signature and the result of a call over states. */
final case class Shape(function: String, signature: String, constants: String, givesState: Boolean) {
  def header: Array[Byte] = StateBytes.header(signature + constants)
}

/** Both sides: a declarative aggregate of Spark that takes rows and gives a state, or the result. */
final case class CombinedState(of: DeclarativeAggregate, shape: Shape, finishes: String = "") extends OverBuffer {
  override def children: Seq[Expression] = of.children
  override lazy val updateExpressions: Seq[Expression] = of.updateExpressions
  override protected def withNewChildrenInternal(made: IndexedSeq[Expression]): CombinedState =
    copy(of = of.withNewChildren(made).asInstanceOf[DeclarativeAggregate])
}

/** Both sides: a declarative aggregate of Spark that takes states; NULL is nothing. */
final case class MergedState(of: DeclarativeAggregate, state: Expression, buffer: StructType, shape: Shape,
    finishes: String) extends OverBuffer {
  override def children: Seq[Expression] = Seq(state)

  override lazy val updateExpressions: Seq[Expression] = {
    val fields = of.inputAggBufferAttributes.map(_.exprId).zipWithIndex.toMap
    val opened = FieldsOfState(state, shape.signature, buffer, shape.function)
    of.aggBufferAttributes.zip(of.mergeExpressions).map { case (own, merged) =>
      If(IsNull(state), own, merged.transform {
        case input: AttributeReference if fields.contains(input.exprId) => GetStructField(opened, fields(input.exprId))
      })
    }
  }

  /** Copies have buffers of their own. */
  override protected def withNewChildrenInternal(made: IndexedSeq[Expression]): MergedState = copy(
    of = of.makeCopy(of.productIterator.map(_.asInstanceOf[AnyRef]).toArray).asInstanceOf[DeclarativeAggregate],
    state = made.head)
}

/** Both sides: an aggregate whose buffer is that of another. */
abstract class OverBuffer extends DeclarativeAggregate with GivesState {
  def of: DeclarativeAggregate
  def shape: Shape
  def finishes: String
  private def finished: Expression = BoundState.finish(of.evaluateExpression, finishes)

  override def signature: Option[String] = Option.when(shape.givesState)(shape.signature)
  override def prettyName: String = shape.function
  override protected def flatArguments: Iterator[Any] = children.iterator
  override def nullable: Boolean = !shape.givesState && finished.nullable
  override def dataType: DataType = if (shape.givesState) BinaryType else finished.dataType
  override lazy val aggBufferAttributes: Seq[AttributeReference] = of.aggBufferAttributes
  override lazy val initialValues: Seq[Expression] = of.initialValues
  override lazy val evaluateExpression: Expression =
    if (shape.givesState) StateOfFields(shape.header, of.aggBufferAttributes) else finished

  override lazy val mergeExpressions: Seq[Expression] = {
    val own = of.inputAggBufferAttributes.map(_.exprId).zip(inputAggBufferAttributes).toMap
    of.mergeExpressions.map(_.transform {
      case input: AttributeReference if own.contains(input.exprId) => own(input.exprId)
    })
  }
}
