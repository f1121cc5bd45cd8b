package org.apache.spark.sql.keyfold

import scala.util.control.NonFatal

import com.fasterxml.jackson.databind.JsonNode
import keyfold.spark.{Json, Worker}
import keyfold.spark.processes.WorkerPool
import org.apache.spark.TaskContext

/** Executor side: a worker that answers one long question of a task. It goes back to the pool when the task ends well,
  * and after its last answer, which `ended` takes; otherwise, or if `isRead` says no, its connection is closed.
  */
final class TaskWorker(question: JsonNode, closed: () => Unit, isRead: () => Boolean = () => true,
    ended: JsonNode => Unit = _ => ()) {
  private val task = TaskContext.get()
  private val lease = WorkerPool.ofTasks.take(task)

  task.addTaskCompletionListener[Unit](ended => close(isDone = !ended.isFailed() && !ended.isInterrupted())): Unit
  worker.ask(question): Unit

  def worker: Worker = lease.worker

  private def close(isDone: Boolean): Unit = {
    val isKept = isDone && isRead()
    closed()
    if (isKept)
      try {
        ended(worker.ask(Json.obj("end" -> true)))
        lease.giveBack()
      } catch { case NonFatal(_) => lease.drop() }
    else lease.drop()
  }
}
