package org.apache.spark.sql.keyfold.statements

import keyfold.spark.table.KeyfoldTable
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.analysis._
import org.apache.spark.sql.catalyst.plans.logical.{DropPartitions, LogicalPlan, V2PartitionCommand}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.keyfold.KeyfoldNodes
import org.apache.spark.sql.types.StructType

/** Driver side: ALTER TABLE … DROP PARTITION that names some of the partition columns, which Spark takes for
  * SHOW PARTITIONS and TRUNCATE alone.
  */
final case class DropPartialPartitions(table: LogicalPlan, parts: Seq[PartitionSpec], ifExists: Boolean, purge: Boolean)
    extends V2PartitionCommand {
  override def allowPartialPartitionSpec: Boolean = true
  override protected def withNewChildInternal(newChild: LogicalPlan): LogicalPlan = copy(table = newChild)
}

/** Driver side: takes DROP PARTITION of our tables out of Spark's hands before it looks at the columns: a hint
  * rule, because those alone come before.
  */
final case class DropsOfPartitions(session: SparkSession) extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan match {
    case drop: DropPartitions => drop.table match {
        case table: UnresolvedTable if KeyfoldNodes.names(session, table.multipartIdentifier) =>
          DropPartialPartitions(table, drop.parts, drop.ifExists, drop.purge)
        case _ => plan
      }
    case _ => plan
  }
}

/** Driver side: gives it back to Spark, each partition named in full. */
object PartitionsInFull extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan match {
    case drop: DropPartialPartitions
        if drop.table.resolved && drop.parts.forall(_.isInstanceOf[ResolvedPartitionSpec]) =>
      val all = drop.parts.collect { case spec: ResolvedPartitionSpec =>
        KeyfoldNodes.unapply(drop.table).fold(Seq(spec))(inFull(_, spec, drop.ifExists))
      }
      DropPartitions(drop.table, all.flatten.distinct, drop.ifExists, drop.purge)
    case _ => plan
  }

  private def inFull(
      table: KeyfoldTable, spec: ResolvedPartitionSpec, ifExists: Boolean): Seq[ResolvedPartitionSpec] = {
    val schema = table.partitionSchema()
    if (spec.names.length == schema.length) Seq(spec)
    else {
      val found = table.listPartitionIdentifiers(spec.names.toArray, spec.ident).toSeq
      if (found.isEmpty && !ifExists)
        throw new NoSuchPartitionsException(table.name(), Seq(spec.ident), StructType(spec.names.map(schema(_))))
      found.map(ResolvedPartitionSpec(schema.fieldNames.toSeq, _))
    }
  }
}
