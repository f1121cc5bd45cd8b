package org.apache.spark.sql.keyfold

import keyfold.spark.KeyfoldCatalog
import keyfold.spark.functions.Functions
import org.apache.spark.sql.{Row, SparkSession}
import org.apache.spark.sql.catalyst.analysis.UnresolvedFunctionName
import org.apache.spark.sql.catalyst.expressions.AttributeReference
import org.apache.spark.sql.catalyst.plans.logical.{DescribeFunction, LocalRelation, LogicalPlan}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.types.StringType

/** Driver side: DESCRIBE FUNCTION of a function of our catalogs, which Spark 4.2 refuses for any catalog but
  * its own. A hint rule, because those alone run before that refusal.
  */
final case class DescribeOurs(session: SparkSession) extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan match {
    case DescribeFunction(UnresolvedFunctionName(catalog +: rest, _, _), _) if isOurs(catalog) =>
      Functions.find(rest.last).filter(_ => rest.length == 1 || rest.init == Seq("sys")) match {
        case Some(function) =>
          val lines = s"Function: ${(catalog +: rest).mkString(".")}" +: function.lines
          val output = AttributeReference("function_desc", StringType, nullable = false)()
          LocalRelation.fromExternalRows(Seq(output), lines.map(Row(_)))
        case None => plan
      }
    case _ => plan
  }

  private def isOurs(name: String): Boolean = {
    val catalogs = session.sessionState.catalogManager
    catalogs.isCatalogRegistered(name) && catalogs.catalog(name).isInstanceOf[KeyfoldCatalog]
  }
}
