package org.apache.spark.sql.keyfold.writes

import scala.annotation.nowarn

import keyfold.spark.write.{KeyfoldStreamingWrite, KeyfoldWrite}
import org.apache.spark.sql.catalyst.expressions.{Alias, MonotonicallyIncreasingID}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.connector.write.Write
import org.apache.spark.sql.execution.{SparkPlan, SparkStrategy}
import org.apache.spark.sql.execution.datasources.v2.WriteToDataSourceV2
import org.apache.spark.sql.execution.streaming.sources.MicroBatchWrite

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
    case merge: InsertOnlyMerge => placed(merge.query, merge.write).map { case (query, write) =>
        merge.copy(query = query, write = write.map {
          case ours: KeyfoldWrite => ours.copy(isOfMerge = true)
          case other => other
        })
      }
    case other => ofEpoch(other)
  }

  /** Spark plans epochs by a node that it has deprecated otherwise. */
  @nowarn("cat=deprecation")
  private def ofEpoch(plan: LogicalPlan): Option[LogicalPlan] = plan match {
    case WriteToDataSourceV2(_, batch: MicroBatchWrite, exchange: RepartitionByExpression, _) => batch.writeSupport match {
        case ours: KeyfoldStreamingWrite if !exchange.output.exists(_.name == KeyfoldWrite.Ordinal) =>
          ours.withOrdinal()
          Some(plan.withNewChildren(Seq(numbered(exchange))))
        case _ => None
      }
    case _ => None
  }

  /** The ordinal goes below the exchange that Spark put under a write of ours, which does not have it yet. */
  private def placed(query: LogicalPlan, write: Option[Write]): Option[(LogicalPlan, Option[Write])] =
    (query, write) match {
      case (exchange: RepartitionByExpression, Some(ours: KeyfoldWrite)) if !ours.hasOrdinal =>
        Some(numbered(exchange) -> Some(ours.copy(hasOrdinal = true)))
      case _ => None
    }

  private def numbered(exchange: RepartitionByExpression): LogicalPlan = {
    val ordinal = Alias(MonotonicallyIncreasingID(), KeyfoldWrite.Ordinal)()
    exchange.copy(child = Project(exchange.child.output :+ ordinal, exchange.child))
  }
}
