package org.apache.spark.sql.keyfold.aggregates

import keyfold.spark.functions.{Aggregates, KnownAggregate}
import org.apache.spark.sql.catalyst.expressions.{Cast, Expression, ExpressionInfo, NamedArgumentExpression}
import org.apache.spark.sql.catalyst.util.toPrettySQL
import org.apache.spark.sql.connector.catalog.functions.UnboundFunction
import org.apache.spark.sql.errors.QueryCompilationErrors
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.internal.connector.V1Function
import org.apache.spark.sql.keyfold.Refusal
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
