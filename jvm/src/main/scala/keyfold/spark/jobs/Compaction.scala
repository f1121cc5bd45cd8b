package keyfold.spark.jobs

import scala.collection.mutable
import scala.util.control.NonFatal

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.ObjectNode
import keyfold.spark.{Errors, Json}
import keyfold.spark.table.KeyfoldTable
import org.apache.spark.sql.SparkSession
import org.slf4j.LoggerFactory

/** Driver side: the compaction of one table: Python plans it, tasks rewrite, and each step is committed by
  * itself, so that what is done stays done.
  */
final class Compaction(table: KeyfoldTable) {
  private val log = LoggerFactory.getLogger(classOf[Compaction])

  /** The question plan_compaction; `asked` are the fields of its `compaction`. */
  def plan(asked: (String, Any)*): CompactionPlan = {
    val all = asked :+ ("parallelism" -> SparkSession.active.sparkContext.defaultParallelism)
    CompactionPlan(table.questions.ask("plan_compaction", "table" -> table.description.handle,
      "compaction" -> Json.obj(all: _*)))
  }

  /** Runs all steps as one job; what became of each. Thrown is only what ended the whole job. */
  def run(plan: CompactionPlan, title: String): Seq[StepOutcome] = {
    val steps = plan.steps
    val outcomes = mutable.SortedMap.empty[Int, StepOutcome]
    val tasks = steps.map(_.tasks)
    val bytes = steps.map(_.bytes).sum
    val described = s"keyfold: $title ${table.name()}: ${counted(steps.size, "step")}, " +
      s"${counted(tasks.map(_.size).sum, "task")}, $bytes bytes"
    log.info(described)
    if (steps.nonEmpty)
      Jobs.run(SparkSession.active.sparkContext, described, plan.question, tasks)(new Jobs.Steps {
        override def ended(step: Int, answers: Seq[TaskAnswer]): Unit = {
          val outcome = settled(plan, steps(step), answers)
          outcomes(step) = outcome
          val line = s"${table.name()}: ${outcomes.size} of ${steps.size} steps: $outcome"
          if (outcome.isBad) log.warn(line) else log.info(line)
        }

        override def left(step: Int, answers: Seq[TaskAnswer]): Unit = abandon(plan, steps(step), answers)
      })
    outcomes.values.toSeq
  }

  private def settled(plan: CompactionPlan, step: PlannedStep, answers: Seq[TaskAnswer]): StepOutcome =
    answers.flatMap(_.failure).headOption match {
      case Some(reason) =>
        abandon(plan, step, answers)
        StepOutcome.failed(step, reason)
      case None =>
        try StepOutcome(step, table.questions.ask("commit_compaction", "table" -> table.description.handle,
          "compaction" -> plan.spec, "step" -> step.opaque, "results" -> results(answers)))
        catch {
          case NonFatal(failure) =>
            abandon(plan, step, answers)
            StepOutcome.failed(step, Errors.sentence(failure))
        }
    }

  /** Deletes what tasks wrote; Python keeps what a snapshot holds, or may hold. */
  private def abandon(plan: CompactionPlan, step: PlannedStep, answers: Seq[TaskAnswer]): Unit =
    try if (answers.exists(_.ok.isDefined))
      table.questions.ask("abandon_compaction", "table" -> table.description.handle, "compaction" -> plan.spec,
        "step" -> step.opaque, "results" -> results(answers)): Unit
    catch {
      case NonFatal(failure) => log.warn(s"${table.name()}: files of a compaction that was given up are left "
          + "where they are, for CALL sys.remove_orphan_files", failure)
    }

  private def results(answers: Seq[TaskAnswer]): Seq[JsonNode] =
    answers.flatMap(_.ok).map(Json.parse(_).get("files"))

  private def counted(number: Int, what: String): String = s"$number $what${if (number == 1) "" else "s"}"
}

/** Driver side: the answer of plan_compaction. */
final case class CompactionPlan(json: JsonNode) {
  val spec: JsonNode = json.get("compaction")
  val steps: Seq[PlannedStep] = Json.items(json.get("steps")).map(PlannedStep)
  val skipped: Option[String] = Json.optional(json, "skipped")

  def question: ObjectNode = Json.obj("question" -> "compact", "compaction" -> spec)

  /** The same, in these buckets only. */
  def only(places: Set[(JsonNode, JsonNode)]): CompactionPlan =
    CompactionPlan(Json.obj("compaction" -> spec, "steps" -> steps.filter(step => places(step.place)).map(_.json)))
}

/** Driver side: files of one bucket that are replaced together. */
final case class PlannedStep(json: JsonNode) {
  val opaque: JsonNode = json.get("step")
  val description: String = json.path("description").asText
  val tasks: Seq[JsonNode] = Json.items(json.get("tasks"))
  val bytes: Long = json.path("bytes").asLong

  /** The bucket it is about, for finding it again in another plan. */
  def place: (JsonNode, JsonNode) = (json.path("partition"), json.path("bucket"))
}

/** Driver side: what became of a step, as a row of `CALL sys.compact`. */
final case class StepOutcome(step: PlannedStep, answer: JsonNode) {
  val status: String = answer.path("outcome").asText
  val message: Option[String] = Json.optional(answer, "message")

  def isConflict: Boolean = status == "conflict"
  def isBad: Boolean = isConflict || status == "failed"

  def row: JsonNode = Json.obj(
    "partition" -> step.json.get("partition"), "bucket" -> step.json.get("bucket"), "level" -> step.json.get("level"),
    "files_before" -> step.json.get("files"), "files_after" -> answer.get("files"),
    "bytes_before" -> step.json.get("bytes"), "bytes_after" -> answer.get("bytes"),
    "rows_before" -> step.json.get("rows"), "rows_after" -> answer.get("rows"),
    "snapshot_id" -> answer.get("snapshot"), "status" -> status, "message" -> message)

  override def toString: String = s"${step.description} $status${message.fold("")(text => s": $text")}"
}

object StepOutcome {
  def planned(step: PlannedStep): StepOutcome = StepOutcome(step, Json.obj("outcome" -> "planned"))

  def failed(step: PlannedStep, reason: String): StepOutcome =
    StepOutcome(step, Json.obj("outcome" -> "failed", "message" -> reason))
}
