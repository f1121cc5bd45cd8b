package keyfold.spark.write

import scala.jdk.CollectionConverters._

import keyfold.spark.table.{KeyfoldTable, Names, StagedKeyfoldTable}
import org.apache.spark.sql.keyfold.Refusal
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** Driver side: the columns a write names. The user's option says them, or, for tables that fold column by
  * column, what the session extension has seen in the statement.
  */
object TargetColumns {
  /** What the session extension adds to every write of ours that it has seen. */
  val Mark = "keyfold.named-columns"
  private val Everything = "*"
  private val Spellings = Seq("target-columns", "target_columns")

  /** Options of a write, in lower case; whatever else a DataFrame's writer names says what its table is like. */
  val OfWrites: Set[String] = Spellings.toSet ++ Set("merge-mode", "merge_mode", Mark)

  def mark(names: Option[Seq[String]]): (String, String) = Mark -> names.fold(Everything)(joined)

  def isMarked(options: CaseInsensitiveStringMap): Boolean = options.containsKey(Mark)

  /** Names as the option `target-columns` lists them; None for all. */
  def of(table: KeyfoldTable, options: CaseInsensitiveStringMap): Option[String] =
    asked(options).orElse(
      Option(options.get(Mark)).filter(_ != Everything && table.description.foldsColumns))

  /** Refuses what names columns that can't be named, before Spark looks for values of the others. */
  def check(
      table: KeyfoldTable, names: Seq[String], options: CaseInsensitiveStringMap, isOverwrite: Boolean): Unit =
    if (table.description.foldsColumns && asked(options).isEmpty)
      table.questions.ask("check_targets", "table" -> table.description.handle, "names" -> joined(names),
        "mode" -> (if (isOverwrite) "overwrite" else "append")): Unit

  /** Refuses a write of which nobody knows the columns it named. */
  def checkSeen(table: KeyfoldTable, options: CaseInsensitiveStringMap): Unit = {
    val isNew = table.isInstanceOf[StagedKeyfoldTable]
    if (table.description.foldsColumns && !isNew && !isMarked(options) && asked(options).isEmpty)
      throw Refusal(s"writing table ${table.name()} needs the session extension of keyfold: the table folds "
        + "column by column, and Spark alone does not say which columns a statement names. Start Spark with "
        + "--conf spark.sql.extensions=keyfold.spark.KeyfoldExtensions, or write a DataFrame with "
        + ".option(\"target-columns\", \"<names, the key among them>\")")
  }

  private def asked(options: CaseInsensitiveStringMap): Option[String] =
    Spellings.flatMap(name => Option(options.get(name))).headOption

  private def joined(names: Seq[String]): String = names.map(Names.quote).mkString(",")

  /** The options of a write as Python reads them. */
  def resolved(table: KeyfoldTable, options: CaseInsensitiveStringMap): Map[String, String] = {
    val own = options.asCaseSensitiveMap.asScala.toMap
      .filterNot { case (name, _) => (Mark +: Spellings).exists(_.equalsIgnoreCase(name)) }
    own ++ of(table, options).map(Spellings.head -> _)
  }
}
