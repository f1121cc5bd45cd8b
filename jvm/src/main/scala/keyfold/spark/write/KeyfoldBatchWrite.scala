package keyfold.spark.write

import com.fasterxml.jackson.databind.JsonNode
import keyfold.spark.{Json, KeyfoldException}
import keyfold.spark.jobs.AfterWrite
import keyfold.spark.metrics.WriteMetrics
import keyfold.spark.processes.Uninterrupted
import org.apache.spark.sql.connector.write.{BatchWrite, DataWriterFactory, PhysicalWriteInfo, WriterCommitMessage}
import org.apache.spark.sql.types.StructType

/** Driver side: one job of a write: planned once, then committed or aborted once. A commit is followed by
  * the compaction of what it touched.
  */
final class KeyfoldBatchWrite(write: KeyfoldWrite, schema: StructType) extends BatchWrite {
  private lazy val planned: String = write.planned()

  override def createBatchWriterFactory(info: PhysicalWriteInfo): DataWriterFactory =
    KeyfoldWriterFactory(planned, schema)

  override def commit(messages: Array[WriterCommitMessage]): Unit = {
    val committed =
      try finish("commit_write", messages)
      catch { // the next process looks whether the one that died had published
        case failure: Exception if KeyfoldException.isDeath(failure) =>
          Uninterrupted(finish("commit_write", messages, "again" -> true))
      }
    val reported = messages.toSeq.collect { case KeyfoldCommitMessage(_, metrics) => Json.parse(metrics) }
    write.figures = WriteMetrics.ofJob(reported)
    AfterWrite.compact(write.table, Json.items(committed.get("touched")))
  }

  override def abort(messages: Array[WriterCommitMessage]): Unit =
    Uninterrupted(finish("abort_write", messages)): Unit

  private def finish(question: String, messages: Array[WriterCommitMessage], more: (String, Any)*): JsonNode = {
    val reported = messages.toSeq.collect { case KeyfoldCommitMessage(json, _) => Json.parse(json) }
    write.table.questions.ask(question, Seq("write" -> Json.parse(planned), "messages" -> reported) ++ more: _*)
  }
}

/** Both sides: what one task wrote and what it took, in Python's own words. */
final case class KeyfoldCommitMessage(json: String, metrics: String) extends WriterCommitMessage
