package org.apache.spark.sql.keyfold.statements

import keyfold.spark.{KeyfoldCatalog, KeyfoldException, KeyfoldSource}
import keyfold.spark.table.Names
import org.apache.spark.sql.catalyst.analysis.ResolvedIdentifier
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.connector.catalog.{CatalogManager, CatalogPlugin, Identifier}

/** Driver side: refuses USING keyfold where Spark's own catalog would keep the table: it stores no key, and its
  * DROP would leave the files. To an AnalysisException Spark would add the whole plan.
  */
object SessionCatalogTables extends (LogicalPlan => Unit) {
  override def apply(plan: LogicalPlan): Unit = plan.foreach {
    case create: CreateTable => check(create.name, create.tableSpec)
    case create: CreateTableAsSelect => check(create.name, create.tableSpec)
    case replace: ReplaceTable => check(replace.name, replace.tableSpec)
    case replace: ReplaceTableAsSelect => check(replace.name, replace.tableSpec)
    case _ =>
  }

  private def check(name: LogicalPlan, spec: TableSpecBase): Unit = name match {
    case made: ResolvedIdentifier if isSparks(made.catalog) && spec.provider.exists(isOurs) => refuse(made.identifier)
    case _ =>
  }

  private def isSparks(catalog: CatalogPlugin): Boolean =
    catalog.name == CatalogManager.SESSION_CATALOG_NAME && !catalog.isInstanceOf[KeyfoldCatalog]

  private def isOurs(provider: String): Boolean = provider.equalsIgnoreCase(KeyfoldSource.Name)

  private def refuse(ident: Identifier): Nothing = {
    val name = Names.shown(ident.namespace.toSeq :+ ident.name)
    throw new KeyfoldException("NotSupportedError", s"table $name can't be made USING keyfold in "
      + s"${CatalogManager.SESSION_CATALOG_NAME}, which keeps no key: name a catalog of keyfold (keyfold.$name), or "
      + "USE one; a table's files are read and written there, or by format(\"keyfold\") and their path")
  }
}
