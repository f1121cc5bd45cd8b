package org.apache.spark.sql.keyfold.lookups

import java.util.UUID

import keyfold.spark.table.KeyfoldTable
import keyfold.spark.write.{KeyfoldWrite, WriteMode}
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.connector.write.LogicalWriteInfoImpl
import org.apache.spark.sql.execution.{FilterExec, ProjectExec, SparkPlan}
import org.apache.spark.sql.execution.aggregate.SortAggregateExec
import org.apache.spark.sql.execution.datasources.v2.AppendDataExec
import org.apache.spark.sql.keyfold.Refusal
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** Driver side: a job that inserts the keys of rows which a table does not have, with the DEFAULT or NULL in its other
  * columns. The rows come as a look-up takes them: to the task of their bucket, in the order of their keys.
  */
object NewKeys {
  def insert(rows: SparkPlan, by: Seq[(String, Expression)], table: KeyfoldTable): Unit = {
    table.description.unwritable.foreach(reason => throw Refusal(reason))
    val keys = ProjectExec(by.map { case (name, key) => Alias(key, name)() }, rows)
    val whole = keys.output.filter(_.nullable).map(IsNotNull(_)).reduceOption[Expression](And(_, _))
    val once = SortAggregateExec(None, isStreaming = false, None, keys.output, Nil, Nil, 0, keys.output,
      whole.fold[SparkPlan](keys)(FilterExec(_, keys)))
    val values = table.description.columns.toSeq.map { column =>
      val other = Option(column.defaultValue).map(_.getValue)
        .fold(Literal(null, table.readable(column.name).dataType))(value => Literal(value.value, value.dataType))
      Alias(once.output.find(_.name == column.name).getOrElse(other), column.name)()
    }
    val schema = StructType(values.map(value => table.readable(value.name).copy(nullable = value.nullable)))
    val info = LogicalWriteInfoImpl(UUID.randomUUID().toString, schema, CaseInsensitiveStringMap.empty)
    val write = KeyfoldWrite(table, info, WriteMode.Append, hasOrdinal = false, onlyNew = true)
    val append = AppendDataExec(ProjectExec(values, once), () => (), write, table.name(), None)
    append.metrics: Unit // the scheduler's thread would wait for the one that runs the job to make them
    append.executeCollect(): Unit
  }
}
