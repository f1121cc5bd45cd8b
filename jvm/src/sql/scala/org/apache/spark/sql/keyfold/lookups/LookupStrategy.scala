package org.apache.spark.sql.keyfold.lookups

import keyfold.spark.Settings
import keyfold.spark.table.KeyfoldTable
import keyfold.spark.write.KeyfoldDeltaWrite
import org.apache.spark.sql.catalyst.expressions.Literal.{FalseLiteral, TrueLiteral}
import org.apache.spark.sql.catalyst.plans.{Inner, LeftAnti, LeftSemi, RightOuter}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.execution.{ProjectExec, SparkPlan, SparkStrategy}
import org.apache.spark.sql.keyfold.KeyfoldNodes

/** Driver side: statements that change rows look keys up in their target in place of a join that scans it, or don't
  * read it at all; joins of queries look keys up where the hint LOOKUP says so. Everything else of Spark's plan stays:
  * the rewritten statement, its casts and constraints, the cardinality check, the figures. A planner strategy, because
  * only then it is known what is scanned.
  */
object LookupStrategy extends SparkStrategy {
  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case delta: WriteDelta if Settings.looksUpKeys => changed(delta).map(planLater).toSeq
    case insert: InsertOnlyMerge if Settings.looksUpKeys => inserted(insert).map(planLater).toSeq
    case join: Join => KeyJoin.hinted(join).map(found => inOrder(join, exec(found)))
        .orElse(FlowJoins.of(join).map(planLater)).toSeq
    case join: LookupJoin => Seq(exec(join))
    case _ => Nil
  }

  private def exec(join: LookupJoin): SparkPlan = LookupJoinExec(planLater(join.source), join.target, join.project,
    join.by, join.keys, join.condition, join.blind, join.kind, join.inserts)

  /** The plan with its columns where the join has them: whoever takes the rows of a query goes by their places. */
  private def inOrder(join: Join, plan: SparkPlan): SparkPlan =
    if (plan.output.map(_.exprId) == join.output.map(_.exprId)) plan else ProjectExec(join.output, plan)

  private def changed(delta: WriteDelta): Option[WriteDelta] =
    delta.write.collect { case write: KeyfoldDeltaWrite => write }.flatMap { write =>
      var (reads, isOnce) = (true, false)
      replaced(delta.query) {
        case rows: MergeRows => ofMerge(rows, write.table).map { case (found, looks) =>
            reads = looks
            isOnce = rows.checkCardinality && !found.checkCardinality
            found
          }
        case join: Join if join.joinType == LeftSemi => KeyJoin.of(join, join.left, join.right, write.table)
        case _ => None
      }.map(query => delta.copy(query = query, write = Some(write.copy(reads = reads, isOnce = isOnce))))
    }

  private def inserted(insert: InsertOnlyMerge): Option[InsertOnlyMerge] = insert.table match {
    case KeyfoldNodes(table) =>
      replaced(insert.query) {
        case join: Join if join.joinType == LeftAnti => KeyJoin.of(join, join.right, join.left, table)
        case _ => None
      }.map(query => insert.copy(query = query))
    case _ => None
  }

  /** The plan with another node in place of the first one for which `found` has one. */
  private def replaced(plan: LogicalPlan)(found: LogicalPlan => Option[LogicalPlan]): Option[LogicalPlan] =
    found(plan).orElse(plan match {
      case one: UnaryNode => replaced(one.child)(found).map(child => one.withNewChildren(Seq(child)))
      case _ => None
    })

  /** The rows of a MERGE, and whether they depend on rows of the target. */
  private def ofMerge(rows: MergeRows, table: KeyfoldTable): Option[(MergeRows, Boolean)] = {
    val join = rows.child match {
      case Project(_, join: Join) => Some(join)
      case join: Join => Some(join)
      case _ => None
    }
    join.filter(one => one.joinType == Inner || one.joinType == RightOuter)
      .flatMap(one => KeyJoin.of(one, one.left, one.right, table)).map { found =>
        found.blindFor(rows) match {
          case TrueLiteral => (over(found.assumed, rows.copy(checkCardinality = false)), false)
          case FalseLiteral => (over(found, rows), true)
          // rows that are not looked up have no number; the write finds keys that come twice
          case some => (over(found.copy(blind = some), rows.copy(checkCardinality = false)), true)
        }
      }
  }

  /** The rows of the MERGE over another join. What is generated for them takes columns that they use, and no others. */
  private def over(join: LogicalPlan, rows: MergeRows): MergeRows = {
    val whole = rows.child match {
      case Project(list, _) => Project(list, join)
      case _ => join
    }
    val used = rows.copy(child = whole).references
    rows.copy(child = Project(whole.output.filter(used.contains), whole))
  }
}
