package keyfold.spark.jobs

import scala.util.control.NonFatal

import com.fasterxml.jackson.databind.JsonNode
import keyfold.spark.Json
import keyfold.spark.processes.Threads
import keyfold.spark.table.KeyfoldTable
import org.apache.spark.sql.SparkSession
import org.slf4j.LoggerFactory

/** Driver side: the compaction that a write runs after its commit, in the buckets it touched, when Python gives it
  * its turn. The write has succeeded even if it fails.
  */
object AfterWrite {
  private val log = LoggerFactory.getLogger("keyfold.spark.AfterWrite")
  private val Inherited = Seq("spark.jobGroup.id", "spark.job.interruptOnCancel", "spark.sql.execution.id")

  /** `committed` is Python's answer to commit_write: it touched nothing where nothing is to be compacted. With `apart`,
    * after an epoch of a stream, Python may go on with it while the next epochs are written.
    */
  def compact(table: KeyfoldTable, committed: JsonNode, apart: Boolean): Unit =
    if (Json.items(committed.get("touched")).nonEmpty) logged(table) {
      PythonJob.begin(table.questions, Some(table), "compact_after_write", again = true,
        "touched" -> committed.get("touched"), "awaited" -> committed.path("awaited").asBoolean,
        "apart" -> apart)(_.run(work => start(table)(work())))
    }

  /** A thread of its own: a query that is stopped cancels its own jobs only. */
  private def start(table: KeyfoldTable)(work: => Unit): Unit = {
    val context = SparkSession.active.sparkContext
    Threads.begin(s"keyfold-compaction ${table.name()}") {
      Inherited.foreach(context.setLocalProperty(_, null))
      logged(table)(work)
    }
  }

  private def logged(table: KeyfoldTable)(work: => Unit): Unit =
    try work
    catch {
      case _: InterruptedException =>
        log.warn(s"${table.name()}: the compaction after a write was interrupted; the rows are written")
        Thread.currentThread.interrupt()
      case NonFatal(failure) =>
        log.warn(s"${table.name()}: the compaction after a write failed; the rows are written, and the "
          + "next write tries again", failure)
    }
}
