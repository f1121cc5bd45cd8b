package keyfold.spark.procedures

import com.fasterxml.jackson.databind.JsonNode
import keyfold.spark.{Json, KeyfoldCatalog}
import keyfold.spark.table.KeyfoldTable
import org.apache.spark.sql.types._

/** Driver side: a procedure of a table's history: Python gets its arguments by name and answers with its rows. */
final class HistoryProcedure(
    name: String,
    purpose: String,
    catalog: KeyfoldCatalog,
    override protected val optional: Seq[(String, DataType, String)],
    override protected val result: StructType) extends KeyfoldProcedure(name, purpose, catalog) {

  override protected def call(table: KeyfoldTable, arguments: Arguments): Seq[JsonNode] = {
    val asked = optional.map {
      case (KeyfoldProcedure.Options, _, _) => KeyfoldProcedure.Options -> arguments.options
      case (name, LongType, _) => name -> arguments.long(name)
      case (name, TimestampType, _) => name -> arguments.millis(name)
      case (name, BooleanType, _) => name -> arguments.chosen(name)
      case (name, _, _) => name -> arguments.text(name)
    }
    Json.items(table.questions.ask("change_history", "table" -> table.description.handle, "procedure" -> name,
      "arguments" -> asked.toMap))
  }
}

/** Driver side: tags, branches and rollback, with Paimon's names and arguments. */
object HistoryProcedures {
  private val Done = new StructType().add("result", BooleanType)
  private val Moved = new StructType().add("previous_snapshot_id", LongType).add("current_snapshot_id", LongType)
  private val Tag = ("tag", StringType, "its name")
  private val Snapshot = ("snapshot", LongType, "the id of a snapshot; the newest when left out")
  private val Retained =
    ("time_retained", StringType, "how long it is kept, as '7 d'; tag.default-time-retained when left out")

  def apply(catalog: KeyfoldCatalog): Seq[KeyfoldProcedure] = {
    def done(name: String, purpose: String)(arguments: (String, DataType, String)*): KeyfoldProcedure =
      new HistoryProcedure(name, purpose, catalog, arguments, Done)
    def moved(name: String, purpose: String)(arguments: (String, DataType, String)*): KeyfoldProcedure =
      new HistoryProcedure(name, purpose, catalog, arguments, Moved)
    Seq(
      done("create_tag", "keeps a snapshot under a name")(Tag, Snapshot, Retained,
        ("if_not_exists", BooleanType, "do nothing if there is such a tag")),
      new HistoryProcedure("create_tag_from_timestamp", "tags the first snapshot of a time or later", catalog,
        Seq(Tag, ("timestamp", LongType, "in milliseconds since 1970"), Retained),
        new StructType().add("tag", StringType).add("snapshot", LongType).add("commit_time", LongType)
          .add("watermark", LongType)),
      done("replace_tag", "gives a tag another snapshot")(Tag, Snapshot, Retained,
        ("or_create", BooleanType, "make the tag if it does not exist")),
      done("rename_tag", "gives a tag another name")(Tag, ("target_tag", StringType, "the new name")),
      done("delete_tag", "deletes tags and the files that only they hold")(
        ("tag", StringType, "names, with commas between them"),
        ("if_exists", BooleanType, "whether tags that do not exist are passed over: true when left out")),
      new HistoryProcedure("expire_tags", "deletes the tags whose time is over", catalog,
        Seq(("older_than", TimestampType, "and all that were made before")),
        new StructType().add("expired_tags", StringType)),
      done("trigger_tag_automatic_creation", "makes the automatic tags that are due")(),
      done("create_branch", "makes a branch of a tag, or an empty one")(("branch", StringType, "its name"),
        ("tag", StringType, "the tag that it begins at"),
        ("ignoreIfExists", StringType, "'true': do nothing if there is such a branch")),
      done("delete_branch", "deletes branches and the files that only they hold")(
        ("branch", StringType, "names, with commas between them")),
      done("rename_branch", "gives a branch another name")(("from_branch", StringType, "the old name"),
        ("to_branch", StringType, "the new name")),
      done("fast_forward", "makes the table what a branch of it is")(("branch", StringType, "its name")),
      moved("rollback", "makes a snapshot or tag the newest")(
        ("version", StringType, "the id of a snapshot, or the name of a tag"),
        ("snapshot", LongType, "the id of a snapshot"), ("tag", StringType, "the name of a tag")),
      moved("rollback_to_timestamp", "makes the newest snapshot until a time the newest")(
        ("timestamp", LongType, "in milliseconds since 1970")),
      moved("rollback_to_watermark", "makes the newest snapshot until a watermark the newest")(
        ("watermark", LongType, "as streams of other engines store it")),
      done("compact_manifest", "writes the manifests anew, as few as possible")(
        (KeyfoldProcedure.Options, StringType, "table options for this call, as 'name=value,…' or a map")))
  }
}
