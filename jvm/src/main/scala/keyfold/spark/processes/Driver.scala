package keyfold.spark.processes

import java.nio.channels.ReadableByteChannel

import com.fasterxml.jackson.databind.JsonNode
import keyfold.spark.{Json, KeyfoldException, Worker}

/** Driver side: asks the one long-lived Python process that knows catalogs, plans and commits. */
object Driver {
  private val pool = new WorkerPool("driver")

  /** Questions that change nothing: where the process dies, the next one is asked the same. */
  private val Looks = Set("warm", "list_namespaces", "load_namespace", "list_tables", "load_table", "translate",
    "table_options", "check_given", "check_targets", "check_write", "plan_scan", "plan_write", "plan_compaction", "plan_rescale",
    "table_health", "health_lines")

  def ask(question: JsonNode): JsonNode =
    try exchange(_.ask(question))
    catch { case died: KeyfoldException if KeyfoldException.isDeath(died) =>
      pool.clear() // connections to the same process
      if (!Looks(question.path("question").asText)) throw unknown(question, died)
      exchange(_.ask(question))
    }

  private def unknown(question: JsonNode, died: KeyfoldException): KeyfoldException =
    KeyfoldException.death(s"${died.sentence}\nIt was asked ${question.path("question")}: whether that was "
      + "done is not known. Look at the table before you run the statement again.", died)

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
