package org.apache.spark.sql.keyfold.statements

import keyfold.spark.functions.{Declared, Functions}
import org.apache.spark.sql.{SparkSession, SparkSessionExtensions}
import org.apache.spark.sql.catalyst.FunctionIdentifier
import org.apache.spark.sql.catalyst.analysis.{FunctionRegistry, UnresolvedFunction}
import org.apache.spark.sql.catalyst.expressions.{Expression, ExpressionInfo, V2ExpressionUtils}
import org.apache.spark.sql.catalyst.expressions.aggregate.V2Aggregator
import org.apache.spark.sql.connector.catalog.{FunctionCatalog, Identifier}
import org.apache.spark.sql.connector.catalog.functions.{AggregateFunction, ScalarFunction}
import org.apache.spark.sql.errors.QueryCompilationErrors
import org.apache.spark.sql.types.{StructField, StructType}

/** Driver side: our functions without a catalog's name, where nobody has one of that name: neither this
  * Spark nor the user, so that what a query means never changes.
  */
object UnqualifiedFunctions {
  def inject(extensions: SparkSessionExtensions): Unit =
    for ((name, function) <- Functions.byName if !FunctionRegistry.builtin.functionExists(FunctionIdentifier(name)))
      extensions.injectFunction((FunctionIdentifier(name), info(name, function), arguments =>
        users(name, arguments).getOrElse(call(function, arguments))))

  private def info(name: String, function: Declared): ExpressionInfo =
    new ExpressionInfo(function.getClass.getName, null, name, function.description, "", "", "", "", "", "", "scala_udf")

  /** The user's function: Spark looks for a temporary one, and in the current catalog, only after those of
    * extensions.
    */
  private def users(name: String, arguments: Seq[Expression]): Option[Expression] = {
    val state = SparkSession.active.sessionState
    val catalogs = state.catalogManager
    def temporary = state.catalog.identifierFromSystemNameParts(Seq("system", "session", name))
      .flatMap(state.catalog.resolveScalarFunctionByIdentifier(_, arguments))
    def permanent = Option(catalogs.currentCatalog).collect {
      case current: FunctionCatalog if current.functionExists(Identifier.of(catalogs.currentNamespace, name)) =>
        val fullName = current.name +: catalogs.currentNamespace.toSeq :+ name
        UnresolvedFunction(fullName, arguments, isDistinct = false)
    }
    temporary.orElse(permanent)
  }

  /** The expression that Spark's analyzer makes of a catalog's function. */
  private def call(function: Declared, arguments: Seq[Expression]): Expression = {
    val types = arguments.map(argument => StructField("argument", argument.dataType, argument.nullable))
    val bound = try function.bind(StructType(types))
    catch {
      case wrong: UnsupportedOperationException =>
        throw QueryCompilationErrors.functionCannotProcessInputError(function, arguments, wrong)
    }
    bound match {
      case scalar: ScalarFunction[_] => V2ExpressionUtils.resolveScalarFunction(scalar, arguments)
      case aggregate: AggregateFunction[_, _] => V2Aggregator(aggregate, arguments)
      case other => throw new MatchError(other)
    }
  }
}
