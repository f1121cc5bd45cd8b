package org.apache.spark.sql.keyfold.statements

import scala.util.control.NonFatal

import keyfold.spark.Json
import keyfold.spark.questions.StateColumn
import keyfold.spark.table.KeyfoldTable
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.analysis.ResolvedTable
import org.apache.spark.sql.catalyst.expressions.{Attribute, GenericInternalRow}
import org.apache.spark.sql.catalyst.plans.logical.{DescribeRelation, LogicalPlan}
import org.apache.spark.sql.execution.{SparkPlan, SparkStrategy}
import org.apache.spark.sql.execution.datasources.v2.{DescribeTableExec, LeafV2CommandExec}
import org.apache.spark.sql.keyfold.Ours
import org.apache.spark.unsafe.types.UTF8String

/** Driver side: DESCRIBE of one of our tables says what its columns of states hold; EXTENDED ends with the health
  * of its buckets.
  */
object DescribeHealth extends SparkStrategy {
  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case describe: DescribeRelation => describe.relation match {
        case found: ResolvedTable => Ours.unapply(found).filter(describe.isExtended || states(_).nonEmpty).map { table =>
            DescribeHealthExec(describe.output, DescribeTableExec(describe.output, found.catalog.name, found.identifier,
                table, describe.isExtended), table, states(table))
          }.toSeq
        case _ => Nil
      }
    case _ => Nil
  }

  private def states(table: KeyfoldTable): Map[String, String] =
    table.columns().toSeq.flatMap(column => StateColumn.of(column).map(state => column.name -> state.declared)).toMap
}

/** Driver side: Spark's own lines, then ours. */
final case class DescribeHealthExec(output: Seq[Attribute], described: DescribeTableExec, table: KeyfoldTable,
    states: Map[String, String]) extends LeafV2CommandExec {

  override protected def run(): Seq[InternalRow] =
    described.executeCollect().toSeq.map(stated) ++
      (if (described.isExtended) row("", "") +: row("# Health", "") +: lines else Nil)

  /** The line of a column, with what its states are of before its comment. */
  private def stated(line: InternalRow): InternalRow =
    states.get(line.getString(0)).filter(_ => line.getString(1) == "binary").fold(line) { declared =>
      val comment = if (line.isNullAt(2) || line.getString(2).isEmpty) "" else s"; ${line.getString(2)}"
      row(line.getString(0), line.getString(1), s"AGG_STATE<$declared>$comment")
    }

  /** A table can be described though its health is not known. */
  private def lines: Seq[InternalRow] =
    try Json.items(table.questions.ask("health_lines", "table" -> table.description.handle))
      .map(line => row(line.get(0).asText, line.get(1).asText))
    catch { case NonFatal(failure) => Seq(row("Unknown", failure.getMessage)) }

  private def row(name: String, text: String, comment: String = ""): InternalRow =
    new GenericInternalRow(Array[Any](name, text, comment).map(cell => UTF8String.fromString(cell.toString): Any))
}
