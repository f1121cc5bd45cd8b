package org.apache.spark.sql.keyfold.groups

import com.fasterxml.jackson.databind.JsonNode
import keyfold.spark.Json
import keyfold.spark.questions.{Folded, Folds, Predicates, Summary}
import keyfold.spark.read.{ByBucket, KeyfoldScan, KeyfoldScanBuilder}
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.planning.PhysicalOperation
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, LogicalPlan}
import org.apache.spark.sql.connector.expressions.LiteralValue
import org.apache.spark.sql.execution.{SparkPlan, SparkStrategy}
import org.apache.spark.sql.execution.datasources.DataSourceStrategy
import org.apache.spark.sql.execution.datasources.v2.{DataSourceV2ScanRelation, DataSourceV2Strategy}
import org.apache.spark.sql.keyfold.{Fields, SqlTypes}
import org.apache.spark.sql.keyfold.aggregates.FoldFunction
import org.apache.spark.sql.types.{DecimalType, IntegralType, LongType, StructType}

/** Driver side: aggregates of ours and Spark's over a scan of ours: each task folds its rows to groups, and the same
  * functions fold the groups of the tasks. Where there are only columns, and conditions on the key, Spark itself has
  * pushed its own functions down. A planner strategy, because Spark makes scans after the last injected optimizer rule.
  */
object FoldsInScans extends SparkStrategy with AliasHelper {
  override def apply(plan: LogicalPlan): Seq[SparkPlan] = (for {
    aggregate <- Some(plan).collect { case one: Aggregate => one }
    (columns, conditions, relation: DataSourceV2ScanRelation) <- PhysicalOperation.unapply(aggregate.child)
    scan <- Some(relation.scan).collect { case one: KeyfoldScan if isWhole(one) => one }
    pushdown = scan.table.description.pushdown
    whole = SqlTypes.ofRows(scan.table.columns())
    found = DataSourceStrategy.normalizeExprs(conditions, relation.output).flatMap(DataSourceV2Strategy.translateFilterV2)
    if found.size == conditions.size && found.forall(pushdown.decides(_, whole, pushdown.exact))
    changed <- pushed(named(aggregate, getAliasMap(columns), relation, pushdown.folds.averages), relation,
      scan.copy(filters = (scan.filters ++ found).distinct, enforced = scan.enforced ++ found), whole)
  } yield planLater(changed)).toSeq

  private def isWhole(scan: KeyfoldScan): Boolean = scan.limit.isEmpty && scan.summary.isEmpty &&
    !ByBucket.isAsked(scan.options) && KeyfoldScanBuilder.pushesAggregates(scan.table, scan.options)

  /** The aggregation over the columns of the scan, averages as sums by counts, as Spark has them where it pushes them. */
  private def named(aggregate: Aggregate, names: AttributeMap[Alias], relation: DataSourceV2ScanRelation,
      averages: Set[String]): Aggregate = {
    def below(all: Seq[Expression]) = DataSourceStrategy.normalizeExprs(all, relation.output).map(_.transform {
      case call: AggregateExpression if isPlain(call) && call.references.forall(one => averages(one.name)) =>
        call.aggregateFunction match {
          case average: Average if !isComputed(call) => average.evaluateExpression.transform {
              case sum if sum.semanticEquals(average.sum) => Cast(Sum(average.child).toAggregateExpression(), sum.dataType)
              case rows if rows.semanticEquals(average.count) => Count(average.child).toAggregateExpression()
            }
          case _ => call
        }
    })
    aggregate.copy(below(aggregate.groupingExpressions.map(replaceAlias(_, names))),
      below(aggregate.aggregateExpressions.map(replaceAliasButKeepName(_, names))).map(_.asInstanceOf[NamedExpression]))
  }

  private def pushed(aggregate: Aggregate, relation: DataSourceV2ScanRelation, scan: KeyfoldScan, whole: StructType) = {
    val table = scan.table.description.pushdown.folds
    val by = aggregate.groupingExpressions
      .map(Some(_).collect { case column: Attribute if table.groups(column.name) => column })
    val calls = aggregate.aggregateExpressions.flatMap(_.collect { case call: AggregateExpression => call })
      .distinctBy(_.canonicalized)
    val names = calls.map(_.aggregateFunction).collect { case fold: FoldFunction => fold.name -> fold.fold }.distinct
    val folded = calls.map(Some(_).filter(isPlain).flatMap(folds(_, names, table, whole)))
    val parts = calls.filter(isComputed).flatMap(_.references).distinctBy(_.exprId)
    Option.when(calls.nonEmpty && (by ++ folded).forall(_.isDefined)) {
      val values = parts.map(part => Folded("VALUE", Some(part.name), whole(part.name).dataType))
      val summary = Summary(by.flatten.map(column => whole(column.name)), folded.flatten ++ values)
      val columns = by.flatten ++ summary.schema.drop(by.size).map(one => AttributeReference(one.name, one.dataType)())
      val states = calls.map(_.canonicalized).zip(columns.drop(by.size)).toMap
      val rows = parts.map(_.exprId).zip(columns.drop(by.size + calls.size)).toMap
      val changed = Fields.replaced(relation, "output" -> columns.map(_.asInstanceOf[AttributeReference]),
        "scan" -> scan.copy(columns = StructType(summary.schema), summary = Some(summary)))
      aggregate.copy(child = changed).transformExpressionsUp {
        case call: AggregateExpression => together(call, states(call.canonicalized), rows)
      }
    }
  }

  /** A function as a scan folds it. Two of one name and other options get names of their own. */
  private def folds(call: AggregateExpression, known: Seq[(String, String)], table: Folds, whole: StructType) =
    call.aggregateFunction match {
      case fold: FoldFunction =>
        val place = known.filter(_._1 == fold.name).indexOf(fold.name -> fold.fold)
        val name = if (place == 0) fold.name else s"${fold.name} ${place + 1}"
        Some(fold.children).filter(_ => fold.inScans)
          .collect { case Seq(column: Attribute) => Folded(name, Some(column.name), fold.value, Some(fold.fold)) }
      case sum: Sum if isComputed(call) =>
        val kind = if (sum.child.dataType.isInstanceOf[DecimalType]) sum.child.dataType else LongType
        tree(sum.child, table).map(Json.text).filterNot(whole.fieldNames.contains(_))
          .map(text => Folded("SUM", Some(text), kind))
      case _ => // as Spark asks sources for it
        DataSourceStrategy.translateAggregation(Seq(call), Nil).flatMap(_.aggregateExpressions.headOption)
          .flatMap(table.function(_, whole))
    }

  private def isPlain(call: AggregateExpression): Boolean = call.filter.isEmpty && !call.isDistinct

  /** Whether a call is over what is made of columns. Rows of which Python can't be sure come as they are, for Spark. */
  private def isComputed(call: AggregateExpression): Boolean =
    call.aggregateFunction.children.exists(child => child.references.nonEmpty && !child.isInstanceOf[Attribute])

  private def tree(of: Expression, table: Folds): Option[JsonNode] = of match {
    case _ if !of.dataType.isInstanceOf[DecimalType] && !of.dataType.isInstanceOf[IntegralType] => None
    case column: Attribute if table.sums.get(column.name).exists(!DecimalType.isByteArrayDecimalType(_)) =>
      Some(Json.obj("column" -> column.name))
    case Literal(value, kind) if value != null => Predicates.literal(LiteralValue(value, kind))
    case _: Add | _: Subtract | _: Multiply | _: Cast | _: UnscaledValue =>
      val parts = of.children.map(tree(_, table))
      Option.when(parts.forall(_.isDefined))(Json.obj("op" -> of.getClass.getSimpleName, "args" -> parts.flatten,
        "type" -> of.dataType.typeName))
    case _ => None
  }

  /** A function over the states of tasks, with the same result. */
  private def together(call: AggregateExpression, state: Attribute, rows: Map[ExprId, Attribute]): Expression =
    call.aggregateFunction match {
      case _: Count => Coalesce(Seq(call.copy(aggregateFunction = Sum(state)), Literal(0L, LongType)))
      case function =>
        val ofRow = function.children.filter(_ => isComputed(call))
          .map(child => Cast(child.transform { case column: Attribute => rows(column.exprId) }, state.dataType))
        val all = if (ofRow.isEmpty) state else Coalesce(state +: ofRow)
        call.copy(aggregateFunction = function.withNewChildren(Seq(all)).asInstanceOf[AggregateFunction])
    }
}
