package org.apache.spark.sql.keyfold.statements

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.ObjectNode
import keyfold.spark.Json
import keyfold.spark.questions.{Description, StateColumn}
import keyfold.spark.table.KeyfoldTable
import org.apache.spark.sql.catalyst.analysis.ResolvedTable
import org.apache.spark.sql.catalyst.plans.logical.{DescribeRelation, LogicalPlan}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.keyfold.{Fields, Ours}

/** Driver side: DESCRIBE says in the comment of a column what its states are of, before the column's own. */
object StatesInDescribe extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan match {
    case describe: DescribeRelation => describe.relation match {
        case found: ResolvedTable => Ours.unapply(found).filter(isDue).fold(plan) { table =>
            // not withNewChildren: it keeps a child that equals the new one, as the two tables do
            Fields.replaced(describe, "relation" -> Fields.replaced(found, "table" -> new TableWithStates(table)))
          }
        case _ => plan
      }
    case _ => plan
  }

  private def isDue(table: KeyfoldTable): Boolean =
    !table.isInstanceOf[TableWithStates] && table.columns().exists(StateColumn.of(_).isDefined)
}

/** Driver side: a table as DESCRIBE shows it. */
final class TableWithStates(table: KeyfoldTable)
    extends KeyfoldTable(table.questions, TableWithStates.commented(table.description))

object TableWithStates {
  private def commented(description: Description): Description = {
    val json = description.json.deepCopy[JsonNode]()
    Json.items(json.get("columns")).foreach {
      case column: ObjectNode if column.hasNonNull("state") =>
        val own = Json.optional(column, "comment").filter(_.nonEmpty).map(text => s"; $text").mkString
        column.put("comment", s"AGG_STATE<${column.get("state").path("declared").asText}>$own"): Unit
      case _ =>
    }
    Description(json)
  }
}
