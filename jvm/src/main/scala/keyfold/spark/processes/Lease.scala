package keyfold.spark.processes

import keyfold.spark.Worker

/** Both sides: a worker in one pair of hands: given back to its pool when its last question ended
  * cleanly, else dropped. Only the first of the two counts.
  */
final class Lease(val worker: Worker, keep: Worker => Unit) {
  private var isHeld = true

  def giveBack(): Unit = if (release() && worker.isOpen) keep(worker)
  def drop(): Unit = if (release()) worker.close()

  private def release(): Boolean = synchronized {
    val was = isHeld
    isHeld = false
    was
  }
}
