package keyfold.client

import scala.collection.immutable.ListMap

/** The function of a column in a table that folds, with options by the names that docs/aggregates.md gives them:
  * `listagg().option("list-agg-delimiter", ";")`.
  */
final class ColumnFunction private[client] (val name: String, private[client] val options: ListMap[String, String]) {
  def option(name: String, value: Any): ColumnFunction = new ColumnFunction(this.name, options + (name -> value.toString))
}

/** Functions of columns for the definition of a table, by their names in SQL and Python. */
object Functions {
  /** A function by its name: one of your own, or one of these. */
  def of(name: String): ColumnFunction = new ColumnFunction(name, ListMap.empty)

  def bool_and(): ColumnFunction = of("bool_and")
  def bool_or(): ColumnFunction = of("bool_or")
  def collect(): ColumnFunction = of("collect")
  def count(): ColumnFunction = of("count")
  def first_non_null_value(): ColumnFunction = of("first_non_null_value")
  def first_value(): ColumnFunction = of("first_value")
  def hll_sketch(): ColumnFunction = of("hll_sketch")
  def last_non_null_value(): ColumnFunction = of("last_non_null_value")
  def last_value(): ColumnFunction = of("last_value")
  def listagg(): ColumnFunction = of("listagg")
  def max(): ColumnFunction = of("max")
  def merge_map(): ColumnFunction = of("merge_map")
  def merge_map_with_keytime(): ColumnFunction = of("merge_map_with_keytime")
  def min(): ColumnFunction = of("min")
  def nested_partial_update(): ColumnFunction = of("nested_partial_update")
  def nested_update(): ColumnFunction = of("nested_update")
  def product(): ColumnFunction = of("product")
  def quantile_union(): ColumnFunction = of("quantile_union")
  def rbm32(): ColumnFunction = of("rbm32")
  def rbm64(): ColumnFunction = of("rbm64")
  def sum(): ColumnFunction = of("sum")
  def theta_sketch(): ColumnFunction = of("theta_sketch")
}
