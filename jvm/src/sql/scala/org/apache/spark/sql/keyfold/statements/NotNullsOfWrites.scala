package org.apache.spark.sql.keyfold.statements

import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, KnownNotNull, NamedExpression}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule

/** Driver side: marks the columns of a written query that are never NULL. Spark forgets that of groups and counts
  * when it pushes aggregates into a scan, and then takes the write into NOT NULL columns for an unresolved plan.
  */
object NotNullsOfWrites extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan match {
    case write: AppendData => marked(write)
    case write: OverwriteByExpression => marked(write)
    case write: OverwritePartitionsDynamic => marked(write)
    case other => other
  }

  private def marked(write: V2WriteCommand): LogicalPlan = {
    val query = write.query
    val isDue = write.resolved && query.exists(_.isInstanceOf[Aggregate]) && query.output.exists(!_.nullable)
    if (!isDue || isMarked(query)) write else write.withNewQuery(Project(query.output.map(marked), query))
  }

  private def marked(column: Attribute): NamedExpression =
    if (column.nullable) column
    else Alias(KnownNotNull(column), column.name)(explicitMetadata = Some(column.metadata))

  private def isMarked(query: LogicalPlan): Boolean = query match {
    case Project(columns, _) => columns.exists {
      case Alias(_: KnownNotNull, _) => true
      case _ => false
    }
    case _ => false
  }
}
