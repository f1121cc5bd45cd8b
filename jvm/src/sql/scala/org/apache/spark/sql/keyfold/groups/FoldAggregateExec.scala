package org.apache.spark.sql.keyfold.groups

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeSeq, Expression, NamedExpression}
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.util.truncatedString
import org.apache.spark.sql.execution.{ColumnarRule, SparkPlan}
import org.apache.spark.sql.execution.aggregate.{BaseAggregateExec, ObjectHashAggregateExec, SortAggregateExec}
import org.apache.spark.sql.execution.metric.SQLMetric
import org.apache.spark.sql.execution.window.WindowExecBase
import org.apache.spark.sql.keyfold.aggregates.FoldFunction

/** Both sides: stands in for Spark's ObjectHashAggregateExec, with the same arguments, where a function is ours and for
  * some reason not all go to Python: no sort at 128 groups, and results of many groups at once. Spark's own functions
  * run beside ours in the same pass.
  */
final case class FoldAggregateExec(
    requiredChildDistributionExpressions: Option[Seq[Expression]],
    isStreaming: Boolean,
    numShufflePartitions: Option[Int],
    groupingExpressions: Seq[NamedExpression],
    aggregateExpressions: Seq[AggregateExpression],
    aggregateAttributes: Seq[Attribute],
    initialInputBufferOffset: Int,
    resultExpressions: Seq[NamedExpression],
    child: SparkPlan,
    reason: String) extends BaseAggregateExec {
  override lazy val allAttributes: AttributeSeq = child.output ++ aggregateBufferAttributes ++ aggregateAttributes ++
    aggregateExpressions.flatMap(_.aggregateFunction.inputAggBufferAttributes)

  override lazy val metrics: Map[String, SQLMetric] = FoldFigures.metrics(sparkContext)

  override def simpleString(fields: Int): String =
    s"FoldAggregate(keys=${listed(groupingExpressions, fields)}, functions=${listed(aggregateExpressions, fields)}, " +
      s"groups in the JVM because $reason)"

  override def verboseString(fields: Int): String =
    s"${simpleString(fields).dropRight(1)}, output=${listed(output, fields)})"

  private def listed(items: Seq[Any], fields: Int): String = truncatedString(items, "[", ", ", "]", fields)

  /** Partial results may repeat a group: another operator merges them. */
  def isPartial: Boolean = requiredChildDistributionExpressions.isEmpty

  /** The columns of its rows, as the iterator of a task sees them. */
  def inputs: Seq[Attribute] = inputAttributes

  override protected def doExecute(): RDD[InternalRow] = {
    val figures = new FoldFigures(metrics)
    child.execute().mapPartitionsWithIndexInternal { (part, rows) =>
      if (groupingExpressions.nonEmpty && !rows.hasNext) Iterator.empty
      else new FoldIterator(this, part, rows, figures)
    }
  }

  override protected def withNewChildInternal(changed: SparkPlan): FoldAggregateExec = copy(child = changed)
}

/** Driver side: puts FoldAggregateExec in its place, in queries with and without AQE and in streams; and marks folds
  * in the operators that are left as they are: these have one group at a time.
  */
object FoldOperators extends ColumnarRule {
  override def preColumnarTransitions: Rule[SparkPlan] = (plan: SparkPlan) =>
    plan.transformUp {
      case planned: ObjectHashAggregateExec if planned.aggregateExpressions.exists(isOurs) =>
        val spark = MadeToUnite(planned).asInstanceOf[ObjectHashAggregateExec]
        FoldGroups.of(spark).fold(reason => FoldAggregateExec(spark.requiredChildDistributionExpressions, spark.isStreaming,
          spark.numShufflePartitions, spark.groupingExpressions, spark.aggregateExpressions, spark.aggregateAttributes,
          spark.initialInputBufferOffset, spark.resultExpressions, spark.child, reason), identity)
      case window: WindowExecBase => single(window)
      case sorted: SortAggregateExec => single(sorted)
    }

  private def single(node: SparkPlan): SparkPlan = MadeToUnite(node).transformExpressions {
    case fold: FoldFunction => fold.copy(isSingle = true)
  }

  private def isOurs(call: AggregateExpression): Boolean = call.aggregateFunction.isInstanceOf[FoldFunction]
}
