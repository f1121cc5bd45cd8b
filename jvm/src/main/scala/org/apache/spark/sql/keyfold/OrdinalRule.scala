package org.apache.spark.sql.keyfold

import keyfold.spark.KeyfoldWrite
import org.apache.spark.sql.catalyst.expressions.{Alias, MonotonicallyIncreasingID}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.connector.write.Write

/** Driver side: gives every row that is clustered for one of our writes its place in the input, map
  * partition and row, as a last column, so that rows of one key fold in that order on any cluster.
  */
object OrdinalRule extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan.transform {
    case append @ AppendData(_, Clustered(query), _, _, _, Some(write: KeyfoldWrite), _) if !write.hasOrdinal =>
      append.copy(query = query, write = marked(write))
    case overwrite @ OverwriteByExpression(_, _, Clustered(query), _, _, _, Some(write: KeyfoldWrite), _)
        if !write.hasOrdinal =>
      overwrite.copy(query = query, write = marked(write))
    case overwrite @ OverwritePartitionsDynamic(_, Clustered(query), _, _, _, Some(write: KeyfoldWrite))
        if !write.hasOrdinal =>
      overwrite.copy(query = query, write = marked(write))
  }

  private def marked(write: KeyfoldWrite): Option[Write] = Some(write.copy(hasOrdinal = true))

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
