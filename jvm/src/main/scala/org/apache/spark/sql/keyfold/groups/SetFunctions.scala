package org.apache.spark.sql.keyfold.groups

import java.nio.charset.StandardCharsets.UTF_8

import keyfold.spark.Json
import keyfold.spark.functions._
import org.apache.spark.sql.catalyst.expressions.{Cast, Expression, Literal}
import org.apache.spark.sql.catalyst.expressions.aggregate.V2Aggregator
import org.apache.spark.sql.catalyst.expressions.objects.Invoke
import org.apache.spark.sql.execution.aggregate.ObjectHashAggregateExec
import org.apache.spark.sql.keyfold.aggregates.FoldFunction
import org.apache.spark.sql.types.{BinaryType, DataType, LongType}

/** Driver side: bitmaps and sketches of whole numbers are folds of Python in an operator, so that no object is made for
  * a group. In streams, windows and sorted aggregations the JVM makes them.
  */
object SetFunctions {
  def folded(spark: ObjectHashAggregateExec): ObjectHashAggregateExec =
    if (spark.isStreaming) spark
    else spark.copy(aggregateExpressions = spark.aggregateExpressions.map { call =>
      call.aggregateFunction match {
        case declared: V2Aggregator[_, _] => fold(declared).fold(call)(made => call.copy(aggregateFunction = made))
        case _ => call
      }
    })

  private def fold(declared: V2Aggregator[_, _]): Option[FoldFunction] = (declared.aggrFunc, declared.children) match {
    case (numbers: NumbersFold, Seq(number)) if number.dataType == LongType =>
      Some(made(numbers, number, new Bitmap().toBytes))
    case (union: HllFold[_], Seq(Invoke(Literal(HllOfNumber, _), _, _, Seq(cast: Cast), _, _, _, _)))
        if Numbers.isBigint(cast.child.dataType) => Some(made(union, Cast(cast.child, LongType), HllEmpty.invoke()))
    case _ => None
  }

  /** The bytes of nothing are those of a text too. */
  private def made(function: Aggregation[_, _], number: Expression, nothing: Array[Byte]): FoldFunction = {
    val kind: DataType = function.resultType()
    FoldFunction(s"keyfold.${function.name()}", Json.obj("name" -> function.name(), "is_set" -> true).toString, kind,
      Some(if (kind == BinaryType) new String(nothing, UTF_8) else "0"), Seq(number))
  }
}
