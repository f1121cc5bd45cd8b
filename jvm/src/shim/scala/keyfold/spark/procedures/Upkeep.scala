package keyfold.spark.procedures

import com.fasterxml.jackson.databind.JsonNode
import keyfold.spark.{Json, KeyfoldCatalog}
import keyfold.spark.table.KeyfoldTable
import org.apache.spark.sql.types._
import org.slf4j.LoggerFactory

/** Driver side: `CALL sys.expire_snapshots(table => …)`: in rounds, each counted in the log. */
final class ExpireSnapshotsProcedure(catalog: KeyfoldCatalog)
    extends KeyfoldProcedure("expire_snapshots", "deletes old snapshots and the files that only they hold", catalog) {
  import ExpireSnapshotsProcedure._

  override protected val optional: Seq[(String, DataType, String)] = Seq(
    ("retain_max", IntegerType, "keep at most so many snapshots"),
    ("retain_min", IntegerType, "keep at least so many"),
    ("older_than", TimestampType, "delete those made before"),
    ("max_deletes", IntegerType, "delete at most so many"),
    (KeyfoldProcedure.Options, StringType, "table options for this call, as 'name=value,…' or a map"))

  override protected val result: StructType = new StructType().add("deleted_snapshots_count", LongType)

  override protected def call(table: KeyfoldTable, arguments: Arguments): Seq[JsonNode] = {
    var deleted = 0L
    var isOver = false
    while (!isOver) {
      val answer = table.questions.ask("expire_snapshots", "table" -> table.description.handle,
        "retain_max" -> arguments.int("retain_max"), "retain_min" -> arguments.int("retain_min"),
        "older_than_millis" -> arguments.millis("older_than"), "max_deletes" -> arguments.int("max_deletes"),
        "options" -> arguments.options, "deleted" -> deleted)
      deleted += answer.get("deleted").asLong
      isOver = !answer.get("more").asBoolean
      log.info(s"expire_snapshots: ${table.name()}: $deleted snapshots deleted")
    }
    Seq(Json.obj("deleted_snapshots_count" -> deleted))
  }
}

object ExpireSnapshotsProcedure {
  private val log = LoggerFactory.getLogger(classOf[ExpireSnapshotsProcedure])
}

/** Driver side: `CALL sys.remove_orphan_files(table => …)`. */
final class RemoveOrphanFilesProcedure(catalog: KeyfoldCatalog)
    extends KeyfoldProcedure("remove_orphan_files", "deletes files that no snapshot knows", catalog) {

  override protected val optional: Seq[(String, DataType, String)] = Seq(
    ("older_than", TimestampType, "only files last changed before; a day ago when left out"),
    ("dry_run", BooleanType, "name the files, and delete none"))

  override protected val result: StructType = new StructType()
    .add("deletedFileCount", LongType).add("deletedFileTotalLenInBytes", LongType)
    .add("files", ArrayType(StringType))

  override protected def call(table: KeyfoldTable, arguments: Arguments): Seq[JsonNode] = {
    val answer = table.questions.ask("remove_orphan_files", "table" -> table.description.handle,
      "older_than_millis" -> arguments.millis("older_than"), "dry_run" -> arguments.flag("dry_run"))
    Seq(Json.obj("deletedFileCount" -> answer.get("count"), "deletedFileTotalLenInBytes" -> answer.get("bytes"),
      "files" -> answer.get("files")))
  }
}

/** Driver side: `CALL sys.table_health(table => …)`: a row for each bucket. */
final class TableHealthProcedure(catalog: KeyfoldCatalog)
    extends KeyfoldProcedure("table_health", "says of each bucket how much reading it costs, and what helps", catalog) {

  override protected val optional: Seq[(String, DataType, String)] = Nil

  override protected val result: StructType = new StructType()
    .add("partition", StringType).add("bucket", IntegerType).add("runs", LongType)
    .add("level0_files", LongType).add("files", LongType).add("bytes", LongType).add("rows", LongType)
    .add("largest_file", LongType).add("delete_rows", LongType)
    .add("read_amplification", DoubleType).add("advice", StringType)

  override protected def call(table: KeyfoldTable, arguments: Arguments): Seq[JsonNode] =
    Json.items(table.questions.ask("table_health", "table" -> table.description.handle))
}
