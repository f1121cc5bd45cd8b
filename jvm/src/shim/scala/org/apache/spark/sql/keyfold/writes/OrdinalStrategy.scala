package org.apache.spark.sql.keyfold.writes

import scala.annotation.nowarn

import keyfold.spark.write.{KeyfoldStreamingWrite, KeyfoldWrite}
import org.apache.spark.sql.catalyst.expressions.{Alias, MonotonicallyIncreasingID}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.connector.write.Write
import org.apache.spark.sql.execution.{SparkPlan, SparkStrategy}
import org.apache.spark.sql.execution.datasources.v2.WriteToDataSourceV2
import org.apache.spark.sql.execution.streaming.continuous.WriteToContinuousDataSource
import org.apache.spark.sql.execution.streaming.sources.MicroBatchWrite
import org.apache.spark.sql.keyfold.{Fields, Refusal}
import org.apache.spark.sql.types.StructType

/** Driver side: gives every row that is clustered for one of our writes its place in the input, map
  * partition and row, as a last column, so that rows of one key fold in that order on any cluster; and
  * lets them cross the shuffle as batches.
  * A planner strategy, because Spark 4.2 clusters a write after the last injected optimizer rule.
  */
object OrdinalStrategy extends SparkStrategy {
  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case batches: SlotBatches => Seq(SlotBatchesExec(batches.columns, batches.output, planLater(batches.child)))
    case _ => placed(plan).map(planLater).toSeq
  }

  private def placed(plan: LogicalPlan): Option[LogicalPlan] = plan match {
    case append: AppendData => placed(append, append.write)
    case overwrite: OverwriteByExpression => placed(overwrite, overwrite.write)
    case dynamic: OverwritePartitionsDynamic => placed(dynamic, dynamic.write)
    case merge: InsertOnlyMerge => placed(merge, merge.write, isOfMerge = true)
    case continuous: WriteToContinuousDataSource if continuous.write.isInstanceOf[KeyfoldStreamingWrite] =>
      throw Refusal(s"${continuous.write}: a continuous trigger is not supported: use processingTime, or availableNow")
    case other => ofEpoch(other)
  }

  /** Spark plans epochs by a node that it has deprecated otherwise. */
  @nowarn("cat=deprecation")
  private def ofEpoch(plan: LogicalPlan): Option[LogicalPlan] = plan match {
    case write: WriteToDataSourceV2 => (write.batchWrite, write.query) match {
        case (batch: MicroBatchWrite, exchange: RepartitionByExpression) => batch.writeSupport match {
            case ours: KeyfoldStreamingWrite if !exchange.child.isInstanceOf[SlotBatches] =>
              Some(write.withNewChildren(Seq(batched(exchange, ours.withOrdinal()))))
            case _ => None
          }
        case _ => None
      }
    case _ => None
  }

  /** The ordinal goes below the exchange that Spark put under a write of ours, which does not have it yet. */
  private def placed(command: V2WriteCommand, write: Option[Write], isOfMerge: Boolean = false): Option[LogicalPlan] =
    (command.query, write) match {
      case (exchange: RepartitionByExpression, Some(ours: KeyfoldWrite)) if !ours.hasOrdinal =>
        val batches = ours.copy(hasOrdinal = true, isOfMerge = isOfMerge)
        Some(Fields.replaced(command, "query" -> batched(exchange, batches.rowSchema), "write" -> Some(batches)))
      case _ => None
    }

  private def batched(exchange: RepartitionByExpression, schema: StructType): LogicalPlan = {
    val ordinal = Alias(MonotonicallyIncreasingID(), KeyfoldWrite.Ordinal)()
    val slot = Alias(exchange.partitionExpressions.head, "slot")()
    val batches = SlotBatches(schema, Project(exchange.child.output :+ ordinal :+ slot, exchange.child))
    exchange.copy(partitionExpressions = batches.output.take(1), child = batches)
  }
}
