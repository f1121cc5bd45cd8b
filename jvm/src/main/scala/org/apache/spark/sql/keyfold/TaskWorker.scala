package org.apache.spark.sql.keyfold

import scala.util.control.NonFatal

import com.fasterxml.jackson.databind.JsonNode
import keyfold.spark.{Json, Worker}
import keyfold.spark.processes.WorkerPool
import org.apache.spark.TaskContext

/** Executor side: a worker that answers one long question of a task. It goes back to the pool when the task ends well;
  * otherwise its connection is closed.
  */
final class TaskWorker(question: JsonNode, closed: () => Unit) {
  private val task = TaskContext.get()
  private val lease = WorkerPool.ofTasks.take(task)

  task.addTaskCompletionListener[Unit](ended => close(isDone = !ended.isFailed() && !ended.isInterrupted())): Unit
  worker.ask(question): Unit

  def worker: Worker = lease.worker

  private def close(isDone: Boolean): Unit = {
    closed()
    if (isDone)
      try {
        worker.ask(Json.obj("end" -> true)): Unit
        lease.giveBack()
      } catch { case NonFatal(_) => lease.drop() }
    else lease.drop()
  }
}
