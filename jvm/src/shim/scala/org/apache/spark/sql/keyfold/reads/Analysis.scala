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
import org.apache.spark.sql.keyfold.Refusal
import org.apache.spark.sql.types.{ArrayType, DataType, MapType, StructType}
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** Driver side: the rows of a table and figures of its columns, as Spark's ANALYZE TABLE computes them. */
object Analysis {

  /** The figures of all columns that have such, unless some are named. */
  def of(table: KeyfoldTable, named: Option[Seq[String]]): (Long, Seq[JsonNode]) = {
    val session = SparkSession.active
    val relation = DataSourceV2Relation.create(table, None, None, CaseInsensitiveStringMap.empty)
    val columns = named.map(_.map(chosen(relation, table, _)))
      .getOrElse(relation.output.filter(column => isAnalyzed(column.dataType)))
    val (rows, found) = CommandUtils.computeColumnStats(session, relation, columns)
    (rows, columns.map(column => toJson(column, found(column))))
  }

  private def chosen(relation: DataSourceV2Relation, table: KeyfoldTable, name: String): Attribute = {
    val column = relation.output.find(one => relation.conf.resolver(one.name, name)).getOrElse(throw Refusal(
      s"analyze: table ${table.name()} has no column $name; it has ${relation.output.map(_.name).mkString(", ")}"))
    if (isAnalyzed(column.dataType)) column
    else throw Refusal(s"analyze: column $name of table ${table.name()} is of type ${column.dataType.sql}; Spark uses "
        + "no statistics of such columns: leave it out of `columns`")
  }

  private def isAnalyzed(dataType: DataType): Boolean = dataType match {
    case _: ArrayType | _: MapType | _: StructType => false
    case _ => true
  }

  private def toJson(column: Attribute, found: ColumnStat): JsonNode = {
    def literal(value: Option[Any]) = value.flatMap(one => Predicates.literal(LiteralValue(one, column.dataType)))
    Json.obj("name" -> column.name, "distinct" -> found.distinctCount.map(_.toLong), "low" -> literal(found.min),
      "high" -> literal(found.max), "nulls" -> found.nullCount.map(_.toLong), "average" -> found.avgLen,
      "longest" -> found.maxLen)
  }
}
