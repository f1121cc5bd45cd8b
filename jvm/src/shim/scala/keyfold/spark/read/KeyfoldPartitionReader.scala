package keyfold.spark.read

import com.fasterxml.jackson.databind.JsonNode
import keyfold.spark.{Json, Unshown}
import keyfold.spark.metrics.ScanMetrics
import keyfold.spark.processes.WorkerPool
import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.metric.CustomTaskMetric
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReader, PartitionReaderFactory}
import org.apache.spark.sql.keyfold.arrow.ArrowBatchReader
import org.apache.spark.sql.vectorized.ColumnarBatch

/** Executor side, or the driver's where no task asks: the batches of one task, as a worker sends them. The worker
  * goes back to the pool when its stream and its closing answer are read; otherwise its connection is closed.
  */
final class KeyfoldPartitionReader(scan: String, splits: String, name: String)
    extends PartitionReader[ColumnarBatch] {
  private lazy val lease = Option(TaskContext.get()).fold(WorkerPool.ofTasks.take())(WorkerPool.ofTasks.take)
  private lazy val batches = open()
  private var metrics: Array[CustomTaskMetric] = Array.empty
  private var rows = 0L
  private var isDone = false
  private var isOpened = false

  override def next(): Boolean = !isDone && {
    val hasNext = lease.worker.alive(batches.next())
    if (hasNext) rows += batches.current.numRows
    else finish()
    hasNext
  }

  override def get(): ColumnarBatch = batches.current

  /** The worker's figures, which it sends last; until then the rows: LIMIT does not read to the end. */
  override def currentMetricsValues(): Array[CustomTaskMetric] =
    if (metrics.nonEmpty) metrics else Array(ScanMetrics.rows(rows))

  override def close(): Unit = {
    isDone = true
    if (isOpened) try batches.close() finally lease.drop()
  }

  private def open(): ArrowBatchReader = {
    val question = Json.obj("question" -> name, "scan" -> Json.parse(scan), "splits" -> Json.parse(splits))
    try lease.worker.ask(question): Unit
    catch { case failure: Throwable => lease.drop(); throw failure } // no task's end would do it beside the driver
    isOpened = true
    new ArrowBatchReader(lease.worker.in)
  }

  private def finish(): Unit = {
    isDone = true
    val trailer: JsonNode = lease.worker.answer()
    metrics = ScanMetrics.ofTask(trailer.path("metrics"))
    batches.close()
    lease.giveBack()
  }
}

/** Executor side: opens readers of batches. */
trait BatchReaderFactory extends PartitionReaderFactory {
  override def supportColumnarReads(partition: InputPartition): Boolean = true

  override def createReader(partition: InputPartition): PartitionReader[InternalRow] =
    throw new UnsupportedOperationException("keyfold reads columnar batches only")
}

/** Executor side: carries the scan, which all splits share, and the name of the question. */
final case class KeyfoldReaderFactory(scan: String, question: String = "read") extends BatchReaderFactory with Unshown {
  override def createColumnarReader(partition: InputPartition): PartitionReader[ColumnarBatch] =
    new KeyfoldPartitionReader(scan, partition.asInstanceOf[KeyfoldInputPartition].splits, question)
}

object KeyfoldReaderFactory {
  val Changes = "read_changes"
}
