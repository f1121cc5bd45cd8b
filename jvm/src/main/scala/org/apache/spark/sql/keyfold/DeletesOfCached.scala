package org.apache.spark.sql.keyfold

import keyfold.spark.table.KeyfoldTable
import org.apache.spark.sql.catalyst.expressions.AttributeReference
import org.apache.spark.sql.catalyst.plans.logical.{DeleteFromTable, LogicalPlan}
import org.apache.spark.sql.execution.{SparkPlan, SparkStrategy}
import org.apache.spark.sql.execution.columnar.InMemoryRelation
import org.apache.spark.sql.execution.datasources.v2.{DataSourceV2Relation, DataSourceV2ScanRelation}

/** Driver side: DELETE FROM a table that is cached. Spark 4.2 puts the cached rows in the table's place there
  * as it does in a query, and then does not know what to delete from: the table takes its place again.
  */
object DeletesOfCached extends SparkStrategy {
  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case delete @ DeleteFromTable(cached: InMemoryRelation, _) =>
      stored(cached).map(table => planLater(delete.copy(table = table))).toSeq
    case _ => Nil
  }

  private def stored(cached: InMemoryRelation): Option[DataSourceV2ScanRelation] =
    cached.cacheBuilder.logicalPlan.collectFirst {
      case relation @ DataSourceV2Relation(table: KeyfoldTable, _, _, _, options, _) =>
        val columns = cached.output.collect { case column: AttributeReference => column }
        DataSourceV2ScanRelation(relation.copy(output = columns), table.newScanBuilder(options).build(), columns)
    }
}
