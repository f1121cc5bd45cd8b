package org.apache.spark.sql.keyfold

import keyfold.spark.{KeyfoldCatalog, KeyfoldSource}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.analysis.{NoSuchTableException, UnresolvedRelation}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.connector.catalog.Identifier

/** Driver side: says of `keyfold.`/data/stock`` that there is no such table. Spark would take the name of the
  * catalog for that of the format, and say that files of this format can't be queried. A hint rule, because
  * those alone run before that refusal.
  */
final case class MissingTables(session: SparkSession) extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = {
    plan.foreach {
      case UnresolvedRelation(Seq(first, name), _, _) if first.equalsIgnoreCase(KeyfoldSource.Name) =>
        if (isMissing(first, name)) throw new NoSuchTableException(Seq(first, name))
      case _ =>
    }
    plan
  }

  private def isMissing(first: String, name: String): Boolean = {
    val catalogs = session.sessionState.catalogManager
    catalogs.isCatalogRegistered(first) && (catalogs.catalog(first) match {
      case ours: KeyfoldCatalog => !ours.tableExists(Identifier.of(Array.empty, name))
      case _ => false
    })
  }
}
