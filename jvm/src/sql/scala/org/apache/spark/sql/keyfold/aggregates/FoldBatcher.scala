package org.apache.spark.sql.keyfold.aggregates

import com.fasterxml.jackson.databind.JsonNode
import keyfold.spark.{Json, Worker}
import org.apache.spark.sql.keyfold.TaskWorker
import org.apache.spark.sql.keyfold.arrow.ArrowBatchReader
import org.apache.spark.sql.vectorized.ColumnarBatch

/** Executor side: the worker that folds for one operator of a task, from the first row on. A window and the operator
  * above it have the same one, which comes with their plan.
  */
final case class FoldBatcher()(functions: Seq[FoldFunction], ofFrames: Boolean = false) {
  import FoldBatcher._

  @transient lazy val columns: IndexedSeq[FoldColumn] =
    functions.zipWithIndex.map { case (function, index) => new FoldColumn(this, function, index) }.toIndexedSeq
  private var opened: Option[TaskWorker] = None
  private var unasked = 0

  /** The messages with rows, and the answers with results, for the figures of the UI. */
  var batches = 0L
  var answers = 0L

  def isOpen: Boolean = opened.isDefined
  def worker: Worker = opened.getOrElse(open()).worker

  private def open(): TaskWorker = {
    val question = Json.obj("question" -> "aggregate", "folds" -> functions.map(_.described), "frames" -> ofFrames)
    opened = Some(new TaskWorker(question, () => columns.foreach(_.close())))
    opened.get
  }

  /** Says what follows, and lets it follow. A worker that speaks before it is asked has failed. */
  def send(frame: JsonNode)(rows: => Unit): Unit = {
    worker.send(frame)
    worker.heard(rows)
    if (worker.hasAnswered) worker.answer(): Unit
    batches += 1
    unasked += 1
  }

  /** Asks for the payloads ("state") or values ("value") of groups, and hands over their batches. */
  def take(column: Int, form: String, from: Int, until: Int)(took: ColumnarBatch => Unit): JsonNode = {
    val answer = worker.ask(Json.obj("take" -> column, "as" -> form, "from" -> from, "to" -> until))
    answers += 1
    unasked = 0
    val rows = new ArrowBatchReader(worker.in)
    try while (worker.alive(rows.next())) took(rows.current)
    finally rows.close()
    answer
  }

  /** Whether the worker holds so much that its groups should be taken away soon. It is asked after some batches,
    * because that waits until it has read them; after each of a window, whose groups may be of one row each.
    */
  def isDue: Boolean =
    unasked >= (if (ofFrames) 1 else BatchesBetween) && take(0, "state", 0, 0)(_ => ()).path("full").asBoolean

  /** Forgets all groups. */
  def clear(): Unit = {
    columns.foreach(_.clear())
    if (isOpen) worker.send(Json.obj("clear" -> true))
  }
}

object FoldBatcher {
  private val BatchesBetween = 16
}
