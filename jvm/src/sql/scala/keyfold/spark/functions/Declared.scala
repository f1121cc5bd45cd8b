package keyfold.spark.functions

import keyfold.spark.Json
import org.apache.spark.sql.connector.catalog.functions.{ScalarFunction, UnboundFunction}
import org.apache.spark.sql.types.{DataType, StructType}

/** Driver side: a scalar function of every keyfold catalog, before its argument types are known. Python describes it. */
trait Declared extends UnboundFunction {
  /** The name and the aliases, with blanks between them. */
  def names: String
  private lazy val first = names.takeWhile(_ != ' ')

  override def name(): String = first
  override def description(): String = lines.mkString(". ")

  /** The lines that DESCRIBE FUNCTION prints. */
  def lines: Seq[String] = Json.strings(Aggregates.ask("describe_function", "name" -> name()))

  /** The one form of this function, or the form for these types. Spark casts arguments to what it takes. */
  protected def form: PartialFunction[Seq[DataType], Scalar[_]]

  /** The form for these types, or the error that Spark shows as FUNCTION_CANNOT_PROCESS_INPUT. */
  override def bind(arguments: StructType): Scalar[_] = {
    val found = arguments.fields.toSeq.map(_.dataType)
    form.lift(found).filter(_.inputTypes.length == found.length).getOrElse(throw new UnsupportedOperationException(
      s"expected ${lines.head.stripPrefix("Usage: ")}, found ${found.map(_.sql).mkString("(", ", ", ")")}"))
  }
}

/** Both sides: a scalar function with one form. Spark calls its `invoke` from generated code; where a
  * number may be NULL without the result being NULL there is `produceResult` instead. Two of one name and types are the
  * same function, so that Spark sees that `GROUP BY f(x)` and `SELECT f(x)` are one expression.
  */
abstract class Scalar[R](val names: String, result: DataType, arguments: DataType*)
    extends Declared with ScalarFunction[R] {
  override protected def form: PartialFunction[Seq[DataType], Scalar[_]] = { case _ => this }
  override def inputTypes(): Array[DataType] = arguments.toArray
  override def resultType(): DataType = result
  override def canonicalName(): String = s"keyfold.${name()}(${inputTypes.map(_.sql).mkString(",")})"
  override def toString: String = name()
  override def hashCode: Int = canonicalName.hashCode
  override def equals(other: Any): Boolean = other match {
    case same: Scalar[_] => canonicalName == same.canonicalName
    case _ => false
  }
}
