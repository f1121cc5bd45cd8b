package org.apache.spark.sql.keyfold

import keyfold.spark.{Json, KeyfoldCatalog, KeyfoldException}
import keyfold.spark.processes.Driver
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.{FunctionIdentifier, TableIdentifier}
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.parser.{ParameterContext, ParseException, ParserInterface}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.SparkSqlParser
import org.apache.spark.sql.types.{DataType, StructType}

/** Driver side: Spark's own parser goes first. A CREATE TABLE that it refuses, of a table in one of our
  * catalogs, is put into Spark SQL by Python where another system's documents print it so. What later versions
  * of Spark ask of a parser beyond this is answered by the base.
  */
final class DialectParser(session: SparkSession, spark: ParserInterface) extends SparkSqlParser {
  override def parsePlan(sql: String): LogicalPlan = orTranslated(sql)(spark.parsePlan(sql))

  override def parsePlanWithParameters(sql: String, parameters: ParameterContext): LogicalPlan =
    orTranslated(sql)(spark.parsePlanWithParameters(sql, parameters))

  private def orTranslated(sql: String)(parsed: => LogicalPlan): LogicalPlan =
    try parsed
    catch {
      case refused: ParseException if DialectParser.Create.findPrefixOf(sql).isDefined =>
        spark.parsePlan(translation(sql, refused))
    }

  private def translation(sql: String, refused: ParseException): String = {
    val answer =
      try Driver.ask(Json.obj("question" -> "translate", "sql" -> sql))
      catch { case unanswered: KeyfoldException => refused.addSuppressed(unanswered); throw refused }
    if (!answer.isObject || !isOurs(Json.strings(answer.path("table")))) throw refused
    Json.optional(answer, "refused").foreach(reason => throw Refusal(reason))
    answer.path("sql").asText
  }

  private def isOurs(table: Seq[String]): Boolean = {
    val catalogs = session.sessionState.catalogManager
    val named = table.headOption.filter(_ => table.size > 1).filter(catalogs.isCatalogRegistered)
    named.map(catalogs.catalog).getOrElse(catalogs.currentCatalog).isInstanceOf[KeyfoldCatalog]
  }

  override def parseExpression(sql: String): Expression = spark.parseExpression(sql)
  override def parseTableIdentifier(sql: String): TableIdentifier = spark.parseTableIdentifier(sql)
  override def parseFunctionIdentifier(sql: String): FunctionIdentifier = spark.parseFunctionIdentifier(sql)
  override def parseMultipartIdentifier(sql: String): Seq[String] = spark.parseMultipartIdentifier(sql)
  override def parseQuery(sql: String): LogicalPlan = spark.parseQuery(sql)
  override def parseRoutineParam(sql: String): StructType = spark.parseRoutineParam(sql)
  override def parseTableSchema(sql: String): StructType = spark.parseTableSchema(sql)
  override def parseDataType(sql: String): DataType = spark.parseDataType(sql)
}

object DialectParser {
  /** A CREATE TABLE, perhaps after comments; possessive, so that thousands of them need no deeper stack. */
  private val Create = """(?is)(?:\s|--[^\n]*+\n|/\*.*?\*/)*+CREATE\s+TABLE\b""".r
}
