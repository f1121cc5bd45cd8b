package org.apache.spark.sql.keyfold.aggregates

import org.apache.spark.sql.catalyst.expressions.aggregate.PivotFirst
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Pivot}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.keyfold.Refusal

/** Driver side: refuses PIVOT of a function that sees NULL, where a result is a text or nested: Spark then gives each
  * column the rows of all, with NULL in place of the others' values. A resolution rule, because such a plan no longer
  * distinguishes these NULLs from others.
  */
object FoldsInPivots extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = {
    plan.foreach {
      case pivot: Pivot if pivot.aggregates.forall(_.resolved) &&
            !pivot.aggregates.forall(one => PivotFirst.supportsDataType(one.dataType)) =>
        pivot.aggregates.foreach(_.foreach {
          case fold: FoldFunction => check(fold)
          case _ =>
        })
      case _ =>
    }
    plan
  }

  private def check(fold: FoldFunction): Unit = if (!fold.inScans && fold.empty.isEmpty) throw Refusal(
    s"function ${fold.name} in this PIVOT is not supported: Spark gives it NULL in place of the rows of other "
      + s"columns, and it does not pass over NULL; use ${fold.name}(…) FILTER (WHERE …) and GROUP BY")
}
