package keyfold.spark.jobs

import scala.collection.mutable
import scala.util.control.NonFatal

import com.fasterxml.jackson.databind.JsonNode
import keyfold.spark.table.KeyfoldTable
import org.slf4j.LoggerFactory

/** Driver side: the compaction that a write runs after its commit, in the buckets it touched. The
  * write has succeeded even if it fails. If writes of one table end at once, one compacts and the others leave
  * their buckets to the next: two would rewrite the same files, and one of them would lose.
  */
object AfterWrite {
  private val log = LoggerFactory.getLogger("keyfold.spark.AfterWrite")
  private val atWork = mutable.Set.empty[String]
  private val waiting = mutable.Map.empty[String, Set[JsonNode]]

  /** `touched` is from Python's answer to commit_write: none where nothing is to be compacted. */
  def compact(table: KeyfoldTable, touched: Seq[JsonNode]): Unit = if (touched.nonEmpty) {
    val key = s"${table.questions.name} ${table.name()} ${table.id()}"
    begin(key, touched.toSet).foreach { buckets =>
      try {
        val compaction = new Compaction(table)
        val plan = compaction.plan("strategy" -> "auto", "touched" -> buckets.toSeq)
        if (plan.steps.nonEmpty) compaction.run(plan, "compact after a write"): Unit
      } catch {
        case _: InterruptedException =>
          log.warn(s"${table.name()}: the compaction after a write was interrupted; the rows are written")
          Thread.currentThread.interrupt()
        case NonFatal(failure) =>
          log.warn(s"${table.name()}: the compaction after a write failed; the rows are written, and the "
            + "next write tries again", failure)
      } finally end(key)
    }
  }

  /** The buckets to compact, those that others left among them; None while another is at work. */
  private def begin(key: String, touched: Set[JsonNode]): Option[Set[JsonNode]] = synchronized {
    val buckets = waiting.getOrElse(key, Set.empty) ++ touched
    if (atWork.add(key)) {
      waiting.remove(key): Unit
      Some(buckets)
    } else {
      waiting(key) = buckets
      None
    }
  }

  private def end(key: String): Unit = synchronized(atWork.remove(key): Unit)
}
