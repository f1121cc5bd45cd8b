package keyfold.spark.write

import keyfold.spark.{Json, Unshown}
import keyfold.spark.metrics.Figure
import keyfold.spark.processes.{Lease, WorkerPool}
import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.metric.CustomTaskMetric
import org.apache.spark.sql.connector.write.{DataWriter, DataWriterFactory, WriterCommitMessage}
import org.apache.spark.sql.keyfold.arrow.ArrowBatchWriter
import org.apache.spark.sql.keyfold.writes.SlotBatches
import org.apache.spark.sql.types.StructType

/** Executor side: sends the rows of one task to a worker as Arrow batches; what the worker wrote
  * comes back at commit. A task without rows takes no worker. With `areBatches` the rows have been made
  * batches before the shuffle (see SlotBatches).
  */
final class KeyfoldDataWriter(
    write: String, schema: StructType, partitionId: Int, taskId: Long, areBatches: Boolean = false)
    extends DataWriter[InternalRow] {

  private var opened: Option[Stream] = None
  private var taken = 0L

  private final class Stream(val lease: Lease) {
    val rows = new ArrowBatchWriter(schema, lease.worker.out)

    /** Ends the rows, says whether to keep them, and returns the worker's answer. */
    def end(commit: Boolean): KeyfoldCommitMessage = {
      lease.worker.heard(rows.finish())
      rows.close()
      val answer = lease.worker.ask(Json.obj("commit" -> commit))
      lease.giveBack()
      KeyfoldCommitMessage(Json.strings(answer.get("tasks")), Json.text(answer.path("metrics")))
    }

    def drop(): Unit = {
      rows.close()
      lease.drop()
    }
  }

  override def write(row: InternalRow): Unit = {
    val stream = opened.getOrElse(open())
    taken += (if (areBatches) SlotBatches.rows(row) else 1)
    if (areBatches) send(stream, _.pass(SlotBatches.bytes(row)))
    else if (stream.rows.write(row)) send(stream, _.flush())
  }

  /** The rows taken, by the name of Spark's own figure of a task. */
  override def currentMetricsValues(): Array[CustomTaskMetric] = Array(Figure("recordsWritten", taken))

  override def commit(): WriterCommitMessage =
    opened.fold(KeyfoldCommitMessage(Nil, "{}"))(_.end(commit = true))

  override def abort(): Unit = opened.foreach(_.drop())
  override def close(): Unit = opened.foreach(_.drop())

  private def open(): Stream = {
    val stream = new Stream(WorkerPool.ofTasks.take(TaskContext.get()))
    opened = Some(stream)
    val task = Json.obj("partition" -> partitionId, "attempt" -> taskId)
    stream.lease.worker.ask(Json.obj("question" -> "write", "write" -> Json.parse(write), "task" -> task)): Unit
    stream
  }

  /** Sends a batch. A worker that speaks before it is asked has failed. */
  private def send(stream: Stream, batch: ArrowBatchWriter => Unit): Unit = {
    lazy val worker = stream.lease.worker
    worker.heard(batch(stream.rows))
    if (worker.hasAnswered) worker.answer(): Unit
  }
}

/** Executor side: opens one writer per task; carries the job's plan. */
final case class KeyfoldWriterFactory(write: String, schema: StructType, areBatches: Boolean)
    extends DataWriterFactory with Unshown {
  override def createWriter(partitionId: Int, taskId: Long): DataWriter[InternalRow] =
    new KeyfoldDataWriter(write, schema, partitionId, taskId, areBatches)
}
