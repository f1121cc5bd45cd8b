package org.apache.spark.sql.keyfold.groups

import keyfold.spark.questions.{Folded, Summary}
import keyfold.spark.read.{ByBucket, KeyfoldScan}
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, LogicalPlan, Project}
import org.apache.spark.sql.connector.expressions.aggregate.AggregateFunc
import org.apache.spark.sql.execution.{SparkPlan, SparkStrategy}
import org.apache.spark.sql.execution.datasources.DataSourceStrategy
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation
import org.apache.spark.sql.keyfold.{Fields, SqlTypes}
import org.apache.spark.sql.keyfold.aggregates.FoldFunction
import org.apache.spark.sql.types.{LongType, StructType}

/** Driver side: aggregates of ours, and Spark's beside them, over columns of a scan of ours: each task folds its rows
  * to groups, and the same functions fold the groups of the tasks. Spark itself pushes its own functions down, if
  * there are no others. A planner strategy, because Spark makes scans after the last injected optimizer rule.
  */
object FoldsInScans extends SparkStrategy {
  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case aggregate: Aggregate if aggregate.aggregateExpressions.exists(_.exists(_.isInstanceOf[FoldFunction])) =>
      scanned(aggregate.child).flatMap { case (relation, scan, names) => pushed(named(aggregate, names), relation, scan) }
        .map(planLater).toSeq
    case _ => Nil
  }

  /** A scan of which every row counts, and its columns by other names that they have above it. */
  private def scanned(child: LogicalPlan): Option[(DataSourceV2ScanRelation, KeyfoldScan, Map[ExprId, Attribute])] =
    child match {
      case Project(columns, below) if columns.forall(isColumn) =>
        scanned(below).map { case (relation, scan, names) =>
          val above = columns.collect { case Alias(column: Attribute, _) => names.getOrElse(column.exprId, column) }
          (relation, scan, names ++ columns.filter(_.isInstanceOf[Alias]).map(_.exprId).zip(above))
        }
      case relation: DataSourceV2ScanRelation => relation.scan match {
          case scan: KeyfoldScan if isWhole(scan) => Some((relation, scan, Map.empty))
          case _ => None
        }
      case _ => None
    }

  private def isColumn(named: NamedExpression): Boolean =
    named.isInstanceOf[Attribute] || named.children.exists(_.isInstanceOf[Attribute]) && named.isInstanceOf[Alias]

  /** The aggregation over the columns of the scan. */
  private def named(aggregate: Aggregate, names: Map[ExprId, Attribute]): Aggregate = {
    def below(expression: Expression) = expression.transform {
      case column: Attribute => names.getOrElse(column.exprId, column)
    }
    aggregate.copy(
      groupingExpressions = aggregate.groupingExpressions.map(below),
      aggregateExpressions = aggregate.aggregateExpressions.map {
        case column: Attribute if names.contains(column.exprId) =>
          Alias(names(column.exprId), column.name)(column.exprId, column.qualifier)
        case other => below(other).asInstanceOf[NamedExpression]
      })
  }

  private def isWhole(scan: KeyfoldScan): Boolean = scan.limit.isEmpty && scan.summary.isEmpty &&
    !ByBucket.isAsked(scan.options) &&
    !scan.options.exists { case (name, text) =>
      name.equalsIgnoreCase("keyfold.aggregate-push-down") && text.equalsIgnoreCase("false")
    }

  private def pushed(aggregate: Aggregate, relation: DataSourceV2ScanRelation, scan: KeyfoldScan): Option[LogicalPlan] = {
    val table = scan.table.description.pushdown.folds
    val whole = SqlTypes.ofRows(scan.table.columns())
    val by = aggregate.groupingExpressions.map {
      case column: Attribute if table.groups(column.name) => Some(column)
      case _ => None
    }
    val calls = aggregate.aggregateExpressions.flatMap(_.collect { case call: AggregateExpression => call })
      .distinctBy(_.canonicalized)
    val names = calls.map(_.aggregateFunction).collect { case fold: FoldFunction => fold.name -> fold.fold }.distinct
    val folded = calls.map(call => asked(call, names).orElse(sparks(call).flatMap(table.function(_, whole))))
    Option.when((by ++ folded).forall(_.isDefined)) {
      val summary = Summary(by.flatten.map(column => whole(column.name)), folded.flatten)
      val columns = by.flatten ++ summary.schema.drop(by.size).map(field =>
        AttributeReference(field.name, field.dataType)())
      val states = calls.map(_.canonicalized).zip(columns.drop(by.size)).toMap
      val changed = Fields.replaced(relation, "output" -> columns.map(_.asInstanceOf[AttributeReference]),
        "scan" -> scan.copy(columns = StructType(summary.schema), summary = Some(summary)))
      val results = aggregate.aggregateExpressions.map(_.transformUp {
        case call: AggregateExpression => together(call, states(call.canonicalized))
      }.asInstanceOf[NamedExpression])
      aggregate.copy(aggregateExpressions = results, child = changed)
    }
  }

  /** A call of ours, if it takes a column as it is. Two of one name and other options get names of their own. */
  private def asked(call: AggregateExpression, known: Seq[(String, String)]): Option[Folded] = call.aggregateFunction match {
    case fold: FoldFunction if fold.inScans && call.filter.isEmpty && !call.isDistinct =>
      fold.children match {
        case Seq(column: Attribute) =>
          val place = known.filter(_._1 == fold.name).indexOf(fold.name -> fold.fold)
          val name = if (place == 0) fold.name else s"${fold.name} ${place + 1}"
          Some(Folded(name, Some(column.name), fold.value, Some(fold.fold)))
        case _ => None
      }
    case _ => None
  }

  /** A call of Spark's, as it asks sources for it. */
  private def sparks(call: AggregateExpression): Option[AggregateFunc] =
    Option.when(call.filter.isEmpty && !call.isDistinct)(call)
      .flatMap(plain => DataSourceStrategy.translateAggregation(Seq(plain), Nil))
      .flatMap(_.aggregateExpressions.headOption)

  /** A function over the states of tasks, with the same result. */
  private def together(call: AggregateExpression, state: Attribute): Expression = call.aggregateFunction match {
    case fold: FoldFunction => call.copy(aggregateFunction = fold.copy(children = Seq(state)))
    case _: Count => Coalesce(Seq(call.copy(aggregateFunction = Sum(state)), Literal(0L, LongType)))
    case sum: Sum => call.copy(aggregateFunction = sum.copy(child = state))
    case min: Min => call.copy(aggregateFunction = min.copy(child = state))
    case max: Max => call.copy(aggregateFunction = max.copy(child = state))
    case other => throw new MatchError(other)
  }
}
