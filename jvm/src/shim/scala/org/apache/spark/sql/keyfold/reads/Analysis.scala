package org.apache.spark.sql.keyfold.reads

import com.fasterxml.jackson.databind.JsonNode
import keyfold.spark.Json
import keyfold.spark.questions.Predicates
import keyfold.spark.table.KeyfoldTable
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.logical.ColumnStat
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.connector.expressions.LiteralValue
import org.apache.spark.sql.execution.command.CommandUtils
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** Driver side: the rows of a table and figures of its columns, as Spark's ANALYZE TABLE computes them. */
object Analysis {
  def of(table: KeyfoldTable, names: Seq[String]): (Long, Seq[JsonNode]) = {
    val relation = DataSourceV2Relation.create(table, None, None, CaseInsensitiveStringMap.empty)
    val columns = names.flatMap(name => relation.output.find(_.name == name))
    val (rows, found) = CommandUtils.computeColumnStats(SparkSession.active, relation, columns)
    (rows, columns.map(column => toJson(column, found(column))))
  }

  private def toJson(column: Attribute, found: ColumnStat): JsonNode = {
    def literal(value: Option[Any]) = value.flatMap(one => Predicates.literal(LiteralValue(one, column.dataType)))
    Json.obj("name" -> column.name, "distinct" -> found.distinctCount.map(_.toLong), "low" -> literal(found.min),
      "high" -> literal(found.max), "nulls" -> found.nullCount.map(_.toLong), "average" -> found.avgLen,
      "longest" -> found.maxLen)
  }
}
