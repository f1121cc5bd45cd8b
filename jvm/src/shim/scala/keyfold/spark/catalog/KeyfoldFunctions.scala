package keyfold.spark.catalog

import keyfold.spark.buckets.{BucketFunction, SlotFunction}
import keyfold.spark.functions.Functions
import keyfold.spark.questions.Aggregates
import org.apache.spark.sql.catalyst.analysis.NoSuchFunctionException
import org.apache.spark.sql.connector.catalog.{FunctionCatalog, Identifier}
import org.apache.spark.sql.connector.catalog.functions.UnboundFunction
import org.apache.spark.sql.keyfold.aggregates.{DeclaredCalls, FoldCalls}

/** Driver side: the functions of a catalog, as `<catalog>.<name>` or `<catalog>.sys.<name>`, and the aggregates that
  * Python folds, as `<catalog>.<name>` alone; Spark also asks for those that writes cluster by, and reads are
  * partitioned by.
  */
trait KeyfoldFunctions extends FunctionCatalog {
  override def listFunctions(namespace: Array[String]): Array[Identifier] =
    if (isOurs(namespace)) names(namespace).toArray.sorted.map(Identifier.of(namespace, _)) else Array.empty

  private def names(namespace: Array[String]): Set[String] =
    if (namespace.isEmpty) Functions.byName.keySet ++ Aggregates.byName.keySet else Functions.byName.keySet

  override def loadFunction(ident: Identifier): UnboundFunction =
    (Seq(BucketFunction).find(_.name == ident.name) ++ SlotFunction.named(ident.name)).headOption
      .filter(_ => ident.namespace.isEmpty)
      .orElse(Option.when(isOurs(ident.namespace))(ident.name).flatMap(Functions.find)
        .map(DeclaredCalls.unbound(ident.name, _)))
      .orElse(Option.when(ident.namespace.isEmpty)(ident.name).flatMap(FoldCalls.find))
      .getOrElse(throw new NoSuchFunctionException(ident))

  private def isOurs(namespace: Array[String]): Boolean = namespace.isEmpty || namespace.sameElements(Array("sys"))
}
