package keyfold.spark.processes

import java.io.IOException
import java.net.{StandardProtocolFamily, UnixDomainSocketAddress}
import java.nio.channels.{AsynchronousCloseException, SocketChannel}
import java.nio.file.Path
import java.util.concurrent.{CompletableFuture, CompletionException, ExecutionException, TimeoutException, TimeUnit}

import keyfold.spark.{Errors, Json, KeyfoldException, Worker}
import org.apache.spark.{TaskContext, TaskKilledException}

/** Both sides: the warmed Python process of this JVM; each connection to it is a forked worker.
  * It ends when this JVM does: its standard input is a pipe that closes then.
  */
final class ForkServer(process: Process, directory: Path, token: String) {
  private val address = UnixDomainSocketAddress.of(directory.resolve("fork.sock"))

  def isAlive: Boolean = process.isAlive

  /** A new worker of the role "worker" or "driver", which may take `memory` bytes. The channel is given to
    * `opened` first: closing it ends the wait for the worker.
    */
  def connect(role: String, memory: Option[Long], opened: SocketChannel => Unit): Worker = {
    val channel = SocketChannel.open(StandardProtocolFamily.UNIX)
    try {
      opened(channel)
      channel.connect(address): Unit
      Frames.write(channel, Json.obj("token" -> token, "role" -> role, "memory" -> memory))
      val welcome = Frames.answer(channel)
      new Worker(channel, welcome.path("pid").asLong, Path.of(welcome.path("stderr").asText),
        Json.strings(welcome.get("repeatable")).toSet)
    } catch {
      case stopped @ (_: KeyfoldException | _: AsynchronousCloseException) => // refused, or the task was killed
        channel.close()
        throw stopped
      case failure: IOException =>
        channel.close()
        val ended = Errors.ofServer(process, directory.resolve(ForkServer.ErrorFile))
        throw KeyfoldException.death(s"keyfold's fork server gave no worker (run it again: another is "
          + s"started): $ended", failure)
    }
  }

  def stop(): Unit = {
    process.getOutputStream.close()
    if (!process.waitFor(2, TimeUnit.SECONDS)) process.destroyForcibly(): Unit
  }
}

object ForkServer {
  private val ErrorFile = "server.err"
  private val PollMillis = 100L
  private var running: Option[CompletableFuture[ForkServer]] = None

  /** The server of this JVM: started at first use, and again should it have died. A task that is killed, or a
    * thread that is interrupted, no longer waits for it.
    */
  def current(): ForkServer = {
    val starting = started()
    while (!starting.isDone) {
      try starting.get(PollMillis, TimeUnit.MILLISECONDS): Unit
      catch { case _: TimeoutException | _: ExecutionException => () }
      Option(TaskContext.get()).filter(_.isInterrupted()).foreach(_ => throw new TaskKilledException())
    }
    try starting.join()
    catch { case failed: CompletionException => throw failed.getCause }
  }

  private def started(): CompletableFuture[ForkServer] = synchronized {
    running.filter(isUsable).getOrElse {
      if (running.isEmpty) sys.addShutdownHook(stopRunning()): Unit
      val starting = new CompletableFuture[ForkServer]
      val python = Interpreter.current()
      inBackground {
        try starting.complete(Launch.start(python)): Unit
        catch { case failure: Throwable => starting.completeExceptionally(failure): Unit }
      }
      running = Some(starting)
      starting
    }
  }

  /** Whether it is being started, or alive. */
  private def isUsable(server: CompletableFuture[ForkServer]): Boolean =
    !server.isDone || (!server.isCompletedExceptionally && server.join().isAlive)

  /** Driver side: starts server and driver process while Spark does other things; whoever needs
    * them next meets the error, should there be one.
    */
  def startInBackground(): Unit = inBackground {
    try Driver.warm() catch { case _: Exception => () }
  }

  private def inBackground(work: => Unit): Unit = Threads.begin("keyfold-start")(work)

  private def stopRunning(): Unit = running.filter(server => server.isDone && isUsable(server)).foreach(_.join().stop())
}
