package org.apache.spark.sql.keyfold

import keyfold.spark.{Json, KeyfoldCatalog}
import org.apache.spark.sql.catalyst.analysis.ResolvedIdentifier
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.connector.catalog.TableCatalog

/** Driver side: what `.option(…)` says of a table that `df.write.saveAsTable` makes, its key for one: Spark
  * hands it to the write of the rows alone. It becomes what OPTIONS (…) of a statement is. No statement has
  * options of the write and a format both.
  */
object OptionsOfSaved extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan.resolveOperators {
    case create @ CreateTableAsSelect(Ours(catalog, table), _, _, spec, options, _, _) =>
      told(catalog, table, spec, options).fold(create)(spec => create.copy(tableSpec = spec))
    case replace @ ReplaceTableAsSelect(Ours(catalog, table), _, _, spec, options, _, _) =>
      told(catalog, table, spec, options).fold(replace)(spec => replace.copy(tableSpec = spec))
  }

  private object Ours {
    def unapply(name: LogicalPlan): Option[(KeyfoldCatalog, String)] = name match {
      case ResolvedIdentifier(catalog: KeyfoldCatalog, ident) => Some(catalog -> ident.toString)
      case _ => None
    }
  }

  private def told(
      catalog: KeyfoldCatalog, table: String, spec: TableSpecBase, options: Map[String, String]): Option[TableSpecBase] =
    spec match {
      case spec: TableSpec if isDue(spec.provider, spec.properties, options) =>
        Some(spec.copy(properties = ofTable(catalog, table, options)))
      case spec: UnresolvedTableSpec if isDue(spec.provider, spec.properties, options) =>
        Some(spec.copy(properties = ofTable(catalog, table, options)))
      case _ => None
    }

  private def isDue(provider: Option[String], has: Map[String, String], options: Map[String, String]): Boolean =
    provider.isDefined && has.isEmpty && options.nonEmpty

  /** Spark itself takes the comment. */
  private def ofTable(catalog: KeyfoldCatalog, table: String, options: Map[String, String]): Map[String, String] = {
    val own = TableOptions(catalog, table, options) - TableCatalog.PROP_COMMENT
    own ++ own.map { case (name, text) => TableCatalog.OPTION_PREFIX + name -> text }
  }
}

/** Driver side: of a writer's options those that define the table; the others are the write's. */
object TableOptions {
  def apply(catalog: KeyfoldCatalog, table: String, options: Map[String, String]): Map[String, String] =
    Json.texts(catalog.questions.ask("table_options", "table" -> table, "options" -> options))
}
