package org.apache.spark.sql.keyfold

import keyfold.spark.KeyfoldException
import keyfold.spark.table.KeyfoldTable
import org.apache.spark.sql.catalyst.analysis.EliminateSubqueryAliases
import org.apache.spark.sql.catalyst.expressions.{AttributeSet, SubqueryExpression}
import org.apache.spark.sql.catalyst.plans.logical.{DeleteFromTable, LogicalPlan, MergeIntoTable, UpdateTable}
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation

/** Driver side: refuses UPDATE and MERGE of our tables, and DELETE but by key columns, while the
  * statement is analyzed; Spark itself would stop later, without a name or with an internal error. To an
  * AnalysisException it would add the whole plan.
  */
object RowLevelCommands extends (LogicalPlan => Unit) {
  override def apply(plan: LogicalPlan): Unit = plan.foreach {
    case command: DeleteFromTable if !isByKey(command) => refuse("DELETE FROM", command.table)
    case command: UpdateTable => refuse("UPDATE", command.table)
    case command: MergeIntoTable => refuse("MERGE INTO", command.targetTable)
    case _ =>
  }

  /** A condition that every record of a key satisfies, or none. Tables with CHAR columns are read through
    * an expression, which Spark deletes nothing from.
    */
  private def isByKey(command: DeleteFromTable): Boolean =
    EliminateSubqueryAliases(command.table) match {
      case DataSourceV2Relation(table: KeyfoldTable, output, _, _, _, _) =>
        val key = AttributeSet(output.filter(column => table.description.primaryKey.contains(column.name)))
        command.condition.deterministic && !SubqueryExpression.hasSubquery(command.condition) &&
        command.condition.references.subsetOf(key)
      case _ => false
    }

  private def refuse(statement: String, target: LogicalPlan): Unit =
    target.collectFirst { case DataSourceV2Relation(table: KeyfoldTable, _, _, _, _, _) => table }
      .foreach(table => throw new KeyfoldException("NotSupportedError", s"$statement ${table.name()} is not "
        + s"supported: INSERT upserts by key, INSERT OVERWRITE replaces partitions, DELETE takes conditions "
        + s"on columns of the primary key (${table.description.primaryKey.mkString(", ")}), and rows whose "
        + "rowkind.field is -D delete"))
}
