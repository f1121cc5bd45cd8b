package keyfold.spark.processes

import com.fasterxml.jackson.databind.JsonNode
import keyfold.spark.{Json, KeyfoldException}

/** Driver side: a question about which Python asks back, one request at a time, until it has its answer. It holds
  * its connection: Python gives up what it does when that closes.
  */
final class Talk private[processes] (lease: Lease, question: JsonNode) {
  private var heard = hear(lease.worker.ask(question))

  /** The request that Python waits for, None at the end. */
  def request: Option[JsonNode] = if (heard.has("request")) Some(heard) else None

  /** The answer to the question: the end of a talk, or what came in place of a request. */
  def end: JsonNode = if (heard.has("end")) heard.get("end") else heard

  def reply(fields: (String, Any)*): Unit = heard = hear(lease.worker.ask(Json.obj(fields: _*)))

  /** Leaves; the connection is used again if Python has ended. */
  def close(): Unit = {
    if (request.isEmpty) lease.giveBack()
    lease.drop()
  }

  private def hear(said: => JsonNode): JsonNode =
    try said
    catch {
      case failure: Throwable => // one that Python reports ends the talk
        if (failure.isInstanceOf[KeyfoldException]) lease.giveBack() else lease.drop()
        throw failure
    }
}
