package keyfold.spark.questions

import com.fasterxml.jackson.databind.JsonNode
import keyfold.spark.Json
import org.apache.spark.sql.connector.expressions.{NullOrdering, SortDirection, SortOrder}
import org.apache.spark.sql.types.StructType

/** Driver side: the order of the rows of a split, as Python says: by the columns `key`, NULL first. No two rows
  * are equal there if `isUnique`. Columns in `constant` have one value in a split.
  */
final case class KeyOrder(key: Seq[String], isUnique: Boolean, constant: Set[String]) {

  /** Whether the rows of each split come in the order that is asked for. */
  def answers(asked: Seq[SortOrder], table: StructType): Boolean = {
    val varying = asked.filterNot(order => Pushdown.named(order.expression).exists(constant))
    val told = varying.zip(key)
    told.forall { case (order, name) => Pushdown.named(order.expression).contains(name) && isStored(order, table) } &&
    (varying.length <= key.length || isUnique)
  }

  private def isStored(order: SortOrder, table: StructType): Boolean = {
    val isNullFirst = order.nullOrdering == NullOrdering.NULLS_FIRST
    order.direction == SortDirection.ASCENDING &&
    (isNullFirst || Pushdown.named(order.expression).exists(!table(_).nullable))
  }
}

object KeyOrder {
  def of(pushdown: JsonNode, partitioning: Seq[String]): KeyOrder =
    KeyOrder(Json.strings(pushdown.path("order")), pushdown.path("unique").asBoolean, partitioning.toSet)
}
