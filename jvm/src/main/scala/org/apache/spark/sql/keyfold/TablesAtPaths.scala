package org.apache.spark.sql.keyfold

import keyfold.spark.catalog.TableAtPath
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation

/** Driver side: `spark.read.format("keyfold").load(path)` is the table as its catalog has it, so that each
  * query reads the newest snapshot and a cached frame knows of writes.
  */
object TablesAtPaths extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan.resolveOperators {
    case relation @ DataSourceV2Relation(at: TableAtPath, _, None, None, _, _) =>
      relation.copy(table = at.table, catalog = Some(at.place.catalog), identifier = Some(at.place.ident))
  }
}
