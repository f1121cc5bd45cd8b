package org.apache.spark.sql.keyfold.statements

import keyfold.spark.KeyfoldSource
import keyfold.spark.functions.{Aggregates, Functions}
import org.apache.spark.sql.{Row, SparkSession}
import org.apache.spark.sql.catalyst.analysis.{NoSuchTableException, UnresolvedFunctionName, UnresolvedRelation}
import org.apache.spark.sql.catalyst.expressions.AttributeReference
import org.apache.spark.sql.catalyst.plans.logical.{DescribeFunction, LocalRelation, LogicalPlan}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.streaming.StreamingRelationV2
import org.apache.spark.sql.catalyst.types.DataTypeUtils
import org.apache.spark.sql.connector.catalog.Identifier
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.keyfold.{KeyfoldNodes, SqlTypes}
import org.apache.spark.sql.keyfold.aggregates.TakenNames
import org.apache.spark.sql.keyfold.paths.{TableAtPath, TimeTravel}
import org.apache.spark.sql.types.StringType

/** Driver side: two kinds of names that Spark misreads: `keyfold.`/data/stock`` where no table is, whose catalog it
  * takes for a format, and in DESCRIBE FUNCTION a function of a catalog. A hint rule, as those run first.
  */
final case class NamesOfOurs(session: SparkSession) extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan match {
    case describe: DescribeFunction => described(describe).getOrElse(plan)
    case _ =>
      plan.collect { case relation: UnresolvedRelation => relation.multipartIdentifier }.foreach(checkPath)
      plan
  }

  private def checkPath(name: Seq[String]): Unit =
    if (name.length == 2 && name.head.equalsIgnoreCase(KeyfoldSource.Name))
      KeyfoldNodes.catalog(session, name.head).filterNot(_.tableExists(Identifier.of(Array.empty, name.last)))
        .foreach(_ => throw new NoSuchTableException(name))

  private def described(describe: DescribeFunction): Option[LogicalPlan] = describe.child match {
    case function: UnresolvedFunctionName =>
      val name = function.multipartIdentifier
      val isPlaced = name.length == 2 || name.length == 3 && name(1) == "sys"
      val isOurs = if (name.length == 1) !TakenNames.has(session, name.head) && KeyfoldNodes.catalogs(session).nonEmpty
        else isPlaced && KeyfoldNodes.catalog(session, name.head).isDefined
      def lines = Functions.find(name.last).map(_.lines)
        .orElse(Aggregates.find(name.last).filter(name.length < 3 || _.isOfSets).map(_.lines))
      Option.when(isOurs)(lines).flatten.map { found =>
        val output = AttributeReference("function_desc", StringType, nullable = false)()
        LocalRelation.fromExternalRows(Seq(output), (s"Function: ${name.mkString(".")}" +: found).map(Row(_)))
      }
    case _ => None
  }
}

/** Driver side: `spark.read.format("keyfold").load(path)` is the table as its catalog has it, so that each query reads
  * the newest snapshot and a cached frame knows of writes. Options of versions say where a stream begins.
  */
object TablesAtPaths extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan.resolveOperators {
    case relation: DataSourceV2Relation if relation.catalog.isEmpty && relation.identifier.isEmpty =>
      relation.table match {
        case at: TableAtPath =>
          relation.copy(table = at.table, catalog = Some(at.place.catalog), identifier = Some(at.place.ident),
            options = TimeTravel.without(relation.options), timeTravelSpec = TimeTravel.of(at.options))
        case _ => relation
      }
    case stream: StreamingRelationV2 =>
      Some(stream.table).collect { case at: TableAtPath => at.checked(at.target, TableAtPath.stored(at.options)) }
        .fold(stream)(to => stream.copy(table = to, output = DataTypeUtils.toAttributes(SqlTypes.ofRows(to.columns()))))
  }
}
