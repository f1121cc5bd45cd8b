package keyfold.client

import scala.annotation.varargs
import scala.collection.mutable

import keyfold.spark.table.Names.quote
import keyfold.spark.{KeyfoldException, Kinds}
import org.apache.spark.sql.{AnalysisException, SparkSession, classic}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.keyfold.Refusal

/** The definition of a table, given part by part. It becomes a CREATE TABLE, so that everything is checked as there.
  * Not to be shared by threads.
  */
final class TableBuilder private[client] () {
  private val columns = mutable.ArrayBuffer.empty[String]
  private val options = mutable.LinkedHashMap.empty[String, String]
  private var key, partitions = Seq.empty[String]
  private var text: Option[String] = None
  private var mayExist, folds = false

  /** A column of a type in SQL, after which NOT NULL, DEFAULT and COMMENT may stand: `"BIGINT NOT NULL DEFAULT 0"`. */
  def column(name: String, sqlType: String): TableBuilder = also(columns += s"${quote(name)} $sqlType")

  /** A column that is folded by a function. The merge engine is then `aggregation`, unless an option names another. */
  def column(name: String, sqlType: String, function: ColumnFunction): TableBuilder = {
    folds = true
    option(s"fields.$name.aggregate-function", function.name)
    function.options.foreach { case (own, value) => option(s"fields.$name.$own", value) }
    column(name, sqlType)
  }

  /** The columns of the primary key, those of the partitions among them. */
  @varargs def primaryKey(names: String*): TableBuilder = also { key = names }

  @varargs def partitionedBy(names: String*): TableBuilder = also { partitions = names }

  /** A table option, as in TBLPROPERTIES. */
  def option(name: String, value: Any): TableBuilder = also(options(name) = value.toString)

  def comment(text: String): TableBuilder = also { this.text = Some(text) }

  /** Takes a table that is there as it is. */
  def ifNotExists(): TableBuilder = also { mayExist = true }

  /** Makes the table and opens it. The name is that of SQL: `"keyfold.shop.stock"`. Throws a KeyfoldException of the
    * kind TableExistsError if the name is taken, TableError or NotSupportedError if there can't be such a table.
    */
  def create(session: SparkSession, name: String): KeyfoldTable = {
    TableBuilder.unchecked(session)(session.sql(statement(name)): Unit)
    KeyfoldTable.open(session, name)
  }

  private def statement(name: String): String = {
    def listed(names: Seq[String]): String = names.map(quote).mkString("(", ", ", ")")
    def literal(text: String): String = "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
    val engine = if (folds && !options.contains(Engine)) Seq(Engine -> "aggregation") else Nil
    val properties = (options ++ engine).map { case (own, value) => s"${literal(own)} = ${literal(value)}" }
    val constraint = if (key.isEmpty) Nil else Seq(s"PRIMARY KEY ${listed(key)} NOT ENFORCED")
    Seq(
      s"CREATE TABLE ${if (mayExist) "IF NOT EXISTS " else ""}$name (${(columns ++ constraint).mkString(", ")})",
      if (partitions.isEmpty) "" else s"PARTITIONED BY ${listed(partitions)}",
      text.fold("")(words => s"COMMENT ${literal(words)}"),
      if (properties.isEmpty) "" else properties.mkString("TBLPROPERTIES (", ", ", ")")
    ).filter(_.nonEmpty).mkString(" ")
  }

  private val Engine = "merge-engine"

  private def also(change: => Unit): TableBuilder = { change; this }
}

private[client] object TableBuilder {
  private val KindOf = Map("SCHEMA_NOT_FOUND" -> "NoSuchNamespaceError", "TABLE_OR_VIEW_NOT_FOUND" -> "NoSuchTableError",
    "TABLE_OR_VIEW_ALREADY_EXISTS" -> "TableExistsError")

  /** Throws failures that Java's compiler lets a program catch. Texts mean the same in every session: Spark puts no
    * variables in place of ${…}, which a name may have.
    */
  def unchecked[T](session: SparkSession)(work: => T): T =
    try session match {
        case own: classic.SparkSession =>
          val conf = own.sessionState.conf.clone()
          Seq(SQLConf.VARIABLE_SUBSTITUTE_ENABLED, SQLConf.ESCAPED_STRING_LITERALS).foreach(conf.setConf(_, false))
          SQLConf.withExistingConf(conf)(work)
        case _ => work
      }
    catch {
      case refused: Refusal => throw Option(refused.getCause).collect { case ours: KeyfoldException => ours }
          .getOrElse(new KeyfoldException(Kinds.Table, refused.getMessage, refused))
      case failure: AnalysisException =>
        throw new KeyfoldException(KindOf.getOrElse(failure.getCondition, Kinds.Table), failure.getMessage, failure)
    }
}
