package org.apache.spark.sql.keyfold.lookups

import keyfold.spark.read.KeyfoldScan
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.catalyst.plans.logical.{Filter, Join, LogicalPlan, MergeRows, Project, UnaryNode}
import org.apache.spark.sql.keyfold.statements.ChangedRows
import org.apache.spark.sql.types.LongType

/** Driver side: a table of ours as a lookup sees it: `columns` are what the scan that it stands for would have read, and
  * `number` is a number of each row, in place of `monotonically_increasing_id()`. Targets of equal scans are equal.
  */
final case class LookupTarget(scan: KeyfoldScan)(val columns: Seq[Attribute]) {
  val number: Attribute = AttributeReference("_NUMBER", LongType, nullable = false)()

  /** The column of each part of the primary key, in its order. */
  def key: Seq[Attribute] = scan.table.description.primaryKey.flatMap(name => columns.find(_.name == name))
}

/** Driver side: a join of any rows, the source, with a table of ours by its key, where the table is not scanned: the
  * keys of the rows are looked up in it. `project` are the target's columns as the join has them, over the columns
  * and the number of `target`; `keys` are expressions of the source for the columns `by`, which are the primary key,
  * or the partition columns and a bucket key that begins it; `condition` is the rest of the join's. `isWhole`: nothing
  * but the key decides which rows match. Rows for which `blind` is true are not looked up: the statement treats them
  * alike if they are found or not, so they are found. With `inserts` keys that are not found are inserted first.
  */
final case class LookupJoin(
    source: LogicalPlan,
    target: LookupTarget,
    project: Seq[NamedExpression],
    by: Seq[String],
    keys: Seq[Expression],
    condition: Option[Expression],
    kind: LookupKind,
    isWhole: Boolean,
    blind: Expression = Literal.FalseLiteral,
    inserts: Boolean = false) extends UnaryNode {

  override def child: LogicalPlan = source
  override def output: Seq[Attribute] = kind.output(source.output, project)
  override lazy val producedAttributes: AttributeSet = kind.produced(target, project)
  override protected def withNewChildInternal(changed: LogicalPlan): LookupJoin = copy(source = changed)

  /** The condition for which it makes no difference whether a row of the source has a match. */
  def blindFor(rows: MergeRows): Expression =
    if (isWhole) new LookupFreeRows(rows, this).condition else Literal.FalseLiteral

  /** The join if every row of the source with a key had a match, whose other columns nobody looks at. */
  def assumed: LogicalPlan = {
    val hasKey = keys.filter(_.nullable).map(IsNotNull(_)).reduceOption[Expression](And(_, _))
    val columns = project.map { column =>
      val value = ChangedRows.unnamed(column).transformUp {
        case attribute: Attribute => keyOf(attribute).getOrElse(Literal.default(attribute.dataType))
      }
      val known = if (kind == LookupKind.Matches) value
      else hasKey.fold(value)(If(_, value, Literal(null, column.dataType)))
      Alias(known, column.name)(exprId = column.exprId)
    }
    val kept = hasKey.filter(_ => kind == LookupKind.Matches).fold(source)(Filter(_, source))
    Project(columns ++ source.output, kept)
  }

  /** The source's expression that equals a column of the target's key. */
  def keyOf(column: Attribute): Option[Expression] =
    target.key.zip(keys).collectFirst { case (one, key) if one.exprId == column.exprId => key }
}

/** Both sides: which rows a lookup gives: those of the source, of the target or both, and whether also rows of the
  * source that have no match.
  */
sealed abstract class LookupKind(
    val name: String, val hasSource: Boolean, val hasTarget: Boolean, val givesRest: Boolean) extends Serializable {

  def output(source: Seq[Attribute], project: Seq[NamedExpression]): Seq[Attribute] =
    (if (hasSource) source else Nil) ++ targetOutput(project)

  private def targetOutput(project: Seq[NamedExpression]): Seq[Attribute] =
    if (!hasTarget) Nil
    else if (givesRest) project.map(_.toAttribute.withNullability(true))
    else project.map(_.toAttribute)

  def produced(target: LookupTarget, project: Seq[NamedExpression]): AttributeSet =
    AttributeSet(target.columns :+ target.number) ++ AttributeSet(targetOutput(project))

  override def toString: String = name
}

object LookupKind {
  case object Matches extends LookupKind("Inner", true, true, false)
  case object Outer extends LookupKind("LeftOuter", true, true, true)
  case object Having extends LookupKind("LeftSemi", true, false, false)
  case object Lacking extends LookupKind("LeftAnti", true, false, true)
  /** Each row of the target that has a match, once. */
  case object RowsOfTarget extends LookupKind("LeftSemi, rows of the table", false, true, false)

  /** The lookup of the other side's keys that a join with the target at this side is. */
  def of(join: Join, target: LogicalPlan): Option[LookupKind] = (join.joinType, join.left eq target) match {
    case (Inner, _) => Some(Matches)
    case (RightOuter, true) | (LeftOuter, false) => Some(Outer)
    case (LeftSemi, true) => Some(RowsOfTarget)
    case (LeftSemi, false) => Some(Having)
    case (LeftAnti, false) => Some(Lacking)
    case _ => None
  }
}
