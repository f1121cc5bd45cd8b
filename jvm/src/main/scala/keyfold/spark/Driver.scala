package keyfold.spark

import java.nio.channels.ReadableByteChannel

import com.fasterxml.jackson.databind.JsonNode

/** Driver side: asks the one long-lived Python process that knows catalogs, plans and commits. */
object Driver {
  private val pool = new WorkerPool("driver")

  def ask(question: JsonNode): JsonNode = exchange(_.ask(question))

  /** The same where rows follow: an answer, an Arrow stream that `read` reads to its end, an answer. */
  def rows[T](question: JsonNode)(read: ReadableByteChannel => T): T = exchange { worker =>
    worker.ask(question): Unit
    val found = worker.alive(read(worker.in))
    worker.answer(): Unit
    found
  }

  private def exchange[T](asked: Worker => T): T = {
    val lease = pool.take()
    try {
      val answer = asked(lease.worker)
      lease.giveBack()
      answer
    } catch {
      case reported: KeyfoldException =>
        lease.giveBack()
        throw reported
    } finally lease.drop()
  }

  def warm(): Unit = ask(Json.obj("question" -> "warm")): Unit
}
