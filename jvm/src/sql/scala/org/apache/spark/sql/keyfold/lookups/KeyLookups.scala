package org.apache.spark.sql.keyfold.lookups

import com.fasterxml.jackson.databind.JsonNode
import keyfold.spark.Json
import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.execution.metric.SQLMetric
import org.apache.spark.sql.keyfold.TaskWorker
import org.apache.spark.sql.keyfold.arrow.{ArrowBatchReader, ArrowBatchWriter}

/** Both sides: the figures of a lookup join in Spark's UI. */
final case class LookupFigures(
    rows: SQLMetric, keys: SQLMetric, found: SQLMetric, blind: SQLMetric, ofWorkers: Map[String, SQLMetric])

/** Executor side: the worker that looks keys up for one task, from the first key on. Keys are added, then asked
  * for together; their rows come back in that order, each behind the place of its key.
  */
final class KeyLookups(work: LookupWork, figures: LookupFigures, task: TaskContext) {
  private lazy val worker = new TaskWorker(
    Json.obj("question" -> "lookup", "lookup" -> Json.parse(work.plan), "by" -> work.by), () => close(),
    () => answered.isEmpty || current == null, report(_)).worker
  private var keys: Option[ArrowBatchWriter] = None
  private var answered: Option[ArrowBatchReader] = None
  private var isEmpty = true
  private var at = 0
  private var isTaken = false
  private var current: InternalRow = _

  /** Takes a key; true if it is time to ask. */
  def add(key: UnsafeRow): Boolean = {
    if (keys.isEmpty) keys = Some(new ArrowBatchWriter(work.keySchema, worker.out))
    isEmpty = false
    keys.get.write(key)
  }

  /** Looks up the keys that were added. */
  def ask(): Unit = if (!isEmpty) {
    isEmpty = true
    worker.send(Json.obj("keys" -> true))
    worker.heard(keys.get.finish())
    worker.answer(): Unit
    answered = Some(new ArrowBatchReader(worker.in))
    loadBatch()
  }

  /** The next row of the key at this place, good until the next call; null if it has no more. */
  def next(place: Long): InternalRow = {
    if (isTaken) advance()
    isTaken = current != null && current.getLong(0) == place
    if (isTaken) current else null
  }

  private def advance(): Unit = {
    at += 1
    if (at < answered.get.current.numRows) current = answered.get.current.getRow(at)
    else loadBatch()
  }

  private def loadBatch(): Unit = {
    val rows = answered.get
    var hasMore = worker.alive(rows.next())
    while (hasMore && rows.current.numRows == 0) hasMore = worker.alive(rows.next())
    at = 0
    isTaken = false
    current = if (hasMore) rows.current.getRow(0) else null
    if (!hasMore) worker.answer(): Unit // the error if the rows ended early
  }

  /** To be called when the rows of all keys were taken, before others are asked for. */
  def done(): Unit = {
    require(current == null || isTaken, "more rows than keys")
    answered.foreach { rows =>
      if (current != null) advance()
      require(current == null, "more rows than keys")
      rows.close()
    }
    answered = None
  }

  private def close(): Unit = {
    keys.foreach(_.close())
    answered.foreach(_.close())
  }

  private def report(end: JsonNode): Unit = {
    val reported = end.path("metrics")
    figures.ofWorkers.foreach { case (name, metric) => metric += reported.path(name).asLong }
    task.taskMetrics().inputMetrics.incBytesRead(reported.path("bytes_read").asLong)
  }
}
