package org.apache.spark.sql.keyfold.reads

import com.fasterxml.jackson.databind.JsonNode
import keyfold.spark.questions.Predicates
import keyfold.spark.table.{KeyfoldTable, Names}
import org.apache.spark.sql.{AnalysisException, SparkSession}
import org.apache.spark.sql.catalyst.QueryPlanningTracker
import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression, PredicateHelper, SubqueryExpression}
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LeafNode, LocalRelation, Statistics}
import org.apache.spark.sql.catalyst.types.DataTypeUtils
import org.apache.spark.sql.execution.datasources.DataSourceStrategy
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Strategy
import org.apache.spark.sql.keyfold.{Refusal, SqlTypes}

/** Driver side: a condition over partition columns, written in SQL inside a text, as predicates on the wire.
  * Spark parses, resolves and simplifies it; what then has no form there is refused. None where Spark sees
  * that no row satisfies it.
  */
object PartitionCondition extends PredicateHelper {
  def apply(session: SparkSession, table: KeyfoldTable, text: String): Option[Seq[JsonNode]] = {
    val state = session.sessionState
    val rows = RowsOf(DataTypeUtils.toAttributes(SqlTypes.ofRows(table.columns())))
    val analyzed =
      try state.analyzer.executeAndCheck(Filter(state.sqlParser.parseExpression(text), rows), new QueryPlanningTracker)
      catch { case wrong: AnalysisException => refuse(table, text, wrong.getSimpleMessage.strip.linesIterator.next()) }
    analyzed.foreach { case Filter(condition, _) => check(table, text, condition); case _ => () }
    state.optimizer.execute(analyzed) match {
      case _: RowsOf => Some(Nil)
      case relation: LocalRelation if relation.data.isEmpty => None
      case Filter(condition, _: RowsOf) =>
        Some(DataSourceStrategy.normalizeExprs(splitConjunctivePredicates(condition), rows.output).map { part =>
          DataSourceV2Strategy.translateFilterV2(part).flatMap(Predicates.toJson)
            .getOrElse(refuse(table, text, s"${part.sql} can't be decided from a partition's values"))
        })
      case _ => refuse(table, text, "a partition's values do not decide it")
    }
  }

  private def check(table: KeyfoldTable, text: String, condition: Expression): Unit = {
    val others = condition.references.map(_.name).filterNot(isPartitioning(table, _)).toSeq.distinct
    if (others.nonEmpty) refuse(table, text, s"found ${others.map(name => Names.shown(Seq(name))).mkString(", ")}")
    if (SubqueryExpression.hasSubquery(condition)) refuse(table, text, "found a subquery")
    if (!condition.deterministic) refuse(table, text, "it is not deterministic")
  }

  private def isPartitioning(table: KeyfoldTable, column: String): Boolean =
    table.description.partitioning.exists(_.equalsIgnoreCase(column))

  private def refuse(table: KeyfoldTable, text: String, reason: String): Nothing = {
    val names = table.description.partitioning
    val takes = if (names.isEmpty) "the table has no partitions" else s"it takes ${names.mkString(", ")}"
    throw Refusal(s"where => '$text' chooses whole partitions of table ${table.name()}: $takes; $reason")
  }

  /** The table's rows, for the optimizer to leave alone. */
  private final case class RowsOf(output: Seq[Attribute]) extends LeafNode {
    override def computeStats(): Statistics = Statistics(sizeInBytes = BigInt(1))
  }
}
