package keyfold.spark.processes

import java.nio.channels.ReadableByteChannel

import com.fasterxml.jackson.databind.JsonNode
import keyfold.spark.{Json, KeyfoldException, Worker}

/** Driver side: asks the one long-lived Python process that knows catalogs, plans and commits. */
object Driver {
  private val pool = new WorkerPool("driver")

  /** If the process dies, the next one is asked the same, unless the first may have changed something. */
  def ask(question: JsonNode): JsonNode =
    twice(question)(worker => worker.repeatable(question.path("question").asText))(exchange(_)(_.ask(question)))

  /** Begins a question about which Python asks back. If it may be asked `again`, nothing has changed before it does. */
  def talk(question: JsonNode, again: Boolean): Talk =
    twice(question)(_ => again) { begun =>
      val lease = pool.take()
      begun(lease.worker)
      new Talk(lease, question)
    }

  private def twice[T](question: JsonNode)(isRepeatable: Worker => Boolean)(ask: (Worker => Unit) => T): T = {
    var isOpen = false
    try ask(worker => isOpen = !isRepeatable(worker))
    catch { case died: KeyfoldException if KeyfoldException.isDeath(died) =>
      pool.clear() // connections to the same process
      if (isOpen) throw KeyfoldException.death(s"${died.sentence}\nIt was asked ${question.path("question")}: whether "
        + "that was done is not known. Look at the table before you run the statement again.", died)
      ask(_ => ())
    }
  }

  /** Asks a question that rows follow: an answer, an Arrow stream that `read` reads to its end, an answer. */
  def rows[T](question: JsonNode)(read: ReadableByteChannel => T): T = exchange(_ => ()) { worker =>
    worker.ask(question): Unit
    val found = worker.alive(read(worker.in))
    worker.answer(): Unit
    found
  }

  private def exchange[T](begun: Worker => Unit)(asked: Worker => T): T = {
    val lease = pool.take()
    try {
      begun(lease.worker)
      val answer = asked(lease.worker)
      lease.giveBack()
      answer
    } catch { case reported: KeyfoldException => lease.giveBack(); throw reported }
    finally lease.drop()
  }

  def warm(): Unit = ask(Json.obj("question" -> "warm")): Unit
}
