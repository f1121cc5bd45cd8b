package org.apache.spark.sql.keyfold

import keyfold.spark.functions.{Declared, Functions}
import org.apache.spark.sql.SparkSessionExtensions
import org.apache.spark.sql.catalyst.FunctionIdentifier
import org.apache.spark.sql.catalyst.analysis.FunctionRegistry
import org.apache.spark.sql.catalyst.expressions.{Expression, ExpressionInfo, V2ExpressionUtils}
import org.apache.spark.sql.catalyst.expressions.aggregate.V2Aggregator
import org.apache.spark.sql.connector.catalog.functions.{AggregateFunction, ScalarFunction}
import org.apache.spark.sql.errors.QueryCompilationErrors
import org.apache.spark.sql.types.{StructField, StructType}

/** Driver side: our functions without a catalog's name, where this Spark has none of that name: what a
  * user's query means never changes.
  */
object UnqualifiedFunctions {
  def inject(extensions: SparkSessionExtensions): Unit =
    for ((name, function) <- Functions.byName if !FunctionRegistry.builtin.functionExists(FunctionIdentifier(name)))
      extensions.injectFunction((FunctionIdentifier(name), info(name, function), call(function, _)))

  private def info(name: String, function: Declared): ExpressionInfo =
    new ExpressionInfo(function.getClass.getName, null, name, function.description, "", "", "", "", "", "", "scala_udf")

  /** What Spark's analyzer makes of a catalog's function. */
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
