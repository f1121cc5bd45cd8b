package keyfold.spark.catalog

import keyfold.spark.buckets.{BucketFunction, SlotFunction}
import keyfold.spark.functions.Functions
import keyfold.spark.questions.Aggregates
import org.apache.spark.sql.catalyst.analysis.NoSuchFunctionException
import org.apache.spark.sql.connector.catalog.{FunctionCatalog, Identifier}
import org.apache.spark.sql.connector.catalog.functions.UnboundFunction
import org.apache.spark.sql.keyfold.FoldCalls

/** Driver side: the functions of a catalog, as `<catalog>.<name>` or `<catalog>.sys.<name>`; Spark also asks
  * for those that writes cluster by, and reads are partitioned by.
  */
trait KeyfoldFunctions extends FunctionCatalog {
  override def listFunctions(namespace: Array[String]): Array[Identifier] =
    if (isOurs(namespace)) (Functions.byName.keySet ++ Aggregates.byName.keySet).toArray.sorted
      .map(Identifier.of(namespace, _))
    else Array.empty

  override def loadFunction(ident: Identifier): UnboundFunction =
    (Seq(BucketFunction).find(_.name == ident.name) ++ SlotFunction.named(ident.name)).headOption
      .filter(_ => ident.namespace.isEmpty)
      .orElse(Option.when(isOurs(ident.namespace))(ident.name).flatMap(named))
      .getOrElse(throw new NoSuchFunctionException(ident))

  private def named(name: String): Option[UnboundFunction] = Functions.find(name).orElse(FoldCalls.find(name))

  private def isOurs(namespace: Array[String]): Boolean = namespace.isEmpty || namespace.sameElements(Array("sys"))
}
