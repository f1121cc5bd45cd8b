package keyfold.spark.questions

import com.fasterxml.jackson.databind.JsonNode
import keyfold.spark.Json
import org.apache.spark.sql.connector.expressions.{Expression, Literal, NamedReference}
import org.apache.spark.sql.connector.expressions.filter.Predicate
import org.apache.spark.sql.types.{ArrayType, DataType, MapType, StructField, StructType}

/** Driver side: the conditions and functions that scans of a table take over from Spark, as Python says. */
final case class Pushdown(columns: Set[String], operators: Set[String], nested: Set[String],
    exact: Set[String], folds: Folds) {

  /** Whether no row comes back, or is folded, for which the condition is not true. Conditions that are compared, or
    * tested for NULL, are Spark's.
    */
  def decides(condition: Predicate, table: StructType, among: Set[String] = columns): Boolean =
    operators(condition.name) && (condition.children match {
      case Array(column: NamedReference, literals @ _*) =>
        Pushdown.named(column).filter(among).exists { name =>
          Predicates.toJson(condition).isDefined && literals.forall(isOfType(_, table(name)))
        }
      case inner if Predicates.Connectives(condition.name) => inner.forall {
          case one: Predicate => decides(one, table, among)
          case _ => false
        }
      case _ => false
    })

  private def isOfType(constant: Expression, field: StructField): Boolean = constant match {
    case literal: Literal[_] => literal.dataType == field.dataType
    case _ => false
  }
}

object Pushdown {
  def fromJson(json: JsonNode): Pushdown = {
    def names(field: String) = Json.strings(json.path(field)).toSet
    Pushdown(names("columns"), names("operators"), names("nested"), names("exact"), Folds.fromJson(json))
  }

  /** The parts of columns that are read, by column, where that is not all: of a struct its fields, of an array what
    * of its elements, of a map what of its keys and what of its values.
    */
  def parts(columns: StructType, whole: StructType): Map[String, Any] = columns.fields.toSeq.collect {
    case field if !DataType.equalsStructurally(field.dataType, whole(field.name).dataType) =>
      field.name -> part(field.dataType)
  }.toMap

  private def part(kind: DataType): Any = kind match {
    case struct: StructType => struct.fields.map(field => field.name -> part(field.dataType)).toMap
    case array: ArrayType => part(array.elementType)
    case map: MapType => Seq(part(map.keyType), part(map.valueType))
    case _ => None
  }

  /** How many values a column may have, by each condition that lists them. */
  def values(column: String, conditions: Seq[Predicate]): Seq[Int] = conditions.collect {
    case one if Set("=", "<=>", "IN")(one.name) && one.children.headOption.flatMap(named).contains(column) =>
      one.children.length - 1
  }

  /** The name of a column, None of a struct's field. */
  def named(expression: Expression): Option[String] = expression match {
    case column: NamedReference if column.fieldNames.length == 1 => column.fieldNames.headOption
    case _ => None
  }
}
