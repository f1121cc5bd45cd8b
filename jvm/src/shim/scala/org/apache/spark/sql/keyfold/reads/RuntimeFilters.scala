package org.apache.spark.sql.keyfold.reads

import org.apache.spark.sql.catalyst.util.TypeUtils
import org.apache.spark.sql.connector.expressions.{Expression, Literal}
import org.apache.spark.sql.connector.expressions.filter.Predicate

/** Driver side: the conditions that Spark finds while a query runs, `column IN (values of the other side of a
  * join)`, at a size that a question and a task can carry.
  */
object RuntimeFilters {
  /** The number of keys by which buckets are looked up; of more values only the least and the greatest are sent. */
  val MostValues = 1024

  def bounded(condition: Predicate): Seq[Predicate] = condition.children match {
    case Array(column, constants @ _*) if condition.name == "IN" =>
      val values = constants.collect { case one: Literal[_] if one.value != null => one }
      if (values.size <= MostValues) Seq(new Predicate("IN", (column +: values).toArray[Expression]))
      else {
        val order = TypeUtils.getInterpretedOrdering(values.head.dataType).on[Literal[_]](_.value)
        Seq(new Predicate(">=", Array[Expression](column, values.min(order))),
          new Predicate("<=", Array[Expression](column, values.max(order))))
      }
    case _ => Seq(condition)
  }
}
