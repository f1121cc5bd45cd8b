package org.apache.spark.sql.keyfold.aggregates

import keyfold.spark.catalog.CatalogFunctions
import keyfold.spark.functions.{Aggregates, Functions}
import org.apache.spark.sql.connector.catalog.functions.UnboundFunction

/** Driver side: the functions of a catalog, as `<catalog>.<name>` or `<catalog>.sys.<name>`, and the aggregates that
  * Python folds, as `<catalog>.<name>` alone.
  */
final class FunctionsOfUsers extends CatalogFunctions {
  override def names(namespace: Seq[String]): Iterable[String] = namespace match {
    case Seq() => Functions.byName.keySet ++ Aggregates.byName.keySet
    case Seq("sys") => Functions.byName.keySet ++ Aggregates.byName.keySet.filter(Aggregates.isOfSets)
    case _ => Nil
  }

  override def find(namespace: Seq[String], name: String): Option[UnboundFunction] = {
    def declared = Functions.find(name).map(DeclaredCalls.unbound(name, _))
    namespace match {
      case Seq() => declared.orElse(FoldCalls.find(name))
      case Seq("sys") => declared.orElse(Option.when(Aggregates.isOfSets(name))(name).flatMap(FoldCalls.find))
      case _ => None
    }
  }
}
