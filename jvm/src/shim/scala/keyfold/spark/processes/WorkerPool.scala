package keyfold.spark.processes

import java.nio.channels.SocketChannel
import java.util.ArrayDeque
import java.util.concurrent.atomic.{AtomicBoolean, AtomicReference}

import keyfold.spark.{Settings, Worker}
import org.apache.spark.TaskContext

/** Both sides: idle workers of one role, used again for the next question and closed after a minute. */
final class WorkerPool(role: String) {
  import WorkerPool._

  private val idle = new ArrayDeque[Idle]()
  private var isSweeping = false

  /** An idle worker of the server that runs now, else a new one. */
  def take(): Lease = take((_: SocketChannel) => ())

  /** A worker for a task: it is closed when the task is killed or ends before it is back, and no
    * longer waited for when it is killed.
    */
  def take(task: TaskContext): Lease = {
    val awaited = new AtomicReference[SocketChannel]()
    val lease = take { (channel: SocketChannel) =>
      awaited.set(channel)
      task.addTaskInterruptListener((_, _) => Option(awaited.getAndSet(null)).foreach(_.close())): Unit
    }
    awaited.set(null) // what comes later may close the lease alone: the worker can be another task's
    task.addTaskInterruptListener((_, _) => lease.drop()): Unit
    task.addTaskCompletionListener[Unit](_ => lease.drop()): Unit
    lease
  }

  private def take(opened: SocketChannel => Unit): Lease = {
    val server = ForkServer.current()
    val memory = if (role == "worker") Settings.workerMemory else None
    val worker = reuse(server, memory).getOrElse(server.connect(role, memory, opened))
    new Lease(worker, worker => keep(new Idle(worker, server, memory, System.nanoTime)))
  }

  /** Closes what is idle. */
  def clear(): Unit = synchronized {
    idle.forEach(_.worker.close())
    idle.clear()
  }

  /** The worker that became idle last, of this server and with this memory. */
  private def reuse(server: ForkServer, memory: Option[Long]): Option[Worker] = synchronized {
    var found: Option[Worker] = None
    val entries = idle.iterator
    while (found.isEmpty && entries.hasNext) {
      val entry = entries.next()
      if (entry.memory == memory) {
        entries.remove()
        if ((entry.server eq server) && !entry.worker.hasAnswered) found = Some(entry.worker)
        else entry.worker.close()
      }
    }
    found
  }

  private def keep(entry: Idle): Unit = synchronized {
    idle.push(entry)
    if (!isSweeping) {
      isSweeping = true
      Threads.begin(s"keyfold-idle-$role")(while (sweep()) Thread.sleep(SweepMillis))
    }
  }

  /** Closes what has been idle too long; false when nothing idle is left. */
  private def sweep(): Boolean = synchronized {
    val oldest = System.nanoTime - IdleNanos
    while (!idle.isEmpty && idle.peekLast.since < oldest) idle.pollLast().worker.close()
    isSweeping = !idle.isEmpty
    isSweeping
  }
}

object WorkerPool {
  private val SweepMillis = 5000L
  private val IdleNanos = 60L * 1000 * 1000 * 1000

  /** Executor side: the workers that read and write. */
  val ofTasks = new WorkerPool("worker")

  private final class Idle(val worker: Worker, val server: ForkServer, val memory: Option[Long], val since: Long)
}

/** Both sides: a worker in one pair of hands: given back to its pool when its last question ended
  * cleanly, else dropped. Only the first of the two counts.
  */
final class Lease(val worker: Worker, keep: Worker => Unit) {
  private val isHeld = new AtomicBoolean(true)

  def giveBack(): Unit = if (isHeld.getAndSet(false) && worker.isOpen) keep(worker)
  def drop(): Unit = if (isHeld.getAndSet(false)) worker.close()
}
