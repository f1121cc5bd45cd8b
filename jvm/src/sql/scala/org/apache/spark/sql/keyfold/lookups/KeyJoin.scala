package org.apache.spark.sql.keyfold.lookups

import scala.util.{Left, Right}

import keyfold.spark.questions.Description
import keyfold.spark.read.KeyfoldScan
import keyfold.spark.table.KeyfoldTable
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{Filter, Join, LogicalPlan, Project}
import org.apache.spark.sql.catalyst.util.CharVarcharUtils
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation
import org.apache.spark.sql.types.{CharType, DataType, DoubleType, FloatType, IntegralType, StringType}

/** Driver side: finds joins whose condition pairs every column of a target's primary key, or of a part of it that tells
  * the bucket, with an expression of the source of the same type.
  */
object KeyJoin extends PredicateHelper {
  /** The lookup for a statement that changes rows of a table, which their key names. Flows find versions of a key among
    * all that it has.
    */
  def of(join: Join, target: LogicalPlan, source: LogicalPlan, table: KeyfoldTable): Option[LookupJoin] = {
    val kind = LookupKind.of(join, target)
    val ofFlow = kind.filter(_.hasSource).flatMap(_ => prefix(table.description)).filter(_ => LookupHint.isOfFlow(table))
    Side.of(target).filter(_.target.scan.table == table && !table.description.hasNullableKey)
      .flatMap(found(join, _, source, kind, Seq(table.description.primaryKey) ++ ofFlow))
  }

  /** The lookup for a query with the hint LOOKUP; if both sides have it, in the right one. */
  def hinted(join: Join): Option[LookupJoin] =
    Seq((join.right, join.left), (join.left, join.right)).flatMap { case (target, source) =>
      Side.of(target).filter(_.isHinted(source)).flatMap { side =>
        val described = side.target.scan.table.description
        val inserts = side.target.scan.insertsKeys
        val kind = LookupKind.of(join, target).filter(one => one.hasSource && (one.hasTarget || !inserts))
        val by = Seq(described.primaryKey) ++ prefix(described).filterNot(_ => inserts)
        found(join, side, source, kind, by).filter(one => described.placing.forall(one.by.contains))
          .map(_.copy(inserts = inserts))
      }
    }.headOption

  /** The columns that decide the bucket of a row, if the bucket key begins the key. */
  private def prefix(described: Description): Option[Seq[String]] = {
    val trimmed = described.primaryKey.filterNot(described.partitioning.contains)
    val keys = described.bucketKeys
    Option.when(keys.nonEmpty && keys.size < trimmed.size && trimmed.startsWith(keys))(described.partitioning ++ keys)
  }

  private def found(join: Join, side: Side, source: LogicalPlan, kind: Option[LookupKind], by: Seq[Seq[String]]) =
    for {
      kind <- kind
      (pairs, rest) = equalities(join, if (join.left eq source) join.right else join.left, source)
      chosen <- by.flatMap(chosen(_, side, pairs)).headOption
      more = pairs.filterNot(pair => chosen.exists(_.pair == pair)).map { case (ours, theirs) => EqualTo(ours, theirs) }
      conditions = side.filters ++ (more ++ rest).map(side.over)
      if conditions.forall(one => one.deterministic && !SubqueryExpression.hasSubquery(one))
    } yield LookupJoin(source, side.target, side.numbered, chosen.map(_.column), chosen.map(_.key),
      conditions.reduceOption(And(_, _)), kind,
      isWhole = conditions.isEmpty && side.target.scan.filters.forall(_.name == "IS_NOT_NULL"))

  /** The pairs of target and source that the join sets equal, and the other parts of its condition. */
  private def equalities(
      join: Join, target: LogicalPlan, source: LogicalPlan): (Seq[(Expression, Expression)], Seq[Expression]) =
    join.condition.toSeq.flatMap(splitConjunctivePredicates).partitionMap {
      case EqualTo(left, right) if isOf(left, target) && isOf(right, source) => Left(left -> right)
      case EqualTo(left, right) if isOf(right, target) && isOf(left, source) => Left(right -> left)
      case other => Right(other)
    }

  private def isOf(value: Expression, side: LogicalPlan): Boolean = value.references.nonEmpty && canEvaluate(value, side)

  /** A column of the key, the value of the source that it is looked up by, and where the join says so. */
  private final case class Chosen(column: String, key: Expression, pair: (Expression, Expression))

  /** The first pair for each column of the key that has it alone on the target's side. */
  private def chosen(by: Seq[String], side: Side, pairs: Seq[(Expression, Expression)]): Option[Seq[Chosen]] = {
    val found = by.flatMap { name =>
      pairs.flatMap { case pair @ (ours, theirs) =>
        side.over(ours) match {
          case column: Attribute if side.has(column, name) && isExact(column) && theirs.deterministic &&
              theirs.dataType == column.dataType => Some(Chosen(name, theirs, pair))
          case cast: Cast => narrow(cast, side, name, theirs).map(Chosen(name, _, pair))
          case _ => None
        }
      }.headOption
    }
    Option.when(found.size == by.size && found.nonEmpty)(found)
  }

  /** The value of a whole number for a narrower column, which the join widens: NULL if none is as large. */
  private def narrow(cast: Cast, side: Side, name: String, theirs: Expression): Option[Expression] =
    (cast.child, cast.dataType) match {
      case (column: Attribute, wide: IntegralType) if side.has(column, name) && theirs.deterministic &&
          theirs.dataType == wide && column.dataType.isInstanceOf[IntegralType] =>
        Some(Cast(theirs, column.dataType, evalMode = EvalMode.TRY))
      case _ => None
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
    def isHinted(source: LogicalPlan): Boolean = LookupHint.isPlain(target.scan.options) &&
      (LookupHint.isMarked(target.scan.options) || LookupHint.isImplied(target.scan.table, source))
    def has(column: Attribute, name: String): Boolean =
      target.columns.exists(one => one.name == name && one.exprId == column.exprId)

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
      case relation: DataSourceV2ScanRelation => Some(relation.scan).collect {
          case scan: KeyfoldScan if scan.limit.isEmpty && scan.summary.isEmpty =>
            Side(LookupTarget(scan)(relation.output), relation.output, Nil)
        }
      case _ => None
    }

    /** The parts of a condition that are not met by every row that is found, whose key is not NULL. */
    private def decisive(condition: Expression, key: Seq[Attribute]): Seq[Expression] =
      splitConjunctivePredicates(condition).filter {
        case IsNotNull(column: Attribute) => !key.exists(_.exprId == column.exprId)
        case _: DynamicPruning | _: BloomFilterMightContain => false // what Spark has found of the other side
        case _ => true
      }
  }
}
