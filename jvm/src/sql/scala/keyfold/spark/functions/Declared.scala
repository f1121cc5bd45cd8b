package keyfold.spark.functions

import org.apache.spark.sql.connector.catalog.functions.{BoundFunction, ScalarFunction, UnboundFunction}
import org.apache.spark.sql.types.{BinaryType, DataType, StructType}

/** Both sides: the description of a function; DESCRIBE FUNCTION shows it, docs/states.md is held to it.
  * `names` are its name and its aliases, `call` its arguments and result as `(bitmap, BIGINT) BOOLEAN`.
  */
final case class About(names: String, call: String, nulls: String, text: String) {
  val name: String = names.takeWhile(_ != ' ')
  def allNames: Seq[String] = names.split(' ').toSeq
  def arguments: String = call.substring(0, call.lastIndexOf(')') + 1)
  def result: String = call.substring(call.lastIndexOf(')') + 2)
}

/** Driver side: a function of every keyfold catalog, before its argument types are known. */
trait Declared extends UnboundFunction {
  def about: About

  override def name(): String = about.name
  override def description(): String = lines.mkString(". ")
  def isAggregate: Boolean = false

  /** The lines that DESCRIBE FUNCTION prints. */
  def lines: Seq[String] = Seq(
    s"Usage: ${about.name}${about.arguments} -> ${about.result}",
    s"Kind: ${if (isAggregate) "aggregate" else "scalar"}",
    s"Gives: ${about.text}",
    s"NULL: ${about.nulls}",
    s"Names: ${about.allNames.mkString(", ")}")

  /** The one form of this function, or the form for these types. Spark casts arguments to what it takes. */
  protected def form(arguments: Seq[DataType]): BoundFunction

  override def bind(arguments: StructType): BoundFunction = {
    val bound = form(arguments.fields.toSeq.map(_.dataType))
    if (bound.inputTypes.length != arguments.length) throw wrong(s"not ${arguments.length} arguments")
    bound
  }

  /** The error that Spark shows as FUNCTION_CANNOT_PROCESS_INPUT. */
  def wrong(found: String): Throwable =
    new UnsupportedOperationException(s"${about.name} takes ${about.arguments}, $found")
}

/** Executor side: one form of a function. Two of one name and types are the same function, so that Spark
  * sees that `GROUP BY f(x)` and `SELECT f(x)` are one expression.
  */
trait Bound extends BoundFunction {
  override def canonicalName(): String = s"keyfold.${name()}(${inputTypes.map(_.sql).mkString(",")})"
  override def toString: String = name()
  override def hashCode: Int = canonicalName.hashCode
  override def equals(other: Any): Boolean = other match {
    case same: Bound => canonicalName == same.canonicalName
    case _ => false
  }
}

/** Both sides: a scalar function with one form. Spark calls its `invoke` from generated code; where a
  * number may be NULL without the result being NULL there is `produceResult` instead.
  */
abstract class Scalar[R](val about: About, result: DataType, arguments: DataType*)
    extends Declared with ScalarFunction[R] with Bound {
  override protected def form(found: Seq[DataType]): BoundFunction = this
  override def name(): String = about.name
  override def inputTypes(): Array[DataType] = arguments.toArray
  override def resultType(): DataType = result
}

/** Driver side: an aggregate that Python folds, for arguments of certain types. `of` says to Python what they are,
  * `nothing` is the result of no rows.
  */
final class FoldForm(val about: About, val of: String, val nothing: Any, result: DataType, arguments: DataType*)
    extends Bound {
  override def name(): String = about.name
  override def inputTypes(): Array[DataType] = arguments.toArray
  override def resultType(): DataType = result
  override def isResultNullable: Boolean = false
}

/** Driver side: an aggregate that Python folds, with one form: of bytes that were stored. */
abstract class FoldOfBytes(override val about: About, of: String, nothing: => Any, result: DataType) extends Declared {
  override def isAggregate: Boolean = true
  override protected def form(found: Seq[DataType]): BoundFunction = new FoldForm(about, of, nothing, result, BinaryType)
}
