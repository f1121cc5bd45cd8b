package keyfold.spark.processes

/** Both sides: threads of the JVM. */
object Threads {
  /** Begins work on a thread that the end of the JVM does not wait for. */
  def begin(name: String)(work: => Unit): Unit = {
    val thread = new Thread(() => work, name)
    thread.setDaemon(true)
    thread.start()
  }

  /** Driver side: runs work that has to be done though the thread was interrupted (a cancelled statement deletes its
    * files): a channel closes under a thread that is. The interrupt is put back afterwards.
    */
  def uninterrupted[T](work: => T): T = {
    val wasInterrupted = Thread.interrupted()
    try work
    finally if (wasInterrupted) Thread.currentThread.interrupt()
  }
}
