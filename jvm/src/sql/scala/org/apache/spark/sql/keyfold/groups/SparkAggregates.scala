package org.apache.spark.sql.keyfold.groups

import com.fasterxml.jackson.databind.JsonNode
import keyfold.spark.Json
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.types._

/** Driver side: the aggregates of Spark that Python can compute with identical results, so that they may stand beside
  * ours, in one operator or in another. One difference: a BIGINT sum that overflows in between but ends in range raises
  * no error here.
  */
object SparkAggregates {
  private val MoreDigits = 10 // those that Spark gives a sum

  def folded(function: AggregateFunction): Option[FoldedCall] = function match {
    case count: Count => Some(call(count, counted(count.children)))
    case sum: Sum if isWhole(sum.child.dataType) && (sum.child.dataType != LongType ||
          sum.evalContext.evalMode == EvalMode.ANSI) =>
      Some(call(sum, part("sum", "sum", LongType, Cast(sum.child, LongType))))
    case sum: Sum if isFloating(sum.child.dataType) => Some(call(sum, floating(sum.child)))
    case sum: Sum if isExact(sum.child.dataType) && sum.aggBufferAttributes.size == 2 =>
      Some(call(sum, exact(sum.child, sum.dataType),
        part("min", "min", BooleanType, If(IsNotNull(sum.child), Literal.FalseLiteral, Literal(null, BooleanType)))
          .copy(finish = isEmpty => Coalesce(Seq(isEmpty, Literal.TrueLiteral)))))
    case mean: Average if isExact(mean.child.dataType) =>
      Some(call(mean, exact(mean.child, mean.aggBufferAttributes.head.dataType), counted(mean.children)))
    case mean: Average if isWhole(mean.child.dataType) || isFloating(mean.child.dataType) =>
      Some(call(mean, floating(mean.child).copy(finish = sum => Coalesce(Seq(positive(sum), Literal(0.0)))),
        counted(mean.children)))
    case min: Min if isOrdered(min.dataType) => Some(call(min, part("min", "min", min.dataType, min.child)))
    case max: Max if isOrdered(max.dataType) => Some(call(max, part("max", "max", max.dataType, max.child)))
    case _ => None
  }

  private def isWhole(kind: DataType): Boolean = kind.isInstanceOf[IntegralType]
  private def isFloating(kind: DataType): Boolean = kind == DoubleType || kind == FloatType

  /** Whether a DECIMAL has so few digits that no sum of such is beyond what Spark gives it. */
  private def isExact(kind: DataType): Boolean = kind match {
    case decimal: DecimalType => decimal.precision + MoreDigits <= DecimalType.MAX_PRECISION
    case _ => false
  }

  /** Whether Python's extremes are Spark's: not of floating numbers, as of both zeros Spark keeps the first. */
  private def isOrdered(kind: DataType): Boolean = kind match {
    case _: IntegralType | _: DatetimeType | _: DecimalType => true
    case _ => false
  }

  private def call(function: DeclarativeAggregate, parts: FoldedPart*): FoldedCall = FoldedCall(parts, values => {
    val found = function.aggBufferAttributes.map(_.exprId).zip(values).toMap
    function.evaluateExpression.transform { case buffer: AttributeReference if found.contains(buffer.exprId) =>
      found(buffer.exprId)
    }
  })

  private def part(fold: String, merge: String, kind: DataType, argument: Expression): FoldedPart =
    FoldedPart(json(fold, kind), argument, json(merge, kind), kind, hasStates = false, identity)

  private def json(fold: String, kind: DataType): JsonNode =
    Json.obj("name" -> fold, "type" -> Json.parse(kind.json), "options" -> Json.obj())

  private def counted(of: Seq[Expression]): FoldedPart = {
    val isThere = of.filter(_.nullable).map(IsNotNull(_): Expression).reduceOption(And(_, _))
    val flag = isThere.fold[Expression](Literal.TrueLiteral)(If(_, Literal.TrueLiteral, Literal(null, BooleanType)))
    part("count", "sum", LongType, flag).copy(finish = count => Coalesce(Seq(count, Literal(0L))))
  }

  private def exact(of: Expression, kind: DataType): FoldedPart =
    part("sum", "sum", kind, Cast(of, kind)).copy(finish = sum => Coalesce(Seq(sum, Literal.default(kind))))

  private def floating(of: Expression): FoldedPart =
    part("sum", "sum", DoubleType, Cast(of, DoubleType)).copy(finish = positive)

  /** Spark adds to 0.0, which makes -0.0 of nothing else; a fold begins with the first value. */
  private def positive(sum: Expression): Expression = Add(sum, Literal(0.0))
}
