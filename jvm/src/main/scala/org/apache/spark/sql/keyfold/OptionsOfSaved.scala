package org.apache.spark.sql.keyfold

import java.util.Locale

import keyfold.spark.KeyfoldCatalog
import keyfold.spark.catalog.TableAtPath
import keyfold.spark.write.TargetColumns
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
    case create: CreateTableAsSelect if isOurs(create.name) =>
      told(create.tableSpec, create.writeOptions).fold(create)(spec => create.copy(tableSpec = spec))
    case replace: ReplaceTableAsSelect if isOurs(replace.name) =>
      told(replace.tableSpec, replace.writeOptions).fold(replace)(spec => replace.copy(tableSpec = spec))
  }

  private def isOurs(name: LogicalPlan): Boolean = name match {
    case ResolvedIdentifier(_: KeyfoldCatalog, _) => true
    case _ => false
  }

  private def told(spec: TableSpecBase, options: Map[String, String]): Option[TableSpecBase] = {
    val ofTable = options.filterNot { case (name, _) => isElsewhere(name.toLowerCase(Locale.ROOT)) }
    val told = ofTable ++ ofTable.map { case (name, text) => TableCatalog.OPTION_PREFIX + name -> text }
    spec match {
      case spec: TableSpec if isDue(spec.provider, spec.properties, told) => Some(spec.copy(properties = told))
      case spec: UnresolvedTableSpec if isDue(spec.provider, spec.properties, told) =>
        Some(spec.copy(properties = told))
      case _ => None
    }
  }

  private def isDue(provider: Option[String], has: Map[String, String], told: Map[String, String]): Boolean =
    provider.isDefined && has.isEmpty && told.nonEmpty

  /** Options of the write itself, and those that Spark puts elsewhere. */
  private def isElsewhere(name: String): Boolean =
    TargetColumns.OfWrites(name) || name == TableAtPath.Path || name == TableCatalog.PROP_COMMENT ||
      name == TableCatalog.PROP_COLLATION
}
