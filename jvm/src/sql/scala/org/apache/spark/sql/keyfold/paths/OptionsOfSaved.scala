package org.apache.spark.sql.keyfold.paths

import keyfold.spark.{Json, KeyfoldCatalog}
import org.apache.spark.sql.catalyst.analysis.ResolvedIdentifier
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.connector.catalog.TableCatalog

/** Driver side: takes `.option(…)` for the table that `df.write.saveAsTable` makes, its key for one: Spark
  * hands it to the write of the rows alone. It becomes what OPTIONS (…) of a statement is. No statement has
  * options of the write and a format both.
  */
object OptionsOfSaved extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan.resolveOperators {
    case create: CreateTableAsSelect =>
      create.copy(tableSpec = complete(create.name, create.tableSpec, create.writeOptions))
    case replace: ReplaceTableAsSelect =>
      replace.copy(tableSpec = complete(replace.name, replace.tableSpec, replace.writeOptions))
  }

  private def complete(name: LogicalPlan, spec: TableSpecBase, options: Map[String, String]): TableSpecBase =
    (name, spec) match {
      case (made: ResolvedIdentifier, spec: TableSpec)
          if spec.provider.isDefined && spec.properties.isEmpty && options.nonEmpty => made.catalog match {
          case ours: KeyfoldCatalog => spec.copy(properties = ofTable(ours, made.identifier.toString, options))
          case _ => spec
        }
      case _ => spec
    }

  /** Spark itself takes the comment. */
  private def ofTable(catalog: KeyfoldCatalog, table: String, options: Map[String, String]): Map[String, String] = {
    val own = TableOptions(catalog, table, options) - TableCatalog.PROP_COMMENT
    own ++ own.map { case (name, text) => TableCatalog.OPTION_PREFIX + name -> text }
  }
}

/** Driver side: the options of a writer that define the table; the others are the write's. */
object TableOptions {
  def apply(catalog: KeyfoldCatalog, table: String, options: Map[String, String]): Map[String, String] =
    Json.texts(catalog.questions.ask("table_options", "table" -> table, "options" -> options))
}
