package org.apache.spark.sql.keyfold.writes

import keyfold.spark.table.KeyfoldTable
import org.apache.spark.sql.catalyst.plans.logical.InsertIntoStatement
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.keyfold.Refusal
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** Driver side: refuses columns that a table lacks, and says how it gets them, which Spark's own error does not. */
object ExtraColumns {
  private val MergeSchema = "mergeSchema"

  /** Whether the writer's option says that the table gets what it lacks: columns, fields, wider types. */
  def areAdded(table: String, options: CaseInsensitiveStringMap): Boolean = {
    val text = options.getOrDefault(MergeSchema, "false")
    text.toBooleanOption.getOrElse(
      throw Refusal(s"option $MergeSchema of a write to table $table: expected true or false, found '$text'"))
  }

  /** The names among these that the table lacks. */
  def of(table: KeyfoldTable, names: Seq[String]): Seq[String] = {
    val same = SQLConf.get.resolver
    names.filterNot(name => table.columns().exists(column => same(column.name, name)))
  }

  /** Checks an INSERT whose query is resolved. A list of columns is Spark's to check. */
  def check(insert: InsertIntoStatement, table: KeyfoldTable): Unit =
    if (!insert.withSchemaEvolution && insert.userSpecifiedCols.isEmpty) {
      val names = insert.query.output.map(_.name)
      val constants = insert.partitionSpec.count { case (_, value) => value.isDefined }
      refuse(table, extra(table, names, insert.byName, constants),
        "INSERT WITH SCHEMA EVOLUTION INTO … does so by itself")
    }

  /** Checks what a DataFrame or a stream writes. */
  def check(table: KeyfoldTable, names: Seq[String], isByName: Boolean): Unit = refuse(table, extra(table, names, isByName),
    s"option(\"$MergeSchema\", \"true\") of the writer does so by itself, as INSERT WITH SCHEMA EVOLUTION")

  private def extra(table: KeyfoldTable, names: Seq[String], isByName: Boolean, constants: Int = 0): Seq[String] =
    if (isByName) of(table, names) else names.drop(table.columns().length - constants)

  private def refuse(table: KeyfoldTable, extra: Seq[String], remedy: String): Unit = if (extra.nonEmpty) {
    val has = table.columns().map(_.name).mkString(", ")
    throw Refusal(s"writing table ${table.name()}: it has no column ${extra.mkString(", ")}, only $has: leave out what it "
      + s"lacks, or ALTER TABLE … ADD COLUMN first; $remedy")
  }
}
