package org.apache.spark.sql.keyfold.writes

import scala.jdk.CollectionConverters._

import keyfold.spark.table.KeyfoldTable
import keyfold.spark.write.TargetColumns
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.analysis.{NamedRelation, UnresolvedRelation}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.datasources.DataSourceStrategy
import org.apache.spark.sql.keyfold.{Fields, KeyfoldNodes}
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** Driver side: notes which columns an INSERT names, as an option of its relation,
  * before Spark fills the others with DEFAULT and NULL. Among the resolution rules, which come after the
  * one that resolves the relation and, a round later, before the one that fills.
  */
object ColumnsOfInsert extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan.resolveOperators {
    case insert: InsertIntoStatement if !insert.byName || insert.query.resolved => insert.table match {
        case KeyfoldNodes.Relation(relation, table) if !TargetColumns.isMarked(relation.options) =>
          val names = named(insert)
          val evolves = insert.withSchemaEvolution || ExtraColumns.areAdded(table.name(), relation.options)
          val asked = insert.copy(withSchemaEvolution = evolves)
          if (insert.query.resolved) ExtraColumns.check(asked, table)
          names.map(known(asked, table, _)).foreach(TargetColumns.check(table, _, relation.options, insert.overwrite))
          asked.copy(table = relation.copy(options = TargetColumns.added(relation.options, TargetColumns.mark(names))))
        case KeyfoldNodes.Relation(_, table) if insert.query.resolved =>
          ExtraColumns.check(insert, table)
          insert
        case _ => insert
      }
  }

  /** The names without those of columns that the table is about to get. */
  private def known(insert: InsertIntoStatement, table: KeyfoldTable, names: Seq[String]): Seq[String] =
    if (insert.byName && insert.withSchemaEvolution) names.diff(ExtraColumns.of(table, names)) else names

  private def named(insert: InsertIntoStatement): Option[Seq[String]] =
    if (insert.byName) Some(insert.query.output.map(_.name) ++ insert.partitionSpec.keys)
    else if (insert.userSpecifiedCols.nonEmpty) Some(insert.userSpecifiedCols ++ insert.partitionSpec.keys)
    else None
}

/** Driver side: notes the columns of a DataFrame that is written by name, whose relation Spark resolves and whose
  * columns it fills in one round: among the hints, which come before.
  */
final case class ColumnsOfFrame(session: SparkSession) extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan.resolveOperators {
    case write: AppendData => noted(write, write.writeOptions)
    case write: OverwriteByExpression => noted(write, write.writeOptions)
    case write: OverwritePartitionsDynamic => noted(write, write.writeOptions)
  }

  private def noted(write: V2WriteCommand, options: Map[String, String]): LogicalPlan =
    if (options.contains(TargetColumns.Mark) || !isOurs(write.table)) write
    else {
      val adds = write.withSchemaEvolution ||
        ExtraColumns.areAdded(write.table.name, new CaseInsensitiveStringMap(options.asJava))
      val marked = mark(write, adds)
      agreed(Fields.replaced(write, "writeOptions" -> (options + marked), "withSchemaEvolution" -> adds), marked)
    }

  /** Spark 4.3 gives the options of a write to its relation too, and asks that both have the same or one has none. */
  private def agreed(write: V2WriteCommand, marked: (String, String)): LogicalPlan = write.table match {
    case KeyfoldNodes.Relation(relation, _) if !relation.options.isEmpty =>
      write.withNewTable(relation.copy(options = TargetColumns.added(relation.options, marked)))
    case relation: UnresolvedRelation if !relation.clearWritePrivileges.options.isEmpty =>
      write.withNewTable(relation.copy(options = TargetColumns.added(relation.options, marked)))
    case _ => write
  }

  /** The frame comes as it was written, so its names may be known only after an analysis of its own. */
  private def mark(write: V2WriteCommand, adds: Boolean): (String, String) = {
    val query =
      if (write.query.resolved) write.query else session.sessionState.executePlan(write.query).analyzed
    val names = query.output.map(_.name)
    if (!adds) KeyfoldNodes.unapply(found(write)).foreach(ExtraColumns.check(_, names, write.isByName))
    TargetColumns.mark(Option.when(write.isByName)(names))
  }

  /** The target, which Spark has yet to look up; it remembers what it found. */
  private def found(write: V2WriteCommand): LogicalPlan =
    session.sessionState.analyzer.ResolveRelations(write.withNewQuery(LocalRelation())) match {
      case looked: V2WriteCommand => looked.table
      case other => other
    }

  private def isOurs(target: NamedRelation): Boolean = target match {
    case KeyfoldNodes(_) => true
    case relation: UnresolvedRelation => KeyfoldNodes.names(session, relation.multipartIdentifier)
    case _ => false
  }
}

/** Driver side: the columns in the condition of an overwrite by their own names: `REPLACE WHERE DAY = …` of a
  * column `day`. Spark does so for DELETE and for scans.
  */
object OverwriteConditions extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan.resolveOperators {
    case write: OverwriteByExpression if write.deleteExpr.resolved => write.table match {
        case KeyfoldNodes.Relation(relation, _) =>
          val named = DataSourceStrategy.normalizeExprs(Seq(write.deleteExpr), relation.output).head
          if (named == write.deleteExpr) write else write.copy(deleteExpr = named)
        case _ => write
      }
  }
}
