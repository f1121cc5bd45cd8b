package keyfold.spark

import org.apache.spark.sql.catalyst.analysis.NoSuchFunctionException
import org.apache.spark.sql.connector.catalog.{FunctionCatalog, Identifier}
import org.apache.spark.sql.connector.catalog.functions.UnboundFunction

/** Driver side: the functions of a catalog, which Spark also asks for those that writes cluster by. */
trait KeyfoldFunctions extends FunctionCatalog {
  override def listFunctions(namespace: Array[String]): Array[Identifier] = Array.empty

  override def loadFunction(ident: Identifier): UnboundFunction =
    SlotFunction.named(ident.name).filter(_ => ident.namespace.isEmpty)
      .getOrElse(throw new NoSuchFunctionException(ident))
}
