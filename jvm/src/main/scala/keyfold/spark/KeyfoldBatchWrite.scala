package keyfold.spark

import org.apache.spark.sql.connector.write.{BatchWrite, DataWriterFactory, PhysicalWriteInfo, WriterCommitMessage}
import org.apache.spark.sql.types.StructType

/** Driver side: one job of a write: planned once, then committed or aborted once. */
final class KeyfoldBatchWrite(write: KeyfoldWrite, schema: StructType) extends BatchWrite {
  private lazy val planned: String = write.planned()

  override def createBatchWriterFactory(info: PhysicalWriteInfo): DataWriterFactory =
    KeyfoldWriterFactory(planned, schema)

  override def commit(messages: Array[WriterCommitMessage]): Unit = {
    finish("commit_write", messages)
    val told = messages.toSeq.collect { case KeyfoldCommitMessage(_, metrics) => Json.parse(metrics) }
    write.figures = WriteMetrics.ofJob(told)
  }

  override def abort(messages: Array[WriterCommitMessage]): Unit = finish("abort_write", messages)

  private def finish(question: String, messages: Array[WriterCommitMessage]): Unit = {
    val told = messages.toSeq.collect { case KeyfoldCommitMessage(json, _) => Json.parse(json) }
    write.table.questions.ask(question, "write" -> Json.parse(planned), "messages" -> told): Unit
  }
}

/** Both sides: what one task wrote and what it took, in Python's own words. */
final case class KeyfoldCommitMessage(json: String, metrics: String) extends WriterCommitMessage
