package org.apache.spark.sql.keyfold.groups

import java.nio.charset.StandardCharsets.UTF_8

import keyfold.spark.Json
import keyfold.spark.functions._
import org.apache.spark.sql.catalyst.expressions.{Cast, Expression, Literal}
import org.apache.spark.sql.catalyst.expressions.objects.Invoke
import org.apache.spark.sql.execution.aggregate.ObjectHashAggregateExec
import org.apache.spark.sql.keyfold.aggregates.{DeclaredAggregate, FoldFunction}
import org.apache.spark.sql.types.{BinaryType, DataType, LongType}

/** Driver side: aggregates of bitmaps, sketches and quantile states are folds of Python in an operator, so that no
  * object is made for a group, nor for a value that only becomes a bitmap or a sketch to be united. In streams, windows
  * and sorted aggregations the JVM makes them.
  */
object SetFunctions {
  def folded(spark: ObjectHashAggregateExec): ObjectHashAggregateExec =
    if (spark.isStreaming) spark
    else spark.copy(aggregateExpressions = spark.aggregateExpressions.map { call =>
      call.aggregateFunction match {
        case declared: DeclaredAggregate => fold(declared).fold(call)(made => call.copy(aggregateFunction = made))
        case _ => call
      }
    })

  private def fold(declared: DeclaredAggregate): Option[FoldFunction] = (declared.function, declared.children) match {
    case (numbers: NumbersFold, Seq(number)) => Some(made(numbers, "numbers", number, EmptyBitmap))
    case (union @ (BitmapUnion | BitmapUnionCount), Seq(bitmap)) =>
      val (of, argument) = bitmap match {
        case Made(one: ToBitmapOfNumber, number) if one.name() == ToBitmap32.about.name => "numbers" -> whole(number)
        case stored => "bitmaps" -> stored
      }
      Some(made(union.asInstanceOf[Aggregation[_, _]], of, argument, EmptyBitmap))
    case (algebra @ (BitmapIntersect | GroupBitmapXor), Seq(bitmap)) =>
      Some(made(algebra.asInstanceOf[Aggregation[_, _]], "algebra", bitmap, EmptyBitmap))
    case (union: HllFold[_], Seq(sketch)) =>
      val (of, argument) = sketch match {
        case Made(HllOfNumber, cast: Cast) if Numbers.isBigint(cast.child.dataType) => "numbers" -> whole(cast)
        case Made(HllOfText | HllOfBytes, text) => "texts" -> text
        case stored => "sketches" -> stored
      }
      Some(made(union, of, argument, HllEmpty.invoke()))
    case (QuantileUnion, Seq(state)) => Some(made(QuantileUnion, "quantiles", state, new QuantileState().toBytes))
    case _ => None
  }

  private def EmptyBitmap: Array[Byte] = new Bitmap().toBytes

  /** A whole number before it was cast for a function, if it was a BIGINT or less. */
  private def whole(number: Expression): Expression = number match {
    case cast: Cast if Numbers.isBigint(cast.child.dataType) => Cast(cast.child, LongType)
    case other => other
  }

  /** The bytes of nothing are those of a text too. */
  private def made(function: Aggregation[_, _], of: String, argument: Expression, nothing: Array[Byte]): FoldFunction = {
    val kind: DataType = function.resultType()
    FoldFunction(s"keyfold.${function.name()}", Json.obj("name" -> function.name(), "of" -> of).toString, kind,
      Some(if (kind == BinaryType) new String(nothing, UTF_8) else "0"), Seq(argument))
  }

  /** The call of a scalar function of ours with one argument. */
  private object Made {
    def unapply(call: Expression): Option[(Any, Expression)] = call match {
      case Invoke(Literal(function, _), _, _, Seq(argument), _, _, _, _) => Some(function -> argument)
      case _ => None
    }
  }
}
