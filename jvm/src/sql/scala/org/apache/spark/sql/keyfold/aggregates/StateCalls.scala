package org.apache.spark.sql.keyfold.aggregates

import keyfold.spark.functions.{Aggregates, Functions}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.analysis.{UnresolvedAttribute, UnresolvedFunction, UnresolvedInlineTable, UnresolvedStar}
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.connector.catalog.CatalogManager
import org.apache.spark.sql.keyfold.{Fields, KeyfoldNodes, Refusal}
import org.apache.spark.sql.types.DataType

/** Driver side: a call such as `sum_merge(v)`, until the types of its arguments are known. The function's own
  * name is in signatures, `name` is what was written.
  */
final case class StateCall(function: String, verb: String, name: String, arguments: Seq[Expression], filter: Option[Expression])
    extends Expression with Unevaluable {
  override lazy val resolved: Boolean = false
  override def children: Seq[Expression] = arguments ++ filter
  override def dataType: DataType = throw new UnsupportedOperationException(s"type of $name")
  override def nullable: Boolean = throw new UnsupportedOperationException(s"nullability of $name")
  override def sql: String = s"$name(${arguments.map(_.sql).mkString(", ")})"

  override protected def withNewChildrenInternal(made: IndexedSeq[Expression]): StateCall = {
    val (own, rest) = made.splitAt(arguments.length)
    copy(arguments = own, filter = rest.headOption)
  }
}

/** Driver side: names that end in `_state`, `_merge` and so on, where nothing else has the name: `keyfold.sum_merge`
  * and `sum_merge`. A hint rule, because Spark refuses names that it doesn't know while it resolves. Rows of VALUES
  * with such calls become queries, as Spark would compute their values before it knows the types of the columns.
  * Other aggregates of ours get the name of a catalog in which Spark looks for functions: not of its own.
  */
final case class StateNames(session: SparkSession) extends Rule[LogicalPlan] {
  private val Name = "(?i)(\\w+)_(state|merge|union|combine|finalize|foreach)".r

  override def apply(plan: LogicalPlan): LogicalPlan = plan.resolveOperatorsUp {
    case node if mayCall(node) => inRows(node.transformExpressions {
        case call: UnresolvedFunction => found(call).getOrElse(call)
        case subquery: SubqueryExpression => subquery.withNewPlan(apply(subquery.plan))
      })
  }

  private def mayCall(node: LogicalPlan): Boolean = node.expressions.exists(_.exists {
    case call: UnresolvedFunction => call.nameParts.size == 1 || Name.matches(call.nameParts.last)
    case _: SubqueryExpression => true
    case _ => false
  })

  private def found(call: UnresolvedFunction): Option[Expression] = call.nameParts.last match {
    case Name(function, verb) if isFree(call.nameParts) =>
      BoundState.canonical(function).map { name =>
        val written = call.nameParts.last.toLowerCase(java.util.Locale.ROOT)
        if (call.isDistinct) throw Refusal(s"$written(DISTINCT …) is not supported: a state has forgotten its rows")
        val arguments = call.arguments match {
          case Nil | Seq(_: UnresolvedStar) if name == "count" && verb.matches("(?i)state|combine") => Seq(Literal(1))
          case given => given
        }
        StateCall(name, verb.toLowerCase(java.util.Locale.ROOT), written, arguments, call.filter)
      }.orElse(qualified(call))
    case _ => qualified(call)
  }

  private def qualified(call: UnresolvedFunction): Option[Expression] = call.nameParts match {
    case Seq(name) if !call.isInternal && !TakenNames.has(session, name) => KeyfoldNodes.catalogs(session)
        .find(_.name() != CatalogManager.SESSION_CATALOG_NAME).filter(_ => Aggregates.find(name).isDefined)
        .map(catalog => Fields.replaced(call, "nameParts" -> Seq(catalog.name(), name)))
    case _ => None
  }

  /** Whether a name is ours to give a meaning. */
  private def isFree(name: Seq[String]): Boolean = name match {
    case Seq(one) => !isOwn(one) && !TakenNames.has(session, one)
    case Seq(catalog, one) => KeyfoldNodes.catalog(session, catalog).isDefined && !isOwn(one)
    case Seq(catalog, "sys", one) => KeyfoldNodes.catalog(session, catalog).isDefined && !isOwn(one)
    case _ => false
  }

  private def isOwn(name: String): Boolean = Functions.find(name).isDefined || Aggregates.isOfSets(name)

  private def inRows(node: LogicalPlan): LogicalPlan = node match {
    case table: UnresolvedInlineTable if table.expressions.exists(_.exists(_.isInstanceOf[StateCall])) =>
      if (table.rows.length > 1 && table.rows.exists(_.exists(isDefault)))
        throw Refusal("several rows of VALUES with DEFAULT and aggregate states are not supported: leave the column out " +
          "of the INSERT, or write one row a statement")
      val rows = table.rows.map(row => Project(row.zip(table.names).map {
        case (default: UnresolvedAttribute, _) if isDefault(default) => default
        case (cell, name) => Alias(cell, name)()
      }, OneRowRelation()))
      if (rows.length == 1) rows.head else Union(rows)
    case other => other
  }

  private def isDefault(cell: Expression): Boolean = cell match {
    case named: UnresolvedAttribute => named.nameParts.length == 1 && named.nameParts.head.equalsIgnoreCase("DEFAULT")
    case _ => false
  }
}
