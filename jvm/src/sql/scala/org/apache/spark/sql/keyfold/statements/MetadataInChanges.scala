package org.apache.spark.sql.keyfold.statements

import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, AttributeSet}
import org.apache.spark.sql.catalyst.plans.logical.{Filter, Join, LogicalPlan, MergeRows, Project, WriteDelta}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.util.MetadataColumnHelper
import org.apache.spark.sql.keyfold.{KeyfoldNodes, Refusal}

/** Driver side: a statement that changes rows can't name metadata columns of its table, because Spark reads those alone
  * that an operation requires, and asks for them before it has the statement.
  */
object MetadataInChanges extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = {
    plan.foreach {
      case delta: WriteDelta if delta.resolved => delta.table match {
          case KeyfoldNodes.Target(relation, _) => delta.query.foreach(node =>
              (node.missingInput ++ required(node)).find(_.isMetadataCol).foreach(refuse(relation.name, _)))
          case _ =>
        }
      case _ =>
    }
    plan
  }

  /** The columns that the operation requires, where the statement's own expressions are. */
  private def required(node: LogicalPlan): AttributeSet = {
    val expressions = node match {
      case filter: Filter => Seq(filter.condition)
      case join: Join => join.condition.toSeq
      case project: Project => project.projectList.collect { case Alias(made, _) if !made.isInstanceOf[Attribute] => made }
      case rows: MergeRows =>
        val all = rows.matchedInstructions ++ rows.notMatchedInstructions ++ rows.notMatchedBySourceInstructions
        all.map(_.condition)
      case _ => Nil
    }
    val target = node.collect { case KeyfoldNodes.Target(relation, _) => relation.outputSet }
    AttributeSet(expressions).intersect(AttributeSet.fromAttributeSets(target))
  }

  private def refuse(table: String, column: Attribute): Unit = throw Refusal(
    s"table $table: a statement that changes its rows can't name metadata column ${column.name}; a subquery can: "
      + s"WHERE key IN (SELECT key FROM $table WHERE ${column.name} = …)")
}
