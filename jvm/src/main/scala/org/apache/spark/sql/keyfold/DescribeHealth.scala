package org.apache.spark.sql.keyfold

import scala.util.control.NonFatal

import keyfold.spark.Json
import keyfold.spark.table.KeyfoldTable
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.analysis.ResolvedTable
import org.apache.spark.sql.catalyst.expressions.{Attribute, GenericInternalRow}
import org.apache.spark.sql.catalyst.plans.logical.{DescribeRelation, LogicalPlan}
import org.apache.spark.sql.execution.{SparkPlan, SparkStrategy}
import org.apache.spark.sql.execution.datasources.v2.{DescribeTableExec, LeafV2CommandExec}
import org.apache.spark.unsafe.types.UTF8String

/** Driver side: DESCRIBE EXTENDED of one of our tables ends with the health of its buckets. */
object DescribeHealth extends SparkStrategy {
  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case describe: DescribeRelation if describe.isExtended => describe.relation match {
        case found: ResolvedTable => Ours.unapply(found).map { table =>
            DescribeHealthExec(describe.output,
              DescribeTableExec(describe.output, found.catalog.name, found.identifier, table, isExtended = true), table)
          }.toSeq
        case _ => Nil
      }
    case _ => Nil
  }
}

/** Driver side: Spark's own lines, then ours. */
final case class DescribeHealthExec(output: Seq[Attribute], described: DescribeTableExec, table: KeyfoldTable)
    extends LeafV2CommandExec {

  override protected def run(): Seq[InternalRow] =
    described.executeCollect().toSeq ++ (row("", "") +: row("# Health", "") +: lines)

  /** A table can be described though its health is not known. */
  private def lines: Seq[InternalRow] =
    try Json.items(table.questions.ask("health_lines", "table" -> table.description.handle))
      .map(line => row(line.get(0).asText, line.get(1).asText))
    catch { case NonFatal(failure) => Seq(row("Unknown", failure.getMessage)) }

  private def row(name: String, text: String): InternalRow =
    new GenericInternalRow(Array[Any](name, text, "").map(cell => UTF8String.fromString(cell.toString): Any))
}
