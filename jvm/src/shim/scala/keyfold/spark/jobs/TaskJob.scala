package keyfold.spark.jobs

import java.util.concurrent.LinkedBlockingQueue

import scala.concurrent.ExecutionContext
import scala.util.control.NonFatal

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.ObjectNode
import keyfold.spark.{Errors, Json, KeyfoldException}
import keyfold.spark.processes.WorkerPool
import org.apache.spark.{FutureAction, SparkContext, TaskContext}
import org.slf4j.LoggerFactory

/** Driver side: one Spark job over tasks that Python words and Python works on. Their answers are taken as they
  * come, on the thread that asks, so that nothing waits on Spark's scheduler.
  */
final class TaskJob(context: SparkContext, description: String, question: JsonNode, tasks: Seq[String]) {
  import TaskJob._

  private val arrived = new LinkedBlockingQueue[Either[Throwable, (Int, TaskAnswer)]]
  private val job = submit()
  job.onComplete(_.failed.foreach(failure => arrived.add(Left(failure))))(ExecutionContext.parasitic)

  /** The place of a task that has ended, and its answer. A task that fails is an answer; what ends the job as a
    * whole (cancelled, executors lost too often, an interrupt) is thrown.
    */
  def next(): (Int, TaskAnswer) = arrived.take().fold(throw _, identity)

  def cancel(): Unit = if (!job.isCompleted) job.cancel()

  /** The description is the submission's own: the thread's comes back, group, tags and SQL query stay. */
  private def submit(): FutureAction[Unit] = {
    val before = context.getLocalProperty(Description)
    context.setLocalProperty(Description, description)
    try {
      val distributed = context.makeRDD(tasks, tasks.size).setName(description)
      val work = new PythonTask(Json.text(question), attempts(context))
      context.submitJob(distributed, work, tasks.indices,
        (place: Int, answer: TaskAnswer) => arrived.add(Right(place -> answer)): Unit, ())
    } finally context.setLocalProperty(Description, before)
  }
}

object TaskJob {
  private val Description = "spark.job.description"
  private val DefaultAttempts = 4

  /** How often Spark tries a task: once in local mode. */
  private def attempts(context: SparkContext): Int =
    if (context.isLocal) 1 else context.getConf.getInt("spark.task.maxFailures", DefaultAttempts)
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
