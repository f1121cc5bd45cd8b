package org.apache.spark.sql.keyfold.writes

import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.catalyst.plans.logical.{Filter, Join, LogicalPlan, MergeRows, WriteDelta}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.util.MetadataColumnHelper
import org.apache.spark.sql.keyfold.{Ours, Refusal}

/** Driver side: a statement that changes rows can't choose them by metadata columns, because Spark reads those alone
  * that an operation requires, and asks for them before it has the statement's conditions.
  */
object ConditionsOfChanges extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = {
    plan.foreach {
      case delta: WriteDelta if delta.resolved => delta.table match {
          case Ours.Target(relation, _) => delta.query.foreach(node =>
              conditions(node).flatMap(_.references).find(isOfTarget(node, _)).foreach(refuse(relation.name, _)))
          case _ =>
        }
      case _ =>
    }
    plan
  }

  private def conditions(node: LogicalPlan): Seq[Expression] = node match {
    case filter: Filter => Seq(filter.condition)
    case join: Join => join.condition.toSeq
    case rows: MergeRows =>
      (rows.matchedInstructions ++ rows.notMatchedInstructions ++ rows.notMatchedBySourceInstructions).map(_.condition)
    case _ => Nil
  }

  /** Columns of a MERGE's source may be metadata columns of its own tables. */
  private def isOfTarget(node: LogicalPlan, column: Attribute): Boolean = column.isMetadataCol &&
    (node.missingInput.contains(column) || node.exists {
      case Ours.Target(relation, _) => relation.outputSet.contains(column)
      case _ => false
    })

  private def refuse(table: String, column: Attribute): Unit = throw Refusal(
    s"table $table: a statement that changes rows can't choose them by metadata column ${column.name}; choose their "
      + s"keys by a subquery, WHERE key IN (SELECT key FROM $table WHERE ${column.name} = …)")
}
