package org.apache.spark.sql.keyfold

import keyfold.spark.read.KeyfoldScan
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.{Inner, JoinType, LeftAnti, LeftSemi, RightOuter}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, UnaryNode}
import org.apache.spark.sql.types.LongType

/** Driver side: a table of ours as a lookup sees it: `columns` are what the scan that it stands for would have read,
  * and `number` is a number of each row, in place of `monotonically_increasing_id()`.
  */
final case class LookupTarget(scan: KeyfoldScan, columns: Seq[Attribute]) {
  val number: Attribute = AttributeReference("_NUMBER", LongType, nullable = false)()

  /** The column of each part of the primary key, in its order. */
  def key: Seq[Attribute] = scan.table.description.primaryKey.flatMap(name => columns.find(_.name == name))
}

/** Driver side: a join of any rows with a table of ours by its whole primary key, where the table is not scanned: the
  * keys of the rows are looked up in it. `project` are the target's columns as the join has them, over the columns
  * and the number of `target`; `keys` are expressions of the source in the order of the primary key. Rows for which
  * `blind` is true are not looked up: the statement treats them alike if they are found or not, so they are found.
  */
final case class LookupJoin(
    source: LogicalPlan,
    target: LookupTarget,
    project: Seq[NamedExpression],
    keys: Seq[Expression],
    condition: Option[Expression],
    blind: Expression,
    kind: JoinType) extends UnaryNode {

  override def child: LogicalPlan = source
  override def output: Seq[Attribute] = LookupJoin.output(project, source.output, kind)
  override lazy val producedAttributes: AttributeSet = LookupJoin.produced(target, project, kind)
  override protected def withNewChildInternal(changed: LogicalPlan): LookupJoin = copy(source = changed)
}

object LookupJoin {
  def output(project: Seq[NamedExpression], source: Seq[Attribute], kind: JoinType): Seq[Attribute] = kind match {
    case Inner => project.map(_.toAttribute) ++ source
    case RightOuter => project.map(_.toAttribute.withNullability(true)) ++ source
    case LeftAnti => source
    case LeftSemi => project.map(_.toAttribute)
    case other => throw new IllegalArgumentException(s"a lookup join of kind $other")
  }

  def produced(target: LookupTarget, project: Seq[NamedExpression], kind: JoinType): AttributeSet =
    AttributeSet(target.columns :+ target.number) ++ AttributeSet(output(project, Nil, kind))
}
