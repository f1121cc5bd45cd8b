package keyfold.spark.processes

/** Driver side: runs work that has to be done though the thread was interrupted (a cancelled statement deletes its
  * files): a channel closes under a thread that is. The interrupt is put back afterwards.
  */
object Uninterrupted {
  def apply[T](work: => T): T = {
    val wasInterrupted = Thread.interrupted()
    try work
    finally if (wasInterrupted) Thread.currentThread.interrupt()
  }
}
