package keyfold.spark.questions

import java.util.Base64

import com.fasterxml.jackson.databind.JsonNode
import keyfold.spark.Json
import org.apache.spark.sql.connector.expressions.{Expression, GeneralScalarExpression, Literal, NamedReference}
import org.apache.spark.sql.connector.expressions.filter.Predicate
import org.apache.spark.sql.types.{BinaryType, Decimal}
import org.apache.spark.unsafe.types.UTF8String

/** Driver side: Spark's predicates on the wire, under Spark's own names; None for what has no form. */
object Predicates {
  private val LargestExact = 1L << 53
  /** Operators that make one condition of others. */
  val Connectives: Set[String] = Set("AND", "OR", "NOT")

  /** `{"literal": value, "type": Spark's type}`; numbers that JSON could round are strings. */
  def literal(literal: Literal[_]): Option[JsonNode] =
    value(literal.value).map { plain =>
      Json.obj("literal" -> plain, "type" -> Json.parse(literal.dataType.json))
    }

  def toJson(argument: Expression): Option[JsonNode] = argument match {
    case column: NamedReference => Some(Json.obj("column" -> column.fieldNames))
    case predicate: Predicate => call(predicate) // ALWAYS_TRUE is a literal too, and a condition here
    case constant: Literal[_] => literal(constant)
    case _ => None
  }

  private def call(predicate: GeneralScalarExpression): Option[JsonNode] = {
    val arguments = predicate.children.toSeq.map {
      case Unprintable() => None
      case constant: Literal[_] if !Connectives(predicate.name) => literal(constant)
      case other => toJson(other)
    }
    if (arguments.forall(_.isDefined))
      Some(Json.obj("op" -> predicate.name, "args" -> arguments.flatten))
    else None
  }

  /** Spark fails to print a condition that a scan took if it has a NULL of BINARY. */
  private object Unprintable {
    def unapply(constant: Literal[_]): Boolean = constant.value == null && constant.dataType == BinaryType
  }

  private def value(constant: Any): Option[Any] = constant match {
    case null => Some(null)
    case text: UTF8String if text.isValid => Some(text.toString) // else other text would come of it
    case flag: Boolean => Some(flag)
    case number: Byte => Some(number.toInt)
    case number: Short => Some(number.toInt)
    case number: Int => Some(number)
    case number: Long => Some(if (number.abs < LargestExact) number else number.toString)
    case number: Float => Some(finite(number.toDouble))
    case number: Double => Some(finite(number))
    case number: Decimal => Some(number.toJavaBigDecimal.toPlainString)
    case bytes: Array[Byte] => Some(Base64.getEncoder.encodeToString(bytes))
    case _ => None
  }

  private def finite(number: Double): Any =
    if (number.isNaN || number.isInfinite) number.toString else number
}
