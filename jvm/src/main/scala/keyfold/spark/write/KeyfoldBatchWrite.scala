package keyfold.spark.write

import keyfold.spark.Json
import keyfold.spark.jobs.AfterWrite
import keyfold.spark.metrics.WriteMetrics
import org.apache.spark.sql.connector.write.{BatchWrite, DataWriterFactory, PhysicalWriteInfo, WriterCommitMessage}

/** Driver side: the job of a statement. A commit is followed by the compaction of what it touched. */
class KeyfoldBatchWrite(write: ClusteredWrite) extends BatchWrite {
  protected val job = new WriteJob(write, query = None)

  override def createBatchWriterFactory(info: PhysicalWriteInfo): DataWriterFactory = job.factory

  override def commit(messages: Array[WriterCommitMessage]): Unit = {
    val committed = job.commit(messages)
    val reported = messages.toSeq.collect { case KeyfoldCommitMessage(_, metrics) => Json.parse(metrics) }
    write.figures = WriteMetrics.ofJob(reported)
    AfterWrite.compact(write.table, Json.items(committed.get("touched")), committed.path("awaited").asBoolean)
  }

  override def abort(messages: Array[WriterCommitMessage]): Unit = job.abort(messages)
}
