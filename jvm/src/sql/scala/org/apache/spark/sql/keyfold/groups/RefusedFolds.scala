package org.apache.spark.sql.keyfold.groups

import keyfold.spark.KeyfoldException
import org.apache.spark.sql.catalyst.expressions.{Cast, Expression}
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression
import org.apache.spark.sql.catalyst.plans.logical.{CollectMetrics, LogicalPlan}
import org.apache.spark.sql.keyfold.aggregates.FoldFunction

/** Driver side: refuses DISTINCT with an ORDER BY on another expression: which of two equal values remains would be
  * undefined; an ORDER BY of what Python has no type for; and folds in observed metrics, which Spark puts together on
  * the driver. To an AnalysisException Spark would add the whole plan.
  */
object RefusedFolds extends (LogicalPlan => Unit) {
  override def apply(plan: LogicalPlan): Unit = plan.foreach(node => node.expressions.foreach(_.foreach {
    case fold: FoldFunction if node.isInstanceOf[CollectMetrics] => throw refused(fold,
        " in observed metrics is not supported: they are put together where no worker folds; aggregate the DataFrame")
    case call: AggregateExpression => call.aggregateFunction match {
        case fold: FoldFunction => check(fold, call.isDistinct)
        case _ =>
      }
    case _ =>
  }))

  private def check(fold: FoldFunction, isDistinct: Boolean): Unit = {
    def ordered = s"WITHIN GROUP (ORDER BY ${fold.by.map(_.child.sql).mkString(", ")})"
    fold.by.map(_.child.dataType).find(!FoldGroups.isKnown(_)).foreach(kind =>
      throw refused(fold, s" $ordered: type ${kind.sql} is not supported there; order by a number or a STRING"))
    if (isDistinct && !fold.by.forall(key => isValue(fold, key.child)))
      throw refused(fold, s": DISTINCT together with $ordered; expected ORDER BY ${fold.columns.head.sql}")
  }

  private def refused(fold: FoldFunction, words: String): Throwable =
    new KeyfoldException("NotSupportedError", s"function ${fold.name}$words")

  private def isValue(fold: FoldFunction, key: Expression): Boolean = fold.columns.head match {
    case cast: Cast if cast.child.semanticEquals(key) => true
    case value => value.semanticEquals(key)
  }
}
