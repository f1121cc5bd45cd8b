package keyfold.spark.jobs

import scala.collection.mutable
import scala.util.control.NonFatal

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.ObjectNode
import keyfold.spark.{Errors, Json}
import keyfold.spark.table.KeyfoldTable
import org.apache.spark.sql.SparkSession
import org.slf4j.LoggerFactory

/** Driver side: the compaction of one table: Python plans it and which of its steps are committed together,
  * tasks rewrite. Finished steps are kept: they are committed when a job ends early.
  */
final class Compaction(table: KeyfoldTable) {
  private type Done = (PlannedStep, Seq[TaskAnswer])
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
    val tasks = steps.map(_.tasks)
    val bytes = steps.map(_.bytes).sum
    val described = s"keyfold: $title ${table.name()}: ${counted(steps.size, "step")}, " +
      s"${counted(tasks.map(_.size).sum, "task")}, $bytes bytes"
    log.info(described)
    val settling = new Settling(plan)
    if (steps.nonEmpty)
      try Jobs.run(SparkSession.active.sparkContext, described, plan.question, tasks)(settling)
      finally settling.rest()
    settling.outcomes.values.toSeq
  }

  /** Commits or gives up steps that ended: those of one commit wait for its last. */
  private final class Settling(plan: CompactionPlan) extends Jobs.Steps {
    val outcomes = mutable.SortedMap.empty[Int, StepOutcome]
    private val waiting = mutable.SortedMap.empty[Int, Seq[TaskAnswer]]
    private val unfinished = mutable.Map.from(plan.steps.groupBy(_.commit).view.mapValues(_.size))

    override def ended(step: Int, answers: Seq[TaskAnswer]): Unit = {
      answers.flatMap(_.failure).headOption match {
        case Some(reason) =>
          abandon(plan, Seq(plan.steps(step) -> answers))
          note(step, StepOutcome.failed(plan.steps(step), reason))
        case None => waiting(step) = answers
      }
      val commit = plan.steps(step).commit
      unfinished(commit) -= 1
      if (unfinished(commit) == 0) settle(_ == commit)
    }

    override def left(step: Int, answers: Seq[TaskAnswer]): Unit = abandon(plan, Seq(plan.steps(step) -> answers))

    /** Those whose commits still wait for others. */
    def rest(): Unit = settle(_ => true)

    private def settle(isAsked: Int => Boolean): Unit = {
      val numbers = waiting.keys.filter(step => isAsked(plan.steps(step).commit)).toSeq
      val done = numbers.map(step => plan.steps(step) -> waiting.remove(step).get)
      if (done.nonEmpty) numbers.zip(settled(plan, done)).foreach { case (step, outcome) => note(step, outcome) }
    }

    private def note(step: Int, outcome: StepOutcome): Unit = {
      outcomes(step) = outcome
      val line = s"${table.name()}: ${outcomes.size} of ${plan.steps.size} steps: $outcome"
      if (outcome.isBad) log.warn(line) else log.info(line)
    }
  }

  private def settled(plan: CompactionPlan, done: Seq[Done]): Seq[StepOutcome] = {
    val steps = done.map(_._1)
    try Json.items(table.questions.ask("commit_compaction", "table" -> table.description.handle,
        "compaction" -> plan.spec, "steps" -> steps.map(_.opaque), "results" -> done.map(one => results(one._2))))
        .zip(steps).map { case (answer, step) => StepOutcome(step, answer) }
    catch {
      case NonFatal(failure) =>
        abandon(plan, done)
        steps.map(StepOutcome.failed(_, Errors.sentence(failure)))
    }
  }

  /** Deletes what tasks wrote; Python keeps what a snapshot of the first step's job holds, or may hold. */
  private def abandon(plan: CompactionPlan, done: Seq[Done]): Unit =
    try if (done.exists(_._2.exists(_.ok.isDefined)))
      table.questions.ask("abandon_compaction", "table" -> table.description.handle, "compaction" -> plan.spec,
        "step" -> done.head._1.opaque, "results" -> done.flatMap(one => results(one._2))): Unit
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

  /** Those of one number are committed together. */
  val commit: Int = json.path("commit").asInt

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
