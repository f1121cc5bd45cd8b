package org.apache.spark.sql.keyfold

import java.lang.reflect.{InvocationTargetException, Method, Proxy}

import keyfold.spark.{Json, KeyfoldException}
import keyfold.spark.processes.Driver
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.parser.{ParseException, ParserInterface}

/** Driver side: the session's parser, Spark's own or another extension's, which goes first and answers every
  * method, those of later versions of Spark included. A CREATE TABLE that it refuses, of a table in one of our
  * catalogs, is put into Spark SQL by Python where another system's documents print it so.
  */
object DialectParser {
  private val OfPlans = Set("parsePlan", "parsePlanWithParameters")

  /** A CREATE TABLE, perhaps after comments; possessive, so that thousands of them need no deeper stack. */
  private val Create = """(?is)(?:\s|--[^\n]*+\n|/\*.*?\*/)*+CREATE\s+TABLE\b""".r

  def apply(session: SparkSession, parser: ParserInterface): ParserInterface =
    Proxy.newProxyInstance(getClass.getClassLoader, Array(classOf[ParserInterface]),
      (_: AnyRef, method: Method, arguments: Array[AnyRef]) =>
        try method.invoke(parser, Option(arguments).toSeq.flatten: _*)
        catch {
          case failed: InvocationTargetException => failed.getCause match {
              case refused: ParseException if OfPlans(method.getName) =>
                parser.parsePlan(translated(session, arguments.head.toString, refused))
              case failure => throw failure
            }
        }).asInstanceOf[ParserInterface]

  private def translated(session: SparkSession, sql: String, refused: ParseException): String = {
    if (Create.findPrefixOf(sql).isEmpty) throw refused
    val answer =
      try Driver.ask(Json.obj("question" -> "translate", "sql" -> sql))
      catch { case unanswered: KeyfoldException => refused.addSuppressed(unanswered); throw refused }
    if (!answer.isObject || !Ours.names(session, Json.strings(answer.path("table")))) throw refused
    Json.optional(answer, "refused").foreach(reason => throw Refusal(reason))
    answer.path("sql").asText
  }
}
