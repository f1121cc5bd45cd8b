package org.apache.spark.sql.keyfold.groups

import scala.util.{Left, Right}

import com.fasterxml.jackson.databind.JsonNode
import keyfold.spark.Json
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.execution.{ProjectExec, SparkPlan}
import org.apache.spark.sql.execution.aggregate.ObjectHashAggregateExec
import org.apache.spark.sql.keyfold.SqlTypes
import org.apache.spark.sql.keyfold.aggregates.FoldFunction
import org.apache.spark.sql.types._

/** Driver side: a call as Python folds it: a part for each of its buffers, and its result of those. */
final case class FoldedCall(parts: Seq[FoldedPart], result: Seq[Expression] => Expression)

/** Driver side: a fold of an argument, of type `value`, and the one of the buffers of tasks: the bytes of states or, if
  * it has no states, values. `finish` makes of its value what Spark would have.
  */
final case class FoldedPart(fold: JsonNode, argument: Expression, merge: JsonNode, value: DataType, hasStates: Boolean,
    finish: Expression => Expression)

/** Driver side: an aggregation that these operators can do, as them: of folds and of those of Spark's own functions
  * that Python has too.
  */
object FoldGroups {
  /** The operators, or why they can't do it. */
  def of(spark: ObjectHashAggregateExec): Either[String, SparkPlan] = {
    val calls = spark.aggregateExpressions
    val modes = calls.map(_.mode).distinct
    val folded = calls.map(_.aggregateFunction).map {
      case fold: FoldFunction => ours(fold).toRight(s"values of ${fold.prettyName} are ${shown(fold.argument)}")
      case other => SparkAggregates.folded(other).toRight(
          s"Python has no ${other.prettyName}(${other.children.map(shown).mkString(", ")}) like Spark's")
    }
    val key = spark.groupingExpressions.find(key => !isKnown(key.dataType)).map(key => s"${key.name} is ${shown(key)}")
    val several = Option.when(modes.size > 1)("only some functions are DISTINCT")
    folded.collectFirst { case Left(reason) => reason }.orElse(key).orElse(several).toLeft(
      planned(spark, modes.head, folded.collect { case Right(found) => found }))
  }

  private def shown(expression: Expression): String = expression.dataType.sql

  private def ours(fold: FoldFunction): Option[FoldedCall] = {
    val json = fold.described
    Option.when(isKnown(fold.argument.dataType))(
      FoldedCall(Seq(FoldedPart(json, fold.argument, json, fold.value, hasStates = true, identity)), _.head))
  }

  /** Whether Python has values of this type. */
  def isKnown(kind: DataType): Boolean = kind match {
    case ArrayType(element, _) => isKnown(element)
    case map: MapType => isKnown(map.keyType) && isKnown(map.valueType)
    case StructType(fields) => fields.forall(field => isKnown(field.dataType))
    case StringType | BinaryType | _: DecimalType => true
    case _ => SqlTypes.isWord(kind)
  }

  private def planned(spark: ObjectHashAggregateExec, mode: AggregateMode, folded: Seq[FoldedCall]): SparkPlan = {
    val takesBuffers = mode == PartialMerge || mode == Final
    val givesResults = mode == Final || mode == Complete
    val columns = new SinkColumns
    val keys = spark.groupingExpressions
    if (keys.nonEmpty) columns.addKey(keys)
    val parts = spark.aggregateExpressions.zip(folded).flatMap { case (call, found) => found.parts.map(call -> _) }
    val buffers = spark.child.output.takeRight(parts.size)
    val described = parts.zipWithIndex.map { case ((call, part), i) =>
      val of = if (takesBuffers) buffers(i) else part.argument
      val column = columns.add(of)
      val mask = if (takesBuffers) -1 else call.filter.fold(-1)(columns.addMask)
      val kind = if (part.hasStates) part.argument.dataType else of.dataType
      Json.obj("fold" -> (if (takesBuffers) part.merge else part.fold), "type" -> Json.parse(kind.json),
        "column" -> column, "is_packed" -> columns.isPacked(column), "is_state" -> (takesBuffers && part.hasStates),
        "mask" -> mask, "gives_state" -> (!givesResults && part.hasStates))
    }
    val question = Json.obj("question" -> "group", "keys" -> keys.map(key => Json.parse(key.dataType.json)),
      "folds" -> described, "spills" -> spark.requiredChildDistributionExpressions.isDefined)
    val rows = FoldRowsExec(columns.values, columns.forms, question.toString, spark.child)
    val shown = spark.resultExpressions.map(_.toAttribute)
    val (own, made) =
      if (givesResults) keys.map(_.toAttribute) -> parts.map { case (_, part) => AttributeReference("v", part.value)() }
      else (shown.take(keys.size), shown.drop(keys.size).map(_.withNullability(true))) // NULL of no rows, until finished
    val groups = FoldGroupsExec(own, made, spark.aggregateExpressions.map(_.toString), rows)
    val finished = parts.zip(made).map { case ((_, part), column) => part.finish(column) }
    if (givesResults) {
      val ends = folded.scanLeft(0)((end, call) => end + call.parts.size)
      val results = folded.zip(ends).zip(spark.aggregateAttributes).map { case ((call, start), attribute) =>
        Alias(call.result(finished.slice(start, start + call.parts.size)), attribute.name)(exprId = attribute.exprId)
      }
      ProjectExec(spark.resultExpressions, ProjectExec(own ++ results, groups))
    } else if (finished == made) groups
    else ProjectExec(own ++ made.zip(finished).map { case (column, value) => Alias(value, column.name)(column.exprId) },
      groups.copy(results = made))
  }
}

/** Driver side: the columns that a task sends, each once. */
private final class SinkColumns {
  private val found = scala.collection.mutable.ArrayBuffer.empty[(Seq[Expression], SharedColumn)]

  def values: Seq[Seq[Expression]] = found.map(_._1).toSeq
  def forms: Seq[SharedColumn] = found.map(_._2).toSeq
  def isPacked(column: Int): Boolean = found(column)._2.isPacked

  def addKey(keys: Seq[Expression]): Unit = {
    val form = if (keys.size == 1) SharedColumn.of(keys.head.dataType) else SharedColumn.Packed
    found += ((keys, if (form.width > 0) form else SharedColumn.Packed)): Unit
  }

  def add(value: Expression): Int = {
    val known = found.indexWhere { case (of, form) =>
      of.size == 1 && of.head.semanticEquals(value) && form == SharedColumn.of(value.dataType)
    }
    if (known >= 0) known
    else {
      found += ((Seq(value), SharedColumn.of(value.dataType)))
      found.size - 1
    }
  }

  /** A filter's NULL leaves a row out. */
  def addMask(filter: Expression): Int = add(Coalesce(Seq(filter, Literal.FalseLiteral)))
}
