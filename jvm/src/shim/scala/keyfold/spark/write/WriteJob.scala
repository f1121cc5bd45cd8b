package keyfold.spark.write

import com.fasterxml.jackson.databind.JsonNode
import keyfold.spark.{Json, KeyfoldException}
import keyfold.spark.processes.Threads
import org.apache.spark.sql.connector.write.WriterCommitMessage

/** Driver side: one job of a write: planned once, then committed or aborted once. `query` is the id of the
  * streaming query that it is an epoch of.
  */
final class WriteJob(write: ClusteredWrite, query: Option[String]) {
  lazy val planned: String = write.planned(query)

  def factory: KeyfoldWriterFactory = KeyfoldWriterFactory(planned, write.rowSchema, write.areBatches)

  /** Python's answer to commit_write. */
  def commit(messages: Array[WriterCommitMessage], more: (String, Any)*): JsonNode =
    try finish("commit_write", messages, more)
    catch { // the next process looks whether the one that died had published
      case failure: Exception if KeyfoldException.isDeath(failure) =>
        Threads.uninterrupted(finish("commit_write", messages, more :+ ("again" -> true)))
    }

  def abort(messages: Array[WriterCommitMessage]): Unit =
    Threads.uninterrupted(finish("abort_write", messages, Nil)): Unit

  private def finish(question: String, messages: Array[WriterCommitMessage], more: Seq[(String, Any)]): JsonNode = {
    val texts = messages.toSeq.collect { case KeyfoldCommitMessage(texts, _) => texts }.flatten
    write.table.questions.ask(question, Seq("write" -> Json.parse(planned), "messages" -> texts) ++ more: _*)
  }
}

/** Both sides: the files that one task wrote, and its figures, in Python's own words. */
final case class KeyfoldCommitMessage(texts: Seq[String], metrics: String) extends WriterCommitMessage
