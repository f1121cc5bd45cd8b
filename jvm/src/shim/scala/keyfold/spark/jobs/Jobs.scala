package keyfold.spark.jobs

import java.util.concurrent.LinkedBlockingQueue

import scala.concurrent.ExecutionContext
import scala.util.{Failure, Success, Try}
import scala.util.control.NonFatal

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.ObjectNode
import keyfold.spark.{Errors, Json, KeyfoldException}
import keyfold.spark.processes.{Uninterrupted, WorkerPool}
import org.apache.spark.{FutureAction, SparkContext, TaskContext}
import org.slf4j.LoggerFactory

/** Driver side: one Spark job over tasks that Python words and Python works on. Tasks belong to steps, and
  * a step is handed over as soon as its last task is in, while others run: on the thread that called, so
  * that nothing waits on Spark's scheduler.
  */
object Jobs {
  private val Description = "spark.job.description"
  private val DefaultAttempts = 4

  /** `answers` are in the order of a step's tasks; of a step that is left there may be fewer than tasks. */
  trait Steps {
    def ended(step: Int, answers: Seq[TaskAnswer]): Unit
    def left(step: Int, answers: Seq[TaskAnswer]): Unit
  }

  /** Asks `question` about each task of each step. A task that fails is an answer; what ends the job as a
    * whole (cancelled, executors lost too often, an interrupt) is thrown, once unfinished steps are left.
    */
  def run(context: SparkContext, description: String, question: ObjectNode, tasks: Seq[Seq[JsonNode]])(
      steps: Steps): Unit = {
    for ((of, step) <- tasks.zipWithIndex if of.isEmpty) steps.ended(step, Nil)
    if (tasks.exists(_.nonEmpty)) runJob(context, description, question, tasks)(steps)
  }

  private def runJob(context: SparkContext, description: String, question: ObjectNode, tasks: Seq[Seq[JsonNode]])(
      steps: Steps): Unit = {
    val places = for ((of, step) <- tasks.zipWithIndex; place <- of.indices) yield (step, place)
    val arrived = new LinkedBlockingQueue[Either[Try[Unit], (Int, TaskAnswer)]]
    val open = new OpenSteps(tasks.map(_.size))
    val job = submit(context, description, new PythonTask(Json.text(question), attempts(context)),
      tasks.flatten.map(Json.text), (index, answer) => arrived.add(Right((index, answer))): Unit)
    job.onComplete(end => arrived.add(Left(end)): Unit)(ExecutionContext.parasitic)
    try {
      var isOver = false
      while (!isOver) arrived.take() match {
        case Right((index, answer)) =>
          val (step, place) = places(index)
          if (open.isLast(step, place, answer)) steps.ended(step, open.close(step))
        case Left(Success(_)) => isOver = true
        case Left(Failure(failure)) => throw failure
      }
    } finally {
      if (!job.isCompleted) job.cancel()
      Uninterrupted(open.remaining.foreach { case (step, answers) => steps.left(step, answers) })
    }
  }

  /** The description is the submission's own: the thread's comes back, group, tags and SQL query stay. */
  private def submit(context: SparkContext, description: String, work: PythonTask, tasks: Seq[String],
      arrive: (Int, TaskAnswer) => Unit): FutureAction[Unit] = {
    val before = context.getLocalProperty(Description)
    context.setLocalProperty(Description, description)
    try {
      val distributed = context.makeRDD(tasks, tasks.size).setName(description)
      context.submitJob(distributed, work, tasks.indices, arrive, ())
    } finally context.setLocalProperty(Description, before)
  }

  /** How often Spark tries a task: once in local mode. */
  private def attempts(context: SparkContext): Int =
    if (context.isLocal) 1 else context.getConf.getInt("spark.task.maxFailures", DefaultAttempts)

  /** The answers of steps that have not all of them yet. */
  private final class OpenSteps(sizes: Seq[Int]) {
    private val answers = sizes.map(Array.fill[Option[TaskAnswer]](_)(None)).toArray
    private val isClosed = sizes.map(_ == 0).toArray

    def isLast(step: Int, place: Int, answer: TaskAnswer): Boolean = {
      answers(step)(place) = Some(answer)
      answers(step).forall(_.isDefined)
    }

    def close(step: Int): Seq[TaskAnswer] = {
      isClosed(step) = true
      answers(step).toSeq.flatten
    }

    def remaining: Seq[(Int, Seq[TaskAnswer])] =
      answers.indices.filterNot(isClosed).map(step => step -> close(step))
  }
}

/** Both sides: the "ok" of an answer, or why a task has none; as text, which travels. */
final case class TaskAnswer(ok: Option[String], failure: Option[String])

/** Executor side: asks a worker about one task. A failure that another try may heal is thrown while
  * Spark has tries left; any other is an answer, so that it ends its own step and no other.
  */
final class PythonTask(question: String, attempts: Int) extends (Iterator[String] => TaskAnswer) with Serializable {
  override def apply(tasks: Iterator[String]): TaskAnswer = {
    val context = TaskContext.get()
    try TaskAnswer(Some(answer(context, tasks.next())), None)
    catch {
      case NonFatal(failure) if !context.isInterrupted() && !isRetried(failure, context) =>
        PythonTask.log.warn(s"task ${context.taskAttemptId()} failed", failure)
        TaskAnswer(None, Some(Errors.sentence(failure)))
    }
  }

  private def answer(context: TaskContext, task: String): String = {
    val lease = WorkerPool.ofTasks.take(context)
    val asked = Json.parse(question).asInstanceOf[ObjectNode].set[JsonNode]("task", Json.parse(task))
    val ok = Json.text(lease.worker.ask(asked))
    lease.giveBack()
    ok
  }

  /** A dead worker, or a machine without room, says nothing about the task; an error that Python reports does. */
  private def isRetried(failure: Throwable, context: TaskContext): Boolean = {
    val isVerdict = failure.isInstanceOf[KeyfoldException] && !KeyfoldException.isDeath(failure)
    !isVerdict && context.attemptNumber() + 1 < attempts
  }
}

object PythonTask {
  private val log = LoggerFactory.getLogger(classOf[PythonTask])
}
