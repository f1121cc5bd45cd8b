package org.apache.spark.sql.keyfold

import keyfold.spark.KeyfoldCatalog
import keyfold.spark.table.KeyfoldTable
import keyfold.spark.write.TargetColumns
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.analysis.{NamedRelation, UnresolvedRelation}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import scala.jdk.CollectionConverters._

/** Driver side: tells a write by INSERT which columns the statement named, as an option of its relation,
  * before Spark fills the others with DEFAULT and NULL. Among the resolution rules, which come after the
  * one that resolves the relation and, a round later, before the one that fills.
  */
object ColumnsOfInsert extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan.resolveOperators {
    case insert: InsertIntoStatement if !insert.byName || insert.query.resolved =>
      insert.table match {
        case relation @ DataSourceV2Relation(table: KeyfoldTable, _, _, _, _, _)
            if !TargetColumns.isMarked(relation.options) =>
          val names = named(insert)
          names.foreach(TargetColumns.check(table, _, relation.options, insert.overwrite))
          val options = relation.options.asCaseSensitiveMap.asScala.toMap + TargetColumns.mark(names)
          insert.copy(table = relation.copy(options = new CaseInsensitiveStringMap(options.asJava)))
        case _ => insert
      }
  }

  private def named(insert: InsertIntoStatement): Option[Seq[String]] =
    if (insert.byName) Some(insert.query.output.map(_.name) ++ insert.partitionSpec.keys)
    else if (insert.userSpecifiedCols.nonEmpty) Some(insert.userSpecifiedCols ++ insert.partitionSpec.keys)
    else None
}

/** Driver side: the same for a DataFrame that is written by name, whose relation Spark resolves and whose
  * columns it fills in one round: among the hints, which come before.
  */
final case class ColumnsOfFrame(session: SparkSession) extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan.resolveOperators {
    case write: AppendData if isDue(write, write.writeOptions) =>
      write.copy(writeOptions = write.writeOptions + mark(write, write.isByName))
    case write: OverwriteByExpression if isDue(write, write.writeOptions) =>
      write.copy(writeOptions = write.writeOptions + mark(write, write.isByName))
    case write: OverwritePartitionsDynamic if isDue(write, write.writeOptions) =>
      write.copy(writeOptions = write.writeOptions + mark(write, write.isByName))
  }

  /** The frame comes as it was written, so its names may be known only after an analysis of its own. */
  private def mark(write: V2WriteCommand, isByName: Boolean): (String, String) = {
    lazy val query =
      if (write.query.resolved) write.query else session.sessionState.executePlan(write.query).analyzed
    TargetColumns.mark(if (isByName) Some(query.output.map(_.name)) else None)
  }

  private def isDue(write: V2WriteCommand, options: Map[String, String]): Boolean =
    !options.contains(TargetColumns.Mark) && isOurs(write.table)

  private def isOurs(target: NamedRelation): Boolean = target match {
    case DataSourceV2Relation(_: KeyfoldTable, _, _, _, _, _) => true
    case UnresolvedRelation(name, _, _) =>
      val catalogs = session.sessionState.catalogManager
      val catalog =
        if (name.length > 1 && catalogs.isCatalogRegistered(name.head)) catalogs.catalog(name.head)
        else catalogs.currentCatalog
      catalog.isInstanceOf[KeyfoldCatalog]
    case _ => false
  }
}
