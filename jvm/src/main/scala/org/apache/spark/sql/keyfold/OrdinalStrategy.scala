package org.apache.spark.sql.keyfold

import keyfold.spark.write.KeyfoldWrite
import org.apache.spark.sql.catalyst.expressions.{Alias, MonotonicallyIncreasingID}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.connector.write.Write
import org.apache.spark.sql.execution.{SparkPlan, SparkStrategy}

/** Driver side: gives every row that is clustered for one of our writes its place in the input, map
  * partition and row, as a last column, so that rows of one key fold in that order on any cluster.
  * A planner strategy, because Spark 4.2 clusters a write after the last injected optimizer rule.
  */
object OrdinalStrategy extends SparkStrategy {
  override def apply(plan: LogicalPlan): Seq[SparkPlan] = placed(plan).map(planLater).toSeq

  private def placed(plan: LogicalPlan): Option[LogicalPlan] = plan match {
    case append: AppendData =>
      placed(append.query, append.write).map { case (query, write) => append.copy(query = query, write = write) }
    case overwrite: OverwriteByExpression =>
      placed(overwrite.query, overwrite.write)
        .map { case (query, write) => overwrite.copy(query = query, write = write) }
    case dynamic: OverwritePartitionsDynamic =>
      placed(dynamic.query, dynamic.write).map { case (query, write) => dynamic.copy(query = query, write = write) }
    case _ => None
  }

  /** The ordinal goes below the exchange that Spark put under a write of ours, which does not have it yet. */
  private def placed(query: LogicalPlan, write: Option[Write]): Option[(LogicalPlan, Option[Write])] =
    (query, write) match {
      case (exchange: RepartitionByExpression, Some(ours: KeyfoldWrite)) if !ours.hasOrdinal =>
        val ordinal = Alias(MonotonicallyIncreasingID(), KeyfoldWrite.Ordinal)()
        val numbered = Project(exchange.child.output :+ ordinal, exchange.child)
        Some(exchange.copy(child = numbered) -> Some(ours.copy(hasOrdinal = true)))
      case _ => None
    }
}
