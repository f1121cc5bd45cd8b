package org.apache.spark.sql.keyfold

import keyfold.spark.KeyfoldCatalog
import keyfold.spark.table.Names
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.connector.catalog.Identifier

/** Driver side: names of tables inside texts, which Spark does not resolve. */
object TableNames {
  /** A table of a catalog: 'catalog.namespace.table', 'namespace.table', or 'table' of the current namespace. */
  def identifier(catalog: KeyfoldCatalog, text: String): Identifier = {
    val state = SparkSession.active.sessionState
    val catalogs = state.catalogManager
    def current = if (catalogs.currentCatalog eq catalog) catalogs.currentNamespace else catalog.defaultNamespace()
    state.sqlParser.parseMultipartIdentifier(text) match {
      case Seq(path) if path.contains("/") => Identifier.of(Array.empty, path)
      case Seq(table) => Identifier.of(current, table)
      case Seq(namespace, table) => Identifier.of(Array(namespace), table)
      case first +: rest if first == catalog.name() => Identifier.of(rest.init.toArray, rest.last)
      case parts if catalogs.isCatalogRegistered(parts.head) => throw Refusal(
          s"table ${Names.shown(parts)} is of catalog ${parts.head}; this procedure is that of ${catalog.name()}")
      case parts => Identifier.of(parts.init.toArray, parts.last)
    }
  }
}
