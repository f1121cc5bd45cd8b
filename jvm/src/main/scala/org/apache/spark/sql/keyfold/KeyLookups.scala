package org.apache.spark.sql.keyfold

import scala.util.control.NonFatal

import keyfold.spark.Json
import keyfold.spark.processes.{Lease, WorkerPool}
import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.types.StructType

/** Executor side: the worker that looks keys up for one task, from the first key on. Keys are added, then asked
  * for together; their rows come back in that order, whether each was found first.
  */
final class KeyLookups(plan: String, schema: StructType, task: TaskContext) {
  private var lease: Option[Lease] = None
  private var keys: Option[ArrowBatchWriter] = None
  private var answered: Option[ArrowBatchReader] = None
  private var isEmpty = true
  private var at = 0

  private def worker = lease.getOrElse(open()).worker

  private def open(): Lease = {
    val taken = WorkerPool.ofTasks.take(task)
    lease = Some(taken)
    task.addTaskCompletionListener[Unit](ended => close(isDone = !ended.isFailed() && !ended.isInterrupted())): Unit
    taken.worker.ask(Json.obj("question" -> "lookup", "lookup" -> Json.parse(plan))): Unit
    keys = Some(new ArrowBatchWriter(schema, taken.worker.out))
    taken
  }

  /** Takes a key; true if it is time to ask. */
  def add(key: UnsafeRow): Boolean = {
    if (lease.isEmpty) open(): Unit
    isEmpty = false
    keys.get.write(key)
  }

  /** Looks up the keys that were added; how many of them there are. */
  def ask(): Long =
    if (isEmpty) 0L
    else {
      isEmpty = true
      worker.send(Json.obj("keys" -> true))
      worker.heard(keys.get.finish())
      val answer = worker.answer()
      answered = Some(new ArrowBatchReader(worker.in))
      at = -1
      answer.path("found").asLong
    }

  /** The row of the next key, good until the one after it is asked for. */
  def next(): InternalRow = {
    val rows = answered.get
    at += 1
    if (at == 0 || at == rows.current.numRows) {
      do require(worker.alive(rows.next()), "fewer rows than keys") while (rows.current.numRows == 0)
      at = 0
    }
    rows.current.getRow(at)
  }

  /** Reads to the end of the answer, after which the worker can be asked again. */
  def done(): Unit = {
    answered.foreach { rows =>
      require(!worker.alive(rows.next()), "more rows than keys")
      rows.close()
    }
    answered = None
  }

  private def close(isDone: Boolean): Unit = {
    keys.foreach(_.close())
    val isRead = answered.isEmpty
    answered.foreach(_.close())
    lease.foreach { held =>
      if (isDone && isRead)
        try {
          held.worker.ask(Json.obj("end" -> true)): Unit
          held.giveBack()
        } catch { case NonFatal(_) => held.drop() }
      else held.drop()
    }
  }
}
