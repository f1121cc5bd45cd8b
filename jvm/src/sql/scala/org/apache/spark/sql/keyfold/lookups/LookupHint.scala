package org.apache.spark.sql.keyfold.lookups

import java.util.Locale

import scala.jdk.CollectionConverters._

import keyfold.spark.read.KeyfoldScan
import keyfold.spark.table.KeyfoldTable
import org.apache.spark.sql.catalyst.analysis.{RelationTimeTravel, UnresolvedAttribute, UnresolvedRelation}
import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression, Literal}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.errors.QueryCompilationErrors
import org.apache.spark.sql.keyfold.KeyfoldNodes
import org.apache.spark.sql.types.StringType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** Driver side: the node under the hint LOOKUP, until it is known which table that is. */
final case class LookupHint(child: LogicalPlan) extends UnaryNode {
  override def output: Seq[Attribute] = child.output
  override protected def withNewChildInternal(changed: LogicalPlan): LookupHint = copy(child = changed)
}

object LookupHint {
  val Name = "lookup"
  private val KeysOfCdc = "pipelines.autocdc.keyColumnNames"
  private val OfCdc = "__spark_autocdc_"
  private val Metadata = s"${OfCdc}metadata"
  /** Options of readers that don't say which rows are read, or are in the table's handle. With another one the table is
    * scanned, and that refuses names that it does not know.
    */
  private val Harmless = Set(KeyfoldScan.ToLookUp, KeyfoldScan.Inserting, "read-by-bucket", "read_by_bucket",
    "keyfold.aggregate-push-down", "versionasof", "timestampasof", "path")

  def marked(options: CaseInsensitiveStringMap): CaseInsensitiveStringMap =
    new CaseInsensitiveStringMap((options.asCaseSensitiveMap.asScala.toMap + (KeyfoldScan.ToLookUp -> "true")).asJava)

  def isMarked(options: Map[String, String]): Boolean = options.contains(KeyfoldScan.ToLookUp)

  /** Whether keys are looked up in a table without the hint. AUTO CDC joins each batch with the table of all keys that
    * were deleted, and its keys, beside which stands a column of its own, with the versions of all keys.
    */
  def isImplied(table: KeyfoldTable, source: LogicalPlan): Boolean = table.description.properties.contains(KeysOfCdc) ||
    isOfFlow(table) && source.output.exists(column => column.name.startsWith(OfCdc) && column.name != Metadata)

  /** Whether a flow of AUTO CDC keeps its rows in the table. */
  def isOfFlow(table: KeyfoldTable): Boolean = table.columns().exists(_.name == Metadata)

  /** Whether a scan with these options reads the rows that a look-up finds. */
  def isPlain(options: Map[String, String]): Boolean =
    options.keys.forall(name => Harmless(name.toLowerCase(Locale.ROOT)))
}

/** Driver side: `LOOKUP(t)` in SQL stands over the relations of that name or alias in the FROM that it belongs to, as
  * Spark's own hints of joins do; without a name, as of `DataFrame.hint`, over all that the hint is given to.
  */
object NamesInLookupHints extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan.resolveOperatorsUp {
    case hint: UnresolvedHint if hint.name.equalsIgnoreCase(LookupHint.Name) =>
      if (hint.parameters.isEmpty) LookupHint(hint.child)
      else hint.parameters.map(named).foldLeft(hint.child)(over)
  }

  private def named(parameter: Expression): Seq[String] = parameter match {
    case name: UnresolvedAttribute => name.nameParts
    case Literal(text, _: StringType) => UnresolvedAttribute.parseAttributeName(text.toString)
    case other => throw QueryCompilationErrors.joinStrategyHintParameterNotSupportedError(other)
  }

  private def over(plan: LogicalPlan, name: Seq[String]): LogicalPlan = {
    val found = placed(plan, name)
    if (found.fastEquals(plan))
      logWarning(s"hint LOOKUP(${name.mkString(".")}): the FROM that it belongs to has no table of that name")
    found
  }

  private def placed(plan: LogicalPlan, name: Seq[String]): LogicalPlan = plan match {
    case relation: UnresolvedRelation if isNamed(relation.multipartIdentifier, name) => LookupHint(relation)
    case travel: RelationTimeTravel => travel.relation match {
        case relation: UnresolvedRelation if isNamed(relation.multipartIdentifier, name) => LookupHint(plan)
        case _ => plan
      }
    case alias: SubqueryAlias => if (isNamed(alias.identifier.qualifier :+ alias.alias, name)) LookupHint(alias) else alias
    case _: LookupHint | _: ResolvedHint | _: View | _: UnresolvedWith => plan
    case _ => plan.mapChildren(placed(_, name))
  }

  private def isNamed(own: Seq[String], hinted: Seq[String]): Boolean =
    hinted.size <= own.size && own.takeRight(hinted.size).zip(hinted).forall { case (a, b) => conf.resolver(a, b) }
}

/** Driver side: marks the scan of a table of ours as one to look keys up in, by an option of its relation. */
object TablesOfLookupHints extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan.resolveOperatorsUp {
    case hint: LookupHint if hint.child.resolved => marked(hint.child).getOrElse {
        logWarning(s"hint LOOKUP: not followed, as it is not over a table of keyfold but ${hint.child.nodeName}")
        hint.child
      }
  }

  private def marked(plan: LogicalPlan): Option[LogicalPlan] = plan match {
    case KeyfoldNodes.Relation(relation, _) => Some(relation.copy(options = LookupHint.marked(relation.options)))
    case _: SubqueryAlias | _: Project | _: Filter | _: View =>
      marked(plan.children.head).map(child => plan.withNewChildren(Seq(child)))
    case _ => None
  }
}
