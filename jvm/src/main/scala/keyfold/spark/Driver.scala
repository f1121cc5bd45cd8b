package keyfold.spark

import com.fasterxml.jackson.databind.JsonNode

/** Driver side: asks the one long-lived Python process that knows catalogs, plans and commits. */
object Driver {
  private val pool = new WorkerPool("driver")

  def ask(question: JsonNode): JsonNode = {
    val lease = pool.take()
    try {
      val answer = lease.worker.ask(question)
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
