package org.apache.spark.sql.keyfold.statements

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.keyfold.KeyfoldNodes
import org.apache.spark.sql.keyfold.paths.TimeTravel

/** Driver side: `spark.read.option("scan.tag-name", …).table(…)`, and WITH (…) behind a table: a catalog does not
  * see the options of the table that it loads, so they become VERSION AS OF and TIMESTAMP AS OF. A hint rule, which
  * comes before tables are looked up.
  */
final case class VersionsInOptions(session: SparkSession) extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan.resolveOperators {
    case relation: UnresolvedRelation if !relation.isStreaming && KeyfoldNodes.names(session, relation.multipartIdentifier) =>
      TimeTravel.clause(relation).getOrElse(relation)
  }
}
