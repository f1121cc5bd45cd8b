package org.apache.spark.sql.keyfold

import keyfold.spark.read.{KeyfoldRowLevelScan, KeyfoldScan}
import keyfold.spark.table.KeyfoldTable
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.planning.ExtractEquiJoinKeys
import org.apache.spark.sql.catalyst.plans.{Inner, JoinType}
import org.apache.spark.sql.catalyst.plans.logical.{Filter, Join, LogicalPlan, MergeRows, Project}
import org.apache.spark.sql.catalyst.util.CharVarcharUtils
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation
import org.apache.spark.sql.types.{CharType, DataType, DoubleType, FloatType, StringType}

/** Driver side: a join whose condition pairs every column of a target's primary key with an expression of the source
  * of the same type. `condition` is the rest of it. `isWhole`: nothing but the key decides which rows match.
  */
final case class KeyJoin(
    source: LogicalPlan,
    target: LookupTarget,
    project: Seq[NamedExpression],
    keys: Seq[Expression],
    condition: Option[Expression],
    isWhole: Boolean,
    kind: JoinType) {

  def lookup(blind: Expression): LookupJoin = LookupJoin(source, target, project, keys, condition, blind, kind)

  /** The condition for which it makes no difference whether a row of the source has a match. */
  def blind(rows: MergeRows): Expression =
    if (isWhole) new BlindRows(rows, this).condition else Literal.FalseLiteral

  /** The join if every row of the source with a key had a match, whose other columns nobody looks at. */
  def assumed: LogicalPlan = {
    val hasKey = keys.filter(_.nullable).map(IsNotNull(_)).reduceOption[Expression](And(_, _))
    val columns = project.map { column =>
      val value = BlindRows.unnamed(column).transform {
        case attribute: Attribute => keyOf(attribute).getOrElse(Literal.default(attribute.dataType))
      }
      val known = if (kind == Inner) value
      else hasKey.fold(value)(If(_, value, Literal(null, column.dataType)))
      Alias(known, column.name)(exprId = column.exprId)
    }
    val kept = hasKey.filter(_ => kind == Inner).fold(source)(Filter(_, source))
    Project(columns ++ source.output, kept)
  }

  /** The source's expression that equals a column of the target's key. */
  def keyOf(column: Attribute): Option[Expression] =
    target.key.zip(keys).collectFirst { case (one, key) if one.exprId == column.exprId => key }
}

object KeyJoin {
  def of(join: Join, target: LogicalPlan, source: LogicalPlan, table: KeyfoldTable): Option[KeyJoin] =
    for {
      side <- Side.of(target) if side.target.scan.table == table
      (pairs, rest) <- pairs(join, isLeft = join.left eq target)
      chosen <- chosen(table, side, pairs)
      more = pairs.diff(chosen).map { case (ours, theirs) => EqualTo(ours, theirs) } ++ rest
      conditions = side.filters ++ more.map(side.over)
      if conditions.forall(one => one.deterministic && !SubqueryExpression.hasSubquery(one))
    } yield KeyJoin(source, side.target, side.numbered, chosen.map(_._2), conditions.reduceOption(And(_, _)),
      conditions.isEmpty && side.target.scan.filters.forall(_.name == "IS_NOT_NULL"), join.joinType)

  private def pairs(join: Join, isLeft: Boolean): Option[(Seq[(Expression, Expression)], Seq[Expression])] =
    ExtractEquiJoinKeys.unapply(join).map { case (_, left, right, rest, _, _, _, _) =>
      (if (isLeft) left.zip(right) else right.zip(left), rest.toSeq)
    }

  /** For each column of the primary key the first pair that has it alone on the target's side. */
  private def chosen(
      table: KeyfoldTable, side: Side, pairs: Seq[(Expression, Expression)]): Option[Seq[(Expression, Expression)]] = {
    val found = table.description.primaryKey.flatMap { name =>
      pairs.find {
        case (ours: Attribute, theirs) =>
          side.target.columns.exists(column => column.name == name && column.exprId == ours.exprId) &&
          theirs.dataType == ours.dataType && theirs.deterministic && isExact(ours)
        case _ => false
      }
    }
    Option.when(found.size == table.description.primaryKey.size && found.nonEmpty)(found)
  }

  /** Whether values are equal in Spark if and only if they are one key: 0.0 equals -0.0, and CHAR is padded. */
  private def isExact(column: Attribute): Boolean =
    !CharVarcharUtils.getRawType(column.metadata).exists(_.isInstanceOf[CharType]) && isExact(column.dataType)

  private def isExact(kind: DataType): Boolean = kind match {
    case FloatType | DoubleType => false
    case text: StringType => text.isUTF8BinaryCollation
    case _ => true
  }

  /** The side of a join that scans a table of ours: what it projects, and the conditions on its columns. */
  private final case class Side(target: LookupTarget, project: Seq[NamedExpression], filters: Seq[Expression]) {
    def isPlain: Boolean = project.forall(_.isInstanceOf[Attribute])
    def columns: AttributeSet = AttributeSet(target.columns)

    private val aliases = AttributeMap(project.collect { case alias: Alias => alias.toAttribute -> alias.child })

    def over(condition: Expression): Expression = condition.transform {
      case attribute: Attribute => aliases.getOrElse(attribute, attribute)
    }

    def numbered: Seq[NamedExpression] = project.map(_.transform {
      case _: MonotonicallyIncreasingID => target.number
    }.asInstanceOf[NamedExpression])
  }

  private object Side extends PredicateHelper {
    def of(plan: LogicalPlan): Option[Side] = plan match {
      case Filter(condition, child) => of(child).filter(side => condition.references.subsetOf(side.columns))
          .map(side => side.copy(filters = side.filters ++ decisive(condition, side.target.key)))
      case Project(list, child) => of(child).filter(_.isPlain).map(_.copy(project = list))
      case relation: DataSourceV2ScanRelation => scan(relation).filter(one => one.limit.isEmpty && one.summary.isEmpty)
          .map(found => Side(LookupTarget(found, relation.output), relation.output, Nil))
      case _ => None
    }

    /** The parts of a condition that are not met by every row that is found, whose key is not NULL. */
    private def decisive(condition: Expression, key: Seq[Attribute]): Seq[Expression] =
      splitConjunctivePredicates(condition).filter {
        case IsNotNull(column: Attribute) => !key.exists(_.exprId == column.exprId)
        case _: DynamicPruning => false
        case _ => true
      }

    private def scan(relation: DataSourceV2ScanRelation): Option[KeyfoldScan] = relation.scan match {
      case ours: KeyfoldScan => Some(ours)
      case ours: KeyfoldRowLevelScan => Some(ours.scan)
      case _ => None
    }
  }
}
