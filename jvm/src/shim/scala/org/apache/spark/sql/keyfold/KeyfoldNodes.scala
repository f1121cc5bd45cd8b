package org.apache.spark.sql.keyfold

import keyfold.spark.KeyfoldCatalog
import keyfold.spark.table.{KeyfoldTable, Names}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.analysis.ResolvedTable
import org.apache.spark.sql.catalyst.parser.ParseException
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.connector.catalog.Identifier
import org.apache.spark.sql.connector.write.RowLevelOperationTable
import org.apache.spark.sql.execution.datasources.v2.{DataSourceV2Relation, DataSourceV2ScanRelation}

/** Driver side: the one place that says what is ours: a catalog, the name of a table, a table in a plan. */
object KeyfoldNodes {
  private val Conf = """spark\.sql\.catalog\.([^.]+)""".r

  /** The table of ours that a plan's node is. Patterns name no other field: their number differs between versions. */
  def unapply(node: LogicalPlan): Option[KeyfoldTable] = node match {
    case relation: DataSourceV2Relation => Some(relation.table).collect { case ours: KeyfoldTable => ours }
    case scan: DataSourceV2ScanRelation => unapply(scan.relation)
    case resolved: ResolvedTable => Some(resolved.table).collect { case ours: KeyfoldTable => ours }
    case _ => None
  }

  /** A table of ours in a plan, and the relation it was found in. */
  object Relation {
    def unapply(node: LogicalPlan): Option[(DataSourceV2Relation, KeyfoldTable)] = node match {
      case relation: DataSourceV2Relation => KeyfoldNodes.unapply(relation).map(relation -> _)
      case _ => None
    }
  }

  /** The target of a statement that changes rows: its relation, which has the operation, and the table of ours. */
  object Target {
    def unapply(node: LogicalPlan): Option[(DataSourceV2Relation, KeyfoldTable)] = node match {
      case relation: DataSourceV2Relation => relation.table match {
          case operation: RowLevelOperationTable =>
            Some(operation.table).collect { case ours: KeyfoldTable => relation -> ours }
          case _ => None
        }
      case _ => None
    }
  }

  /** Our catalog of this name. */
  def catalog(session: SparkSession, name: String): Option[KeyfoldCatalog] = {
    val catalogs = session.sessionState.catalogManager
    Some(name).filter(catalogs.isCatalogRegistered).map(catalogs.catalog).collect { case ours: KeyfoldCatalog => ours }
  }

  /** Whether a statement's name of a table is one in a catalog of ours. */
  def names(session: SparkSession, table: Seq[String]): Boolean = {
    val catalogs = session.sessionState.catalogManager
    if (table.size > 1 && catalogs.isCatalogRegistered(table.head)) catalog(session, table.head).isDefined
    else catalogs.currentCatalog.isInstanceOf[KeyfoldCatalog]
  }

  /** All catalogs of ours that the session has, by name. */
  def catalogs(session: SparkSession): Seq[KeyfoldCatalog] = session.conf.getAll.toSeq.sorted.collect {
    case (Conf(name), wanted) if wanted == classOf[KeyfoldCatalog].getName => name
  }.flatMap(catalog(session, _))

  /** The table that an argument names, which Spark does not resolve: 'catalog.namespace.table', 'namespace.table',
    * or 'table' of the current namespace.
    */
  def identifier(catalog: KeyfoldCatalog, text: String): Identifier = {
    val state = SparkSession.active.sessionState
    val catalogs = state.catalogManager
    def current = if (catalogs.currentCatalog eq catalog) catalogs.currentNamespace else catalog.defaultNamespace()
    val parts =
      try state.sqlParser.parseMultipartIdentifier(text)
      catch { case _: ParseException => throw unreadable(text) }
    parts match {
      case Seq(path) if path.contains("/") => Identifier.of(Array.empty, path)
      case Seq(table) => Identifier.of(current, table)
      case Seq(namespace, table) => Identifier.of(Array(namespace), table)
      case first +: rest if first == catalog.name() => Identifier.of(rest.init.toArray, rest.last)
      case parts if catalogs.isCatalogRegistered(parts.head) => throw Refusal(
          s"table ${Names.shown(parts)} is in catalog ${parts.head}; this procedure belongs to ${catalog.name()}")
      case parts => Identifier.of(parts.init.toArray, parts.last)
    }
  }
  private def unreadable(text: String): Throwable = Refusal(s"table '$text' can't be read as a name: " +
    Names.unquoted(text, text.indexOf('$')).fold("expected 'namespace.table', with backticks around a part that has "
      + "other characters than letters, digits and _")(Names.hint))
}
