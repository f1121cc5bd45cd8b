package org.apache.spark.sql.keyfold.lookups

import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeMap}
import org.apache.spark.sql.catalyst.plans.{Inner, LeftAnti}
import org.apache.spark.sql.catalyst.plans.logical.{Join, LogicalPlan, Project, Union}

/** Driver side: joins of AUTO CDC in a form in which each is with one table, whose keys are looked up. */
object FlowJoins {
  def of(join: Join): Option[LogicalPlan] = if (join.joinType != Inner) None else join.left match {
    case union: Union => ofUnion(join, union)
    case Project(list, anti: Join) if list.forall(_.isInstanceOf[Attribute]) =>
      underAnti(join, anti).map(Project(join.output, _))
    case anti: Join => underAnti(join, anti)
    case _ => None
  }

  /** A join with the rows of several tables: the rows of a join with each. */
  private def ofUnion(join: Join, union: Union): Option[LogicalPlan] = {
    val joins = union.children.map { table =>
      val own = AttributeMap(union.output.zip(table.output))
      join.withNewChildren(Seq(table, join.right)).transformExpressions {
        case column: Attribute => own.getOrElse(column, column)
      }
    }
    Option.when(joins.forall(isLookedUp))(union.withNewChildren(joins))
  }

  /** A join with the rows of a table that have no match elsewhere: the rows of the join that have none. */
  private def underAnti(join: Join, anti: Join): Option[LogicalPlan] = {
    val inner = join.withNewChildren(Seq(anti.left, join.right))
    Option.when(anti.joinType == LeftAnti && isLookedUp(inner))(anti.withNewChildren(Seq(inner, anti.right)))
  }

  private def isLookedUp(plan: LogicalPlan): Boolean = plan match {
    case join: Join => KeyJoin.hinted(join).isDefined
    case _ => false
  }
}
