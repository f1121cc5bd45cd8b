package org.apache.spark.sql.keyfold.groups

import keyfold.spark.Json
import keyfold.spark.functions._
import org.apache.spark.sql.catalyst.expressions.{Cast, Expression, Literal}
import org.apache.spark.sql.catalyst.expressions.objects.Invoke
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.keyfold.aggregates.FoldFunction
import org.apache.spark.sql.types.LongType

/** Driver side: bitmaps and sketches that are only made to be united are not made: Python folds the values. */
object MadeToUnite {
  def apply(node: SparkPlan): SparkPlan = node.transformExpressions {
    case fold: FoldFunction if fold.children.size == 1 => ofValues(fold).getOrElse(fold)
  }

  private def ofValues(fold: FoldFunction): Option[FoldFunction] = fold.children.head match {
    case Made(one: ToBitmapOfNumber, number) if one.name() == ToBitmap32.name() =>
      changed(fold, "bitmaps", "numbers", whole(number))
    case Made(HllOfNumber, cast: Cast) if Numbers.isBigint(cast.child.dataType) =>
      changed(fold, "sketches", "numbers", whole(cast))
    case Made(HllOfText | HllOfBytes, text) => changed(fold, "sketches", "texts", text)
    case _ => None
  }

  private def changed(fold: FoldFunction, from: String, to: String, argument: Expression): Option[FoldFunction] = {
    val described = Json.parse(fold.fold)
    Option.when(described.path("of").asText == from) {
      val name = described.path("name").asText
      fold.copy(fold = Json.obj("name" -> name, "of" -> to).toString, children = Seq(argument), inputTypes = Nil)
    }
  }

  /** A whole number before it was cast for a function, if it was a BIGINT or less. */
  private def whole(number: Expression): Expression = number match {
    case cast: Cast if Numbers.isBigint(cast.child.dataType) => Cast(cast.child, LongType)
    case other => other
  }

  /** The call of a scalar function of ours with one argument. */
  private object Made {
    def unapply(call: Expression): Option[(Any, Expression)] = call match {
      case call: Invoke => (call.targetObject, call.arguments) match {
          case (function: Literal, Seq(argument)) => Some(function.value -> argument)
          case _ => None
        }
      case _ => None
    }
  }
}
