package org.apache.spark.sql.keyfold.aggregates

import keyfold.spark.functions.Declared
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.connector.catalog.functions.{ScalarFunction, UnboundFunction}
import org.apache.spark.sql.errors.QueryCompilationErrors
import org.apache.spark.sql.internal.connector.V1Function
import org.apache.spark.sql.types.{AbstractDataType, StructField, StructType}

/** Driver side: calls of declared functions as expressions that go by the name that was written, in the names of
  * columns and in errors. Those that Spark makes of a catalog's functions show as `invoke(…)`.
  */
object DeclaredCalls {
  /** The function of a catalog, in Spark's form of one that is given its arguments as expressions. */
  def unbound(name: String, function: Declared): UnboundFunction =
    V1Function(info(name, function), arguments => call(name, function, arguments))

  /** The function for Spark, described when somebody asks. */
  def info(name: String, function: Declared): ExpressionInfo =
    new ExpressionInfo(function.getClass.getName, null, name, "", "", "", "", "", "", "", "scala_udf") {
      override def getUsage: String = function.description()
    }

  def call(name: String, function: Declared, arguments: Seq[Expression]): Expression = {
    if (arguments.exists(_.isInstanceOf[NamedArgumentExpression]))
      throw QueryCompilationErrors.namedArgumentsNotSupported(name)
    val types = arguments.map(argument => StructField("argument", argument.dataType, argument.nullable))
    val bound = try function.bind(StructType(types))
    catch {
      case wrong: UnsupportedOperationException =>
        throw QueryCompilationErrors.functionCannotProcessInputError(function, arguments, wrong)
    }
    DeclaredCall(name, bound, arguments)
  }
}

/** Driver side: a scalar function until Spark's optimizer puts its own call in place. */
final case class DeclaredCall(name: String, function: ScalarFunction[_], children: Seq[Expression])
    extends RuntimeReplaceable with ImplicitCastInputTypes {
  override lazy val replacement: Expression = V2ExpressionUtils.resolveScalarFunction(function, children)
  override def inputTypes: Seq[AbstractDataType] = function.inputTypes.toSeq
  override def foldable: Boolean = replacement.foldable
  override def prettyName: String = name
  override protected def flatArguments: Iterator[Any] = children.iterator
  override protected def withNewChildrenInternal(made: IndexedSeq[Expression]): DeclaredCall = copy(children = made)
}
