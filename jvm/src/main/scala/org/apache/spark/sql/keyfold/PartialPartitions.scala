package org.apache.spark.sql.keyfold

import keyfold.spark.KeyfoldCatalog
import keyfold.spark.table.KeyfoldTable
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.analysis.{NoSuchPartitionsException, PartitionSpec, ResolvedPartitionSpec,
  ResolvedTable, UnresolvedTable}
import org.apache.spark.sql.catalyst.plans.logical.{DropPartitions, LogicalPlan, V2PartitionCommand}
import org.apache.spark.sql.catalyst.rules.Rule

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
    case DropPartitions(table: UnresolvedTable, parts, ifExists, purge) if isOurs(table.multipartIdentifier) =>
      DropPartialPartitions(table, parts, ifExists, purge)
    case _ => plan
  }

  private def isOurs(name: Seq[String]): Boolean = {
    val catalogs = session.sessionState.catalogManager
    val catalog =
      if (name.length > 1 && catalogs.isCatalogRegistered(name.head)) catalogs.catalog(name.head)
      else catalogs.currentCatalog
    catalog.isInstanceOf[KeyfoldCatalog]
  }
}

/** Driver side: gives it back to Spark, each partition named in full. */
object PartitionsInFull extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan match {
    case DropPartialPartitions(resolved @ ResolvedTable(_, _, table, _), parts, ifExists, purge)
        if parts.forall(_.isInstanceOf[ResolvedPartitionSpec]) =>
      val all = parts.collect { case spec: ResolvedPartitionSpec => inFull(table, spec, ifExists) }
      DropPartitions(resolved, all.flatten.distinct, ifExists, purge)
    case _ => plan
  }

  private def inFull(table: Any, spec: ResolvedPartitionSpec, ifExists: Boolean): Seq[ResolvedPartitionSpec] =
    table match {
      case ours: KeyfoldTable if spec.names.length < ours.partitionSchema().length =>
        val found = ours.listPartitionIdentifiers(spec.names.toArray, spec.ident)
        if (found.isEmpty && !ifExists) {
          val schema = ours.partitionSchema()
          val named = org.apache.spark.sql.types.StructType(spec.names.map(schema(_)))
          throw new NoSuchPartitionsException(ours.name(), Seq(spec.ident), named)
        }
        found.toSeq.map(ResolvedPartitionSpec(ours.partitionSchema().fieldNames.toSeq, _))
      case _ => Seq(spec)
    }
}
