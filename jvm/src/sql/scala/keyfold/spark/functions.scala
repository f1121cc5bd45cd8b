package keyfold.spark

import org.apache.spark.sql.Column
import org.apache.spark.sql.functions.{call_function, lit}

/** Driver side: keyfold's aggregates as functions of Scala's columns: `listagg(col("t"), "|")`.
  * The session has a catalog of the name `keyfold`. Made of the declarations by
  * `python -m integration.docs.pages`.
  */
package object functions {
  /** An aggregate by its name: one of your own, or of keyfold; with a dot in it, with that of a
    * catalog. Options are in the order of their declaration; null is the default.
    */
  def call(name: String, column: Column, options: Any*): Column = {
    val texts = options.map(option => lit(if (option == null) null else option.toString))
    call_function(if (name.contains('.')) name else s"keyfold.$name", column +: texts: _*)
  }

  /** False if any value is. NULL: ignored. */
  def bool_and(column: Column): Column = call("bool_and", column)

  /** True if any value is. NULL: ignored. */
  def bool_or(column: Column): Column = call("bool_or", column)

  /** The elements of the arrays in one array, `distinct` or not. NULL: a NULL array is ignored, NULL elements stay. */
  def collect(column: Column, distinct: Boolean = false): Column = call("collect", column, distinct)

  /** How many inputs were not NULL; a written value counts 1, whatever it is. NULL: count 0. */
  def count(column: Column): Column = call("count", column)

  /** The first value that is not NULL. NULL: ignored. */
  def first_non_null_value(column: Column): Column = call("first_non_null_value", column)

  /** The first record's value. NULL: a first NULL stays. */
  def first_value(column: Column): Column = call("first_value", column)

  /** Union of DataSketches HLL sketches. NULL: ignored; all NULL gives NULL. */
  def hll_sketch(column: Column): Column = call("hll_sketch", column)

  /** The last value that is not NULL; what a column without a function has. NULL: ignored. */
  def last_non_null_value(column: Column): Column = call("last_non_null_value", column)

  /** The last record's value. NULL: a last NULL stays. */
  def last_value(column: Column): Column = call("last_value", column)

  /** The texts joined with a delimiter, `distinct` or not. NULL: NULL and blank texts are left out. */
  def listagg(column: Column, delimiter: String = ",", distinct: Boolean = false, skipBlank: Boolean = true): Column =
    call("listagg", column, delimiter, distinct, skipBlank)

  /** The greatest value; NaN is greater than any number, text and bytes compare as bytes. NULL: ignored. */
  def max(column: Column): Column = call("max", column)

  /** The maps united; of one key the later entry stays. NULL: a NULL map changes nothing, NULL values stay. */
  def merge_map(column: Column): Column = call("merge_map", column)

  /** The maps united; of one key the entry with the greatest time stays. NULL: a NULL map changes nothing, a NULL value
    * removes its key, a NULL time is passed over.
    */
  def merge_map_with_keytime(column: Column, tsField: String = null): Column =
    call("merge_map_with_keytime", column, tsField)

  /** The least value; NaN is greater than any number, text and bytes compare as bytes. NULL: ignored. */
  def min(column: Column): Column = call("min", column)

  /** A nested table: rows of one nested key are merged, field by field. NULL: a NULL array, row or field changes
    * nothing.
    */
  def nested_partial_update(column: Column, nestedKey: String = null, nestedKeyNullStrategy: String = null): Column =
    call("nested_partial_update", column, nestedKey, nestedKeyNullStrategy)

  /** A nested table: rows are added, or with a nested key replaced by their key. NULL: a NULL array changes nothing,
    * NULL rows are dropped.
    */
  def nested_update(column: Column, nestedKey: String = null, nestedSequenceField: String = null, nestedKeyNullStrategy:
      String = null, countLimit: java.lang.Integer = null): Column =
    call("nested_update", column, nestedKey, nestedSequenceField, nestedKeyNullStrategy, countLimit)

  /** The product; DECIMAL rounds half up at each step. NULL: ignored. */
  def product(column: Column): Column = call("product", column)

  /** Union of quantile states: exact up to 2048 values, then a t-digest. NULL: ignored; all NULL gives NULL. */
  def quantile_union(column: Column): Column = call("quantile_union", column)

  /** Union of 32-bit Roaring bitmaps. NULL: ignored; all NULL gives NULL. */
  def rbm32(column: Column): Column = call("rbm32", column)

  /** Union of 64-bit Roaring bitmaps. NULL: ignored; all NULL gives NULL. */
  def rbm64(column: Column): Column = call("rbm64", column)

  /** The sum; beyond the column's type the merge fails and says how to widen it. NULL: ignored. */
  def sum(column: Column): Column = call("sum", column)

  /** Union of DataSketches theta sketches. NULL: ignored; all NULL gives NULL. */
  def theta_sketch(column: Column): Column = call("theta_sketch", column)
}
