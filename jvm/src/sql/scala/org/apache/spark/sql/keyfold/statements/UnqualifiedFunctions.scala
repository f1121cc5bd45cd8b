package org.apache.spark.sql.keyfold.statements

import keyfold.spark.functions.Functions
import org.apache.spark.sql.{SparkSession, SparkSessionExtensions}
import org.apache.spark.sql.catalyst.FunctionIdentifier
import org.apache.spark.sql.catalyst.analysis.{FunctionRegistry, UnresolvedFunction}
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.keyfold.aggregates.{DeclaredCalls, TakenNames}

/** Driver side: our functions without a catalog's name, where nobody has one of that name: neither this
  * Spark nor the user, so that what a query means never changes.
  */
object UnqualifiedFunctions {
  def inject(extensions: SparkSessionExtensions): Unit =
    for ((name, function) <- Functions.byName if !FunctionRegistry.builtin.functionExists(FunctionIdentifier(name)))
      extensions.injectFunction((FunctionIdentifier(name), DeclaredCalls.info(name, function), arguments =>
        users(name, arguments).getOrElse(DeclaredCalls.call(name, function, arguments))))

  /** The user's function: Spark looks for a temporary one, and in the current catalog, only after those of
    * extensions.
    */
  private def users(name: String, arguments: Seq[Expression]): Option[Expression] = {
    val session = SparkSession.active
    val catalog = session.sessionState.catalog
    catalog.identifierFromSystemNameParts(Seq("system", "session", name))
      .flatMap(catalog.resolveScalarFunctionByIdentifier(_, arguments))
      .orElse(TakenNames.ofCatalog(session, name).map(UnresolvedFunction(_, arguments, isDistinct = false)))
  }
}
