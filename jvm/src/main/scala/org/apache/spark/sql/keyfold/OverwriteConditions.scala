package org.apache.spark.sql.keyfold

import keyfold.spark.table.KeyfoldTable
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, OverwriteByExpression}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.datasources.DataSourceStrategy
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation

/** Driver side: the columns in the condition of an overwrite by their own names: `REPLACE WHERE DAY = …` of a
  * column `day`. Spark does so for DELETE and for scans.
  */
object OverwriteConditions extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan.resolveOperators {
    case write: OverwriteByExpression if write.deleteExpr.resolved => write.table match {
        case relation @ DataSourceV2Relation(_: KeyfoldTable, _, _, _, _, _) =>
          val named = DataSourceStrategy.normalizeExprs(Seq(write.deleteExpr), relation.output).head
          if (named == write.deleteExpr) write else write.copy(deleteExpr = named)
        case _ => write
      }
  }
}
