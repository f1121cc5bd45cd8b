package org.apache.spark.sql.keyfold.groups

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, AttributeSeq, Expression, NamedExpression}
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.util.truncatedString
import org.apache.spark.sql.execution.{ColumnarRule, ProjectExec, SparkPlan}
import org.apache.spark.sql.execution.aggregate.{BaseAggregateExec, ObjectHashAggregateExec, SortAggregateExec}
import org.apache.spark.sql.execution.metric.SQLMetric
import org.apache.spark.sql.execution.window.WindowExecBase
import org.apache.spark.sql.keyfold.aggregates._

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

/** Driver side: puts FoldAggregateExec in its place, in queries with and without AQE and in streams. */
object FoldOperators extends ColumnarRule {
  override def preColumnarTransitions: Rule[SparkPlan] = (plan: SparkPlan) =>
    plan.transformUp {
      case planned: ObjectHashAggregateExec if planned.aggregateExpressions.exists(isOurs) =>
        val spark = MadeToUnite(planned).asInstanceOf[ObjectHashAggregateExec]
        FoldGroups.of(spark).fold(reason => FoldAggregateExec(spark.requiredChildDistributionExpressions, spark.isStreaming,
          spark.numShufflePartitions, spark.groupingExpressions, spark.aggregateExpressions, spark.aggregateAttributes,
          spark.initialInputBufferOffset, spark.resultExpressions, spark.child, reason), identity)
      case window: WindowExecBase => framed(MadeToUnite(window))
      case sorted: SortAggregateExec => MadeToUnite(sorted)
    }

  /** A window that gives numbers of groups where functions are ours, and above it an operator that has the results. */
  private def framed(window: SparkPlan): SparkPlan = {
    val calls = window.expressions.collect { case call: Alias => call -> call.collectFirst { case fold: FoldFunction => fold } }
      .collect { case (call, Some(fold)) if fold.frames.isEmpty => call -> fold }
    val frames = FoldBatcher()(calls.map(_._2), ofFrames = true)
    val numbers = calls.zipWithIndex.map { case ((call, _), i) =>
      call.exprId -> Alias(call.child.transform { case fold: FoldFunction => fold.copy(frames = Some(frames -> i)) }, "frame")()
    }.toMap
    val results = calls.map { case (call, fold) =>
      Alias(FoldOfRow(fold.copy(children = Seq(numbers(call.exprId).toAttribute), order = Nil)), call.name)(call.exprId)
    }
    if (calls.isEmpty) window
    else ProjectExec(window.output, StateRowsExec(results,
      window.transformExpressions { case call: Alias => numbers.getOrElse(call.exprId, call) }, Some(frames)))
  }

  private def isOurs(call: AggregateExpression): Boolean = call.aggregateFunction.isInstanceOf[FoldFunction]
}
