package org.apache.spark.sql.keyfold

import keyfold.spark.KeyfoldException
import keyfold.spark.questions.Predicates
import org.apache.spark.sql.catalyst.expressions.{AttributeReference, Expression, PredicateHelper}
import org.apache.spark.sql.catalyst.plans.logical.{DeleteFromTable, LogicalPlan}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.{SparkPlan, SparkStrategy}
import org.apache.spark.sql.execution.columnar.InMemoryRelation
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Strategy

/** Driver side: DELETE FROM a table that is cached. Spark 4.2 puts the cached rows in the table's place there
  * as it does in a query, and then does not know what to delete from: the table takes its place again. An
  * optimizer rule, which comes before scans are made.
  */
object DeletesOfCached extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan match {
    case delete: DeleteFromTable => delete.table match {
        case cached: InMemoryRelation => stored(cached).fold(plan)(table => delete.copy(table = table))
        case _ => plan
      }
    case _ => plan
  }

  private def stored(cached: InMemoryRelation): Option[LogicalPlan] =
    cached.cacheBuilder.logicalPlan.collectFirst { case Ours.Relation(relation, _) =>
      relation.copy(output = cached.output.collect { case column: AttributeReference => column })
    }
}

/** Driver side: names the part of a DELETE's condition that has no form on the wire. Spark asks the table
  * afterwards, which can only say no. A strategy, because the condition is simplified by then.
  */
object DeletesByOthers extends SparkStrategy with PredicateHelper {
  override def apply(plan: LogicalPlan): Seq[SparkPlan] = {
    plan match {
      case delete: DeleteFromTable => Ours.unapply(delete.table).foreach { table =>
          splitConjunctivePredicates(delete.condition).filterNot(hasForm).foreach(part => throw new KeyfoldException(
            "NotSupportedError", s"DELETE FROM ${table.name()}: rows can't be deleted by ${part.sql}; compare "
              + s"columns of the primary key (${table.description.primaryKey.mkString(", ")}) with constants"))
        }
      case _ =>
    }
    Nil
  }

  private def hasForm(part: Expression): Boolean =
    DataSourceV2Strategy.translateFilterV2(part).flatMap(Predicates.toJson).isDefined
}
