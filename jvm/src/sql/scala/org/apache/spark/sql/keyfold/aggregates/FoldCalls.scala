package org.apache.spark.sql.keyfold.aggregates

import keyfold.spark.functions.{Aggregates, KnownAggregate}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.analysis.UnresolvedFunction
import org.apache.spark.sql.catalyst.expressions.{Cast, Expression, ExpressionInfo, NamedArgumentExpression}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreePattern.UNRESOLVED_FUNCTION
import org.apache.spark.sql.catalyst.util.toPrettySQL
import org.apache.spark.sql.connector.catalog.CatalogManager
import org.apache.spark.sql.connector.catalog.functions.UnboundFunction
import org.apache.spark.sql.errors.QueryCompilationErrors
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.internal.connector.V1Function
import org.apache.spark.sql.keyfold.{Fields, Ours, Refusal}
import org.apache.spark.sql.types.{DataType, StringType}

/** Driver side: `keyfold.sum(column, option…)`: the call of an aggregate that Python folds. Spark's form of a
  * function that is given its arguments as expressions, because constants among them are options.
  */
object FoldCalls {
  def find(name: String): Option[UnboundFunction] = Aggregates.find(name).map { known =>
    val info = new ExpressionInfo(classOf[FoldFunction].getName, null, known.name, known.lines.mkString(". "), "", "",
      "", "", "", "", "scala_udf")
    V1Function(info, (arguments: Seq[Expression]) =>
      if (known.isOfSets) ofSets(known, name, arguments) else call(known, arguments))
  }

  /** A call by the name that was written, whose arguments are columns. */
  private def ofSets(known: KnownAggregate, name: String, arguments: Seq[Expression]): FoldFunction = {
    if (arguments.exists(_.isInstanceOf[NamedArgumentExpression]))
      throw QueryCompilationErrors.namedArgumentsNotSupported(name)
    val bound = Aggregates.bind(known.name, arguments.map(_.dataType))
    FoldFunction(s"keyfold.$name", bound.fold, bound.result, bound.empty, arguments, isNeverNull = true,
      inputTypes = bound.arguments)
  }

  /** A call with one column, then options in the order in which Python declares them, or all by name. */
  def call(known: KnownAggregate, arguments: Seq[Expression]): FoldFunction = {
    val (named, placed) = arguments.map {
      case one: NamedArgumentExpression if one.key.equalsIgnoreCase("column") => one.value
      case other => other
    }.partition(_.isInstanceOf[NamedArgumentExpression])
    if (placed.isEmpty) throw Refusal(s"function ${shown(known)}: there is no column in its arguments; "
        + s"${known.lines.head.toLowerCase(java.util.Locale.ROOT)}")
    if (placed.tail.nonEmpty && !known.hasOptions) throw Refusal(s"function ${shown(known)}: expected one column, found "
        + s"${placed.length} (a * is all columns; Spark's own count(*) counts rows)")
    val options = named.collect { case one: NamedArgumentExpression => one.key -> constant(known, one.key, one.value) }
    val constants = placed.tail.zipWithIndex.map { case (value, i) => constant(known, s"argument ${i + 2}", value) }
    val bound = Aggregates.bind(known.name, Seq(placed.head.dataType), constants, options.toMap)
    val column = if (Seq(placed.head.dataType) == bound.arguments) placed.head else cast(placed.head, bound.arguments.head)
    FoldFunction(shown(known), bound.fold, bound.result, bound.empty, Seq(column), options =
      (placed.tail ++ named).map(option), inScans = bound.inScans)
  }

  private def option(value: Expression): String = value match {
    case named: NamedArgumentExpression => s"${named.key} => ${toPrettySQL(named.value)}"
    case value => toPrettySQL(value)
  }

  private def shown(known: KnownAggregate): String = s"keyfold.${known.name}"

  private def constant(known: KnownAggregate, place: String, value: Expression): Option[String] =
    if (value.foldable) Option(cast(value, StringType).eval()).map(_.toString)
    else throw Refusal(s"function ${shown(known)}: $place is ${value.sql}; expected a constant, because it is an "
      + s"option (${known.lines.head.toLowerCase(java.util.Locale.ROOT)})")

  private def cast(value: Expression, to: DataType): Expression =
    Cast(value, to, Some(SQLConf.get.sessionLocalTimeZone))
}

/** Driver side: an aggregate of ours without a catalog's name, where nobody has one of that name: neither Spark nor
  * the user. It gets the name of a catalog of ours, in which Spark looks for functions that are not its own: not Spark's
  * own catalog. A hint rule, because those come before Spark looks names up.
  */
final case class UnqualifiedAggregates(session: SparkSession) extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan =
    plan.resolveOperatorsWithPruning(_.containsPattern(UNRESOLVED_FUNCTION)) { case node => qualified(node) }

  private def qualified(node: LogicalPlan): LogicalPlan =
    node.transformExpressionsWithPruning(_.containsPattern(UNRESOLVED_FUNCTION)) {
      case call: UnresolvedFunction if !call.isInternal => call.nameParts match {
          case Seq(name) if !TakenNames.has(session, name) =>
            Ours.catalogs(session).find(catalog => catalog.name() != CatalogManager.SESSION_CATALOG_NAME
              && Aggregates.find(name).isDefined)
              .fold(call)(catalog => Fields.replaced(call, "nameParts" -> Seq(catalog.name(), name)))
          case _ => call
        }
    }
}
