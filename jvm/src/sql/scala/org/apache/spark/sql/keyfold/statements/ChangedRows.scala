package org.apache.spark.sql.keyfold.statements

import keyfold.spark.write.TargetColumns
import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, Expression, Literal}
import org.apache.spark.sql.catalyst.plans.logical.{InsertOnlyMerge, LogicalPlan, MergeRows, Project, WriteDelta}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.util.RowDeltaUtils.UPDATE_OPERATION
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.keyfold.KeyfoldNodes

/** Driver side: notes which columns the UPDATEs of a statement set, as an option of its relation, so
  * that an engine that folds by column leaves the others alone. Spark has rewritten the statement by then: a column
  * is set unless its new value is the column itself.
  *
  * The condition by which others choose files to rewrite is left out: it holds a second copy of a MERGE's source, into
  * which Spark brings no metadata columns.
  */
object ChangedRows extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan.resolveOperators {
    case delta: WriteDelta if delta.resolved => (delta.table, delta.originalTable) match {
        case (KeyfoldNodes.Target(relation, _), original: DataSourceV2Relation)
            if !TargetColumns.isMarkedAssigned(relation.options) =>
          val marked = withOption(relation, TargetColumns.markAssigned(assigned(delta.query, original)))
          delta.copy(table = marked, groupFilterCondition = None)
        case _ => delta
      }
    case merge: InsertOnlyMerge => merge.table match {
        case KeyfoldNodes.Relation(relation, _) if !TargetColumns.isMarked(relation.options) =>
          merge.copy(table = withOption(relation, TargetColumns.mark(None)))
        case _ => merge
      }
  }

  private def withOption(relation: DataSourceV2Relation, option: (String, String)): DataSourceV2Relation =
    relation.copy(options = TargetColumns.added(relation.options, option))

  private def assigned(query: LogicalPlan, original: DataSourceV2Relation): Seq[String] =
    original.output.zipWithIndex.collect {
      case (column, place) if updates(query).exists(values => !isItself(values(place + 1), column)) => column.name
    }

  /** The kind and the new values of each UPDATE. */
  private def updates(query: LogicalPlan): Seq[Seq[Expression]] = {
    val all = query match {
      case project: Project => Seq(project.projectList)
      case rows: MergeRows => rows.outputs
      case _ => query.children.flatMap(updates)
    }
    all.filter(_.headOption.map(unnamed).exists {
      case Literal(kind: Int, _) => kind == UPDATE_OPERATION
      case other => other.isInstanceOf[Attribute] // of a node below, from which Spark took a window function
    })
  }

  private def isItself(value: Expression, column: Expression): Boolean = unnamed(value).semanticEquals(column)

  /** A value without the name of its column. */
  def unnamed(value: Expression): Expression = value match {
    case alias: Alias => alias.child
    case other => other
  }
}
