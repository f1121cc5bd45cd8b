package keyfold.spark.write

import com.fasterxml.jackson.databind.JsonNode
import keyfold.spark.Json
import keyfold.spark.jobs.AfterWrite
import keyfold.spark.metrics.WriteMetrics
import org.apache.spark.sql.connector.write._

/** Driver side: the job of a statement. A commit is followed by the compaction of what it touched. */
class KeyfoldBatchWrite(write: ClusteredWrite) extends BatchWrite {
  protected val job = new WriteJob(write, query = None)

  override def createBatchWriterFactory(info: PhysicalWriteInfo): DataWriterFactory = job.factory

  override def commit(messages: Array[WriterCommitMessage]): Unit = committed(messages, Nil)

  override def commit(messages: Array[WriterCommitMessage], summary: WriteSummary): Unit =
    committed(messages, KeyfoldBatchWrite.counts(summary).map("statement" -> _).toSeq)

  private def committed(messages: Array[WriterCommitMessage], more: Seq[(String, Any)]): Unit = {
    val committed = job.commit(messages, more: _*)
    val reported = messages.toSeq.collect { case KeyfoldCommitMessage(_, metrics) => Json.parse(metrics) }
    write.figures = WriteMetrics.ofJob(reported :+ committed)
    AfterWrite.compact(write.table, committed, apart = false)
  }

  override def abort(messages: Array[WriterCommitMessage]): Unit = job.abort(messages)
}

object KeyfoldBatchWrite {
  /** The rows that a statement changed, as far as Spark counted them; None of a plain INSERT. */
  private def counts(summary: WriteSummary): Option[JsonNode] = summary match {
    case merge: MergeSummary => Some(Json.obj("command" -> "MERGE", "inserted" -> merge.numTargetRowsInserted,
        "updated" -> merge.numTargetRowsUpdated, "deleted" -> merge.numTargetRowsDeleted))
    case update: UpdateSummary => Some(Json.obj("command" -> "UPDATE", "updated" -> update.numUpdatedRows))
    case delete: DeleteSummary => Some(Json.obj("command" -> "DELETE", "deleted" -> delete.numDeletedRows))
    case _ => None
  }
}
