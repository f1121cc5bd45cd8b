package keyfold.spark.questions

import com.fasterxml.jackson.databind.JsonNode
import keyfold.spark.Json
import org.apache.spark.sql.connector.expressions.{Expression, Literal, NamedReference}
import org.apache.spark.sql.connector.expressions.aggregate.{AggregateFunc, Aggregation, Count, CountStar, Max, Min}
import org.apache.spark.sql.connector.expressions.filter.Predicate
import org.apache.spark.sql.types.{LongType, StructField, StructType}

/** Driver side: what Python says that scans of a table do in Spark's place. */
final case class Pushdown(columns: Set[String], operators: Set[String], extremes: Set[String]) {

  /** Whether no row comes back for which the condition is not true. Conditions that are compared, or tested
    * for NULL, are Spark's.
    */
  def decides(condition: Predicate, table: StructType): Boolean =
    operators(condition.name) && (condition.children match {
      case Array(column: NamedReference, literals @ _*) =>
        Pushdown.named(column).filter(columns).exists { name =>
          literals.forall(isOfType(_, table(name)))
        }
      case inner if Predicates.Connectives(condition.name) => inner.forall {
          case one: Predicate => decides(one, table)
          case _ => false
        }
      case _ => false
    })

  private def isOfType(constant: Expression, field: StructField): Boolean = constant match {
    case literal: Literal[_] => literal.dataType == field.dataType && Predicates.literal(literal).isDefined
    case _ => false
  }

  /** The question to Python, and the columns that come back; None where Spark has to do it. */
  def summary(asked: Aggregation, table: StructType, partitioning: Seq[String]): Option[Summary] = {
    val by = asked.groupByExpressions.toSeq.map(Pushdown.named(_).filter(partitioning.contains))
    val functions = asked.aggregateExpressions.toSeq.map(function(_, table))
    Option.when((by ++ functions).forall(_.isDefined)) {
      Summary(by.flatten, functions.flatten, table)
    }
  }

  private def function(asked: AggregateFunc, table: StructType): Option[(String, Option[String])] = asked match {
    case _: CountStar => Some("COUNT" -> None)
    case count: Count if !count.isDistinct =>
      Pushdown.named(count.column).filter(!table(_).nullable).map(_ => "COUNT" -> None)
    case min: Min => Pushdown.named(min.column).filter(extremes).map(name => "MIN" -> Some(name))
    case max: Max => Pushdown.named(max.column).filter(extremes).map(name => "MAX" -> Some(name))
    case _ => None
  }
}

object Pushdown {
  def fromJson(json: JsonNode): Pushdown = {
    def names(field: String) = Json.strings(json.path(field)).toSet
    Pushdown(names("columns"), names("operators"), names("extremes"))
  }

  /** The name of a column, None of a struct's field. */
  def named(expression: Expression): Option[String] = expression match {
    case column: NamedReference if column.fieldNames.length == 1 => column.fieldNames.headOption
    case _ => None
  }
}

/** Driver side: a summary of rows in their place. */
final case class Summary(by: Seq[String], functions: Seq[(String, Option[String])], table: StructType) {
  def schema: StructType = StructType(by.map(table(_)) ++ functions.zipWithIndex.map {
    case ((name, column), place) =>
      StructField(s"$name $place", column.map(table(_).dataType).getOrElse(LongType))
  })

  def toJson: JsonNode = Json.obj("by" -> by,
    "functions" -> functions.map { case (name, column) => Seq(name, column) })
}
