package org.apache.spark.sql.keyfold

import keyfold.spark.write.KeyfoldWrite
import org.apache.spark.sql.catalyst.expressions.{Alias, MonotonicallyIncreasingID}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.execution.{SparkPlan, SparkStrategy}

/** Driver side: gives every row that is clustered for one of our writes its place in the input, map
  * partition and row, as a last column, so that rows of one key fold in that order on any cluster.
  * A planner strategy, because Spark 4.2 clusters a write after the last injected optimizer rule.
  */
object OrdinalStrategy extends SparkStrategy {
  override def apply(plan: LogicalPlan): Seq[SparkPlan] = marked(plan).map(planLater).toSeq

  private def marked(plan: LogicalPlan): Option[LogicalPlan] = plan match {
    case command @ AppendData(_, Clustered(query), _, _, _, Unmarked(write), _) =>
      Some(command.copy(query = query, write = write))
    case command @ OverwriteByExpression(_, _, Clustered(query), _, _, _, Unmarked(write), _) =>
      Some(command.copy(query = query, write = write))
    case command @ OverwritePartitionsDynamic(_, Clustered(query), _, _, _, Unmarked(write)) =>
      Some(command.copy(query = query, write = write))
    case _ => None
  }

  /** One of our writes that has no ordinal yet, as one that has. */
  private object Unmarked {
    def unapply(write: Option[AnyRef]): Option[Some[KeyfoldWrite]] = write.collect {
      case ours: KeyfoldWrite if !ours.hasOrdinal => Some(ours.copy(hasOrdinal = true))
    }
  }

  /** The exchange that Spark put under a write, with the ordinal added below it. */
  private object Clustered {
    def unapply(plan: LogicalPlan): Option[LogicalPlan] = plan match {
      case exchange: RepartitionByExpression =>
        val ordinal = Alias(MonotonicallyIncreasingID(), KeyfoldWrite.Ordinal)()
        Some(exchange.copy(child = Project(exchange.child.output :+ ordinal, exchange.child)))
      case _ => None
    }
  }
}
