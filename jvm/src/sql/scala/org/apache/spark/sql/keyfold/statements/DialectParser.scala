package org.apache.spark.sql.keyfold.statements

import java.lang.reflect.{InvocationTargetException, Method, Proxy}

import scala.jdk.CollectionConverters._
import scala.util.Try

import keyfold.spark.{Json, KeyfoldException}
import keyfold.spark.processes.Driver
import keyfold.spark.table.Names
import org.apache.spark.SparkException
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.FunctionIdentifier
import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation
import org.apache.spark.sql.catalyst.parser.{ParseException, ParserInterface}
import org.apache.spark.sql.catalyst.plans.logical.{InsertIntoStatement, LogicalPlan}
import org.apache.spark.sql.catalyst.trees.CurrentOrigin
import org.apache.spark.sql.execution.command.SetCommand
import org.apache.spark.sql.keyfold.{KeyfoldNodes, Refusal}

/** Driver side: the session's parser, Spark's own or another extension's, which goes first and answers every
  * method, those of later versions of Spark included. A CREATE TABLE that it refuses, of a table in one of our
  * catalogs, is put into Spark SQL by Python where another system's documents print it so, and so are Paimon's
  * statements about tags, and rows, arrays and UNNEST of Flink's queries.
  */
object DialectParser {
  private val OfPlans = Set("parsePlan", "parsePlanWithParameters")

  /** The first words of statements, perhaps after comments; possessive: thousands of these need no deeper stack. */
  private val FirstWords = """(?is)(?:\s|--[^\n]*+\n|/\*.*?\*/)*+(?:(?:CREATE|ALTER)\s+TABLE|SHOW\s+TAGS)\b""".r

  /** The first words of queries and settings. */
  private val OfQueries = """(?is)(?:\s|--[^\n]*+\n|/\*.*?\*/)*+(?:INSERT|SELECT|WITH|EXPLAIN|SET)\b""".r

  /** Calls of what Spark has not, though it parses them. */
  private val Unread = """(?i)(?:,|\bJOIN)\s*UNNEST\s*\(|\bROW\s*\(""".r

  def apply(session: SparkSession, parser: ParserInterface): ParserInterface =
    Proxy.newProxyInstance(getClass.getClassLoader, Array(classOf[ParserInterface]),
      (_: AnyRef, method: Method, arguments: Array[AnyRef]) =>
        try answer(session, parser, method, arguments)
        catch {
          case failure: SparkException => throw declared(Option(arguments).flatMap(_.headOption), failure)
        }).asInstanceOf[ParserInterface]

  private def answer(session: SparkSession, parser: ParserInterface, method: Method, arguments: Array[AnyRef]): AnyRef =
    try method.invoke(parser, Option(arguments).toSeq.flatten: _*) match {
        case plan: LogicalPlan if OfPlans(method.getName) && Unread.findFirstIn(arguments.head.toString).isDefined =>
          query(session, parser, method, arguments).getOrElse(plan)
        case parsed => parsed
      }
    catch {
      case failed: InvocationTargetException => failed.getCause match {
          case refused: ParseException if unquoted(session, arguments, refused).isDefined =>
            throw Refusal(unquoted(session, arguments, refused).map(Names.hint).mkString)
          case refused: ParseException if OfPlans(method.getName) && isQuery(arguments.head.toString) =>
            query(session, parser, method, arguments).getOrElse(throw refused)
          case refused: ParseException if OfPlans(method.getName) =>
            parser.parsePlan(translated(session, arguments.head.toString, refused))
          case failure => throw failure
        }
    }

  /** Spark's words in an exception that the interface declares. A proxy throws no other checked one, and Spark 4.3's
    * parser throws SparkException where a type is off.
    */
  private def declared(parsed: Option[AnyRef], failure: SparkException): ParseException = {
    val parameters = failure.getMessageParameters.asScala.toMap
    val refused = new ParseException(parsed.map(_.toString), CurrentOrigin.get, failure.getCondition, parameters)
    refused.addSuppressed(failure)
    refused
  }

  /** The name of ours whose `$` Spark can't read, in the text that was parsed. */
  private def unquoted(session: SparkSession, arguments: Array[AnyRef], refused: ParseException): Option[Seq[String]] =
    for {
      text <- Option(arguments).flatMap(_.headOption).collect { case text: String => text }
      if refused.getMessageParameters.get("error") == "'$'"
      line <- refused.start.line
      column <- refused.start.startPosition
      place = text.linesWithSeparators.take(line - 1).map(_.length).sum + column
      name <- Names.unquoted(text, place) if KeyfoldNodes.names(session, name)
    } yield name

  private def isQuery(sql: String): Boolean = OfQueries.findPrefixOf(sql).isDefined

  /** The plan of a query in Flink's words, if it is about tables of ours and nobody has functions of these names. */
  private def query(session: SparkSession, parser: ParserInterface, method: Method,
      arguments: Array[AnyRef]): Option[LogicalPlan] = {
    def isFree(name: String) = !session.sessionState.catalog.isTemporaryFunction(FunctionIdentifier(name))
    val isAsked = isQuery(arguments.head.toString) && isFree("row") && isFree("unnest")
    for {
      answer <- Option.when(isAsked)(Json.obj("question" -> "translate", "sql" -> arguments.head)).flatMap(asked =>
        Try(Driver.ask(asked)).toOption)
      sql <- Json.optional(answer, "sql")
      plan <- Try(method.invoke(parser, sql +: arguments.tail: _*)).toOption.collect { case plan: LogicalPlan => plan }
      if isOurs(session, plan)
    } yield plan
  }

  private def isOurs(session: SparkSession, plan: LogicalPlan): Boolean = plan match {
    case relation: UnresolvedRelation => KeyfoldNodes.names(session, relation.multipartIdentifier)
    case insert: InsertIntoStatement if isOurs(session, insert.table) => true
    case _: SetCommand => KeyfoldNodes.names(session, Nil)
    case node => (node.children ++ node.innerChildren).exists {
        case inner: LogicalPlan => isOurs(session, inner)
        case _ => false
      }
  }

  private def translated(session: SparkSession, sql: String, refused: ParseException): String = {
    if (FirstWords.findPrefixOf(sql).isEmpty) throw refused
    val answer =
      try Driver.ask(Json.obj("question" -> "translate", "sql" -> sql))
      catch { case unanswered: KeyfoldException => refused.addSuppressed(unanswered); throw refused }
    val table = Json.strings(answer.path("table"))
    if (!answer.isObject || !KeyfoldNodes.names(session, table)) throw refused
    Json.optional(answer, "refused").foreach(reason => throw Refusal(reason))
    val statement = answer.path("sql").asText
    val catalog = table.headOption.filter(name => table.size > 1 && KeyfoldNodes.catalog(session, name).isDefined)
    if (answer.path("is_call").asBoolean) s"CALL ${catalog.map(Names.quote(_) + ".").mkString}$statement" else statement
  }
}
