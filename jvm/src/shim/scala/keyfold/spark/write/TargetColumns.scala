package keyfold.spark.write

import java.util.Locale

import scala.jdk.CollectionConverters._

import keyfold.spark.Json
import keyfold.spark.table.{KeyfoldTable, Names, StagedKeyfoldTable}
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** Driver side: the columns that a statement names, as the session extension has seen them, on their way to
  * Python; the user's options go beside them.
  */
object TargetColumns {
  /** The option that the session extension adds to every write of ours that it has seen. */
  val Mark = "keyfold.named-columns"
  private val Everything = "*"
  private val Plain = Set(Mark, "checkpointLocation", "queryName").map(_.toLowerCase(Locale.ROOT))
  private val AssignedMark = "keyfold.assigned-columns"

  /** The option that names the columns which the UPDATEs of a statement set. */
  def markAssigned(names: Seq[String]): (String, String) = AssignedMark -> Json.text(Json.node(names))

  def assigned(options: CaseInsensitiveStringMap): Option[Seq[String]] =
    Option(options.get(AssignedMark)).map(text => Json.strings(Json.parse(text)))

  def isMarkedAssigned(options: CaseInsensitiveStringMap): Boolean = options.containsKey(AssignedMark)

  def mark(names: Option[Seq[String]]): (String, String) = Mark -> names.fold(Everything)(joined)

  def added(options: CaseInsensitiveStringMap, marked: (String, String)): CaseInsensitiveStringMap =
    new CaseInsensitiveStringMap((options.asCaseSensitiveMap.asScala.toMap + marked).asJava)

  def isMarked(options: CaseInsensitiveStringMap): Boolean = options.containsKey(Mark)

  /** The fields of a question about a write with these options. */
  def asked(options: CaseInsensitiveStringMap): Seq[(String, Any)] = {
    val own = options.asCaseSensitiveMap.asScala.toMap.filterNot { case (name, _) => name.equalsIgnoreCase(Mark) }
    Seq("options" -> own, "named" -> Option(options.get(Mark)))
  }

  /** Refuses what names columns that can't be named, before Spark looks for values of the others. */
  def check(
      table: KeyfoldTable, names: Seq[String], options: CaseInsensitiveStringMap, isOverwrite: Boolean): Unit =
    if (table.description.leavesOthers)
      table.questions.ask("check_targets", "table" -> table.description.handle,
        "options" -> options.asCaseSensitiveMap, "named" -> joined(names),
        "mode" -> (if (isOverwrite) "overwrite" else "append")): Unit

  /** Refuses options that are unknown, and a write of which nobody knows the columns it named. */
  def checkSeen(table: KeyfoldTable, options: CaseInsensitiveStringMap): Unit = {
    val isPlain = isMarked(options) && options.keySet.asScala.forall(Plain.contains)
    if (!isPlain) {
      val isNew = table.isInstanceOf[StagedKeyfoldTable]
      val fields = Seq("table" -> table.description.handle, "new" -> isNew) ++ asked(options)
      table.questions.ask("check_write", fields: _*): Unit
    }
  }

  private def joined(names: Seq[String]): String = names.map(Names.quote).mkString(",")
}
