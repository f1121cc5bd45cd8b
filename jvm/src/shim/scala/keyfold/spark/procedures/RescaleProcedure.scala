package keyfold.spark.procedures

import scala.util.control.NonFatal

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.ObjectNode
import keyfold.spark.{Json, KeyfoldCatalog}
import keyfold.spark.jobs.{Jobs, TaskAnswer}
import keyfold.spark.table.KeyfoldTable
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.keyfold.Refusal
import org.apache.spark.sql.types._
import org.slf4j.LoggerFactory

/** Driver side: `CALL sys.rescale(table => …, buckets => …)`: one Spark job that writes the table's files anew,
  * one commit.
  */
final class RescaleProcedure(catalog: KeyfoldCatalog)
    extends KeyfoldProcedure("rescale", "gives a table another number of buckets", catalog) {
  import RescaleProcedure._

  override protected val optional: Seq[(String, DataType, String)] = Seq(
    ("buckets", IntegerType, "how many"),
    ("bucket_num", IntegerType, "the same, by Paimon's name"))

  override protected val result: StructType = new StructType()
    .add("buckets_before", IntegerType).add("buckets_after", IntegerType)
    .add("files_before", LongType).add("files_after", LongType)
    .add("bytes_before", LongType).add("bytes_after", LongType)
    .add("rows_before", LongType).add("rows_after", LongType)
    .add("snapshot_id", LongType)

  override protected def call(table: KeyfoldTable, arguments: Arguments): Seq[JsonNode] = {
    val buckets = arguments.int("buckets").orElse(arguments.int("bucket_num")).getOrElse(
      throw Refusal(s"rescale: buckets is NULL; expected how many buckets ${table.name()} is to have"))
    val session = SparkSession.active
    val handle = "table" -> table.description.handle
    val planned = table.questions.ask("plan_rescale", handle, "buckets" -> buckets,
      "parallelism" -> session.sparkContext.defaultParallelism)
    val tasks = Json.items(planned.get("tasks"))
    val described = s"keyfold: rescale ${table.name()} to $buckets buckets: ${tasks.size} tasks"
    log.info(described)
    val job = new Rescaling(table, planned)
    Jobs.run(session.sparkContext, described, job.question, Seq(tasks))(job)
    val done = job.committed
    Seq(Json.obj("buckets_before" -> planned.get("buckets"), "buckets_after" -> buckets,
      "files_before" -> planned.get("files"), "files_after" -> done.get("files"),
      "bytes_before" -> planned.get("bytes"), "bytes_after" -> done.get("bytes"),
      "rows_before" -> planned.get("rows"), "rows_after" -> done.get("rows"),
      "snapshot_id" -> done.get("snapshot")))
  }
}

object RescaleProcedure {
  private val log = LoggerFactory.getLogger(classOf[RescaleProcedure])

  /** Driver side: all tasks are one step. The files of one that is not committed are deleted. */
  private final class Rescaling(table: KeyfoldTable, planned: JsonNode) extends Jobs.Steps {
    var committed: JsonNode = _

    def question: ObjectNode = Json.obj("question" -> "compact", "compaction" -> planned.get("compaction"))

    override def ended(step: Int, answers: Seq[TaskAnswer]): Unit =
      answers.flatMap(_.failure).headOption match {
        case Some(reason) =>
          left(step, answers)
          throw Refusal(s"table ${table.name()} was not rescaled, nothing has changed: $reason")
        case None => committed = ask("commit_rescale", answers)
      }

    override def left(step: Int, answers: Seq[TaskAnswer]): Unit =
      try if (answers.exists(_.ok.isDefined)) ask("abandon_compaction", answers): Unit
      catch {
        case NonFatal(failure) => log.warn(s"${table.name()}: files of a rescale that was given up are left "
            + "where they are, for CALL sys.remove_orphan_files", failure)
      }

    private def ask(what: String, answers: Seq[TaskAnswer]): JsonNode =
      table.questions.ask(what, "table" -> table.description.handle, "compaction" -> planned.get("compaction"),
        "step" -> planned.get("step"), "results" -> answers.flatMap(_.ok).map(Json.parse(_).get("files")))
  }
}
