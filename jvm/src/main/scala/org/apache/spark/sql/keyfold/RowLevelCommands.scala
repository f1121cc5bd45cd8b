package org.apache.spark.sql.keyfold

import keyfold.spark.{KeyfoldException, KeyfoldTable}
import org.apache.spark.sql.catalyst.plans.logical.{DeleteFromTable, LogicalPlan, MergeIntoTable, UpdateTable}
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation

/** Driver side: refuses DELETE, UPDATE and MERGE of our tables while the statement is analyzed; Spark
  * itself would stop later, without a name or with an internal error. To an AnalysisException it would
  * add the whole plan.
  */
object RowLevelCommands extends (LogicalPlan => Unit) {
  override def apply(plan: LogicalPlan): Unit = plan.foreach {
    case command: DeleteFromTable => refuse("DELETE FROM", command.table)
    case command: UpdateTable => refuse("UPDATE", command.table)
    case command: MergeIntoTable => refuse("MERGE INTO", command.targetTable)
    case _ =>
  }

  private def refuse(statement: String, target: LogicalPlan): Unit =
    target.collectFirst { case DataSourceV2Relation(table: KeyfoldTable, _, _, _, _, _) => table }
      .foreach(table => throw new KeyfoldException("NotSupportedError", s"$statement ${table.name()} is not "
        + "supported: INSERT upserts by key, INSERT OVERWRITE replaces partitions, and rows whose "
        + "rowkind.field is -D delete"))
}
