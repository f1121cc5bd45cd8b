package org.apache.spark.sql.keyfold.statements

import org.apache.spark.sql.catalyst.expressions.{And, AttributeReference}
import org.apache.spark.sql.catalyst.expressions.Literal.TrueLiteral
import org.apache.spark.sql.catalyst.plans.logical.{DeleteFromTable, LogicalPlan, Project}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.columnar.InMemoryRelation
import org.apache.spark.sql.keyfold.KeyfoldNodes

/** Driver side: DELETE FROM a table that is cached or has CHAR columns. Spark 4.2 puts the cached rows, or the padded
  * ones, in the table's place there as it does in a query, and then does not know what to delete from: the table takes
  * its place again. An optimizer rule, which comes before scans are made.
  */
object DeletesFromTables extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan match {
    case delete: DeleteFromTable => delete.table match {
        case cached: InMemoryRelation => stored(cached).fold(plan)(table => delete.copy(table = table))
        case Project(_, KeyfoldNodes.Relation(relation, _)) if delete.condition == TrueLiteral => delete.copy(table = relation)
        case _ => plan
      }
    case _ => plan
  }

  private def stored(cached: InMemoryRelation): Option[LogicalPlan] =
    cached.cacheBuilder.logicalPlan.collectFirst { case KeyfoldNodes.Relation(relation, _) =>
      relation.copy(output = cached.output.collect { case column: AttributeReference => column })
    }
}

/** Driver side: DELETE FROM a table whose rows have to be deleted one by one, without a condition. Spark would truncate
  * the table, and does as it is told under any condition, even one that is true.
  */
object DeletesOfAllRows extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan.resolveOperators {
    case delete: DeleteFromTable if delete.condition == TrueLiteral && isByRow(delete.table) =>
      delete.copy(condition = And(TrueLiteral, TrueLiteral))
  }

  private def isByRow(table: LogicalPlan): Boolean =
    table.collectFirst { case KeyfoldNodes(found) => !found.description.deletesPartitions }.getOrElse(false)
}
