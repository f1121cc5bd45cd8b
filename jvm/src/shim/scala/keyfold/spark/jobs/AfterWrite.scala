package keyfold.spark.jobs

import scala.collection.mutable
import scala.util.control.NonFatal

import com.fasterxml.jackson.databind.JsonNode
import keyfold.spark.table.KeyfoldTable
import org.apache.spark.sql.SparkSession
import org.slf4j.LoggerFactory

/** Driver side: the compaction that a write runs after its commit, in the buckets it touched. The
  * write has succeeded even if it fails. If writes of one table end at once, one compacts and the others leave
  * their buckets to the next: two would rewrite the same files, and one of them would lose. A write whose
  * changes a changelog awaits leaves nothing: it takes its turn, and compacts again after a conflict.
  */
object AfterWrite {
  private val log = LoggerFactory.getLogger("keyfold.spark.AfterWrite")
  private val Inherited = Seq("spark.jobGroup.id", "spark.job.interruptOnCancel", "spark.sql.execution.id")
  private val MostBehind = 32
  private val Tries = 10
  private val atWork = mutable.Map.empty[String, Work]
  private val waiting = mutable.Map.empty[String, Set[JsonNode]]

  /** A compaction under way: how many epochs were committed meanwhile, and its thread if it has one of its own. */
  private final class Work {
    var epochs = 0
    @volatile var thread: Option[Thread] = None
  }

  /** `touched` is from Python's answer to commit_write: none where nothing is to be compacted. */
  def compact(table: KeyfoldTable, touched: Seq[JsonNode], isAwaited: Boolean): Unit = if (touched.nonEmpty) {
    val key = keyOf(table)
    if (isAwaited) turn(key)
    begin(key, touched.toSet) match {
      case Some((_, buckets)) => try run(table, buckets, if (isAwaited) Tries else 1) finally end(key)
      case None => if (isAwaited) compact(table, touched, isAwaited) // another was quicker
    }
  }

  /** The same for an epoch of a stream, on a thread of its own: the next epochs do not wait for it, unless
    * MostBehind were committed since it began, or a changelog awaits it.
    */
  def compactLater(table: KeyfoldTable, touched: Seq[JsonNode], isAwaited: Boolean): Unit = if (isAwaited)
    compact(table, touched, isAwaited)
  else if (touched.nonEmpty) {
    val key = keyOf(table)
    begin(key, touched.toSet) match {
      case Some((work, buckets)) => start(table, key, work, buckets)
      case None => behind(key).foreach(_.join())
    }
  }

  private def start(table: KeyfoldTable, key: String, work: Work, buckets: Set[JsonNode]): Unit = {
    val context = SparkSession.active.sparkContext
    val thread = new Thread(() => {
      Inherited.foreach(context.setLocalProperty(_, null)) // a query that is stopped cancels its own jobs only
      try {
        run(table, buckets, 1)
        Iterator.continually(left(key)).takeWhile(_.nonEmpty).foreach(run(table, _, 1))
      } finally end(key)
    }, s"keyfold-compaction ${table.name()}")
    thread.setDaemon(true)
    work.thread = Some(thread)
    thread.start()
  }

  private def run(table: KeyfoldTable, buckets: Set[JsonNode], tries: Int): Unit =
    try {
      val isDone = Iterator.fill(tries)(isSettled(table, buckets)).contains(true)
      if (!isDone && tries > 1)
        log.warn(s"${table.name()}: other jobs replaced files of each of $tries compactions; the rows are written, "
          + "and the next write, or CALL sys.compact, tells their changes")
    } catch {
      case _: InterruptedException =>
        log.warn(s"${table.name()}: the compaction after a write was interrupted; the rows are written")
        Thread.currentThread.interrupt()
      case NonFatal(failure) =>
        log.warn(s"${table.name()}: the compaction after a write failed; the rows are written, and the "
          + "next write tries again", failure)
    }

  /** Compacts; whether no other job was in the way. */
  private def isSettled(table: KeyfoldTable, buckets: Set[JsonNode]): Boolean = {
    val compaction = new Compaction(table)
    val plan = compaction.plan("strategy" -> "auto", "touched" -> buckets.toSeq)
    plan.steps.isEmpty || !compaction.run(plan, "compact after a write").exists(_.isConflict)
  }

  private def keyOf(table: KeyfoldTable) = s"${table.questions.name} ${table.name()} ${table.id()}"

  /** The buckets to compact, those that others left among them; None while another is at work. */
  private def begin(key: String, touched: Set[JsonNode]): Option[(Work, Set[JsonNode])] = synchronized {
    val buckets = waiting.getOrElse(key, Set.empty) ++ touched
    atWork.get(key) match {
      case None =>
        waiting.remove(key): Unit
        val work = new Work
        atWork(key) = work
        Some(work -> buckets)
      case Some(work) =>
        work.epochs += 1
        waiting(key) = buckets
        None
    }
  }

  /** What others left meanwhile, which is compacted now. */
  private def left(key: String): Set[JsonNode] = synchronized {
    atWork(key).epochs = 0
    waiting.remove(key).getOrElse(Set.empty)
  }

  private def behind(key: String): Option[Thread] = synchronized {
    atWork.get(key).filter(_.epochs >= MostBehind).flatMap(_.thread)
  }

  /** Waits until no other is at work. */
  private def turn(key: String): Unit = synchronized(while (atWork.contains(key)) wait())

  private def end(key: String): Unit = synchronized {
    atWork.remove(key): Unit
    notifyAll()
  }
}
