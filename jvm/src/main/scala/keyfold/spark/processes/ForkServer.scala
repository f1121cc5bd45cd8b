package keyfold.spark.processes

import java.io.IOException
import java.net.{StandardProtocolFamily, UnixDomainSocketAddress}
import java.nio.channels.SocketChannel
import java.nio.file.{InvalidPathException, Path}
import java.util.concurrent.TimeUnit

import keyfold.spark.{Errors, Json, KeyfoldException, Settings, Worker}

/** Both sides: the warmed Python process of this JVM; each connection to it is a forked worker.
  * It ends when this JVM does: its standard input is a pipe that closes then.
  */
final class ForkServer(process: Process, directory: Path, token: String) {
  private val address = UnixDomainSocketAddress.of(directory.resolve("fork.sock"))

  def isAlive: Boolean = process.isAlive

  /** A new worker of the role "worker" or "driver". Who closes the channel that `opened` is told of ends the
    * wait for it.
    */
  def connect(role: String, opened: SocketChannel => Unit): Worker = {
    val memory = if (role == "worker") Settings.workerMemory else None
    val channel = SocketChannel.open(StandardProtocolFamily.UNIX)
    try {
      opened(channel)
      channel.connect(address): Unit
      Frames.write(channel, Json.obj("token" -> token, "role" -> role, "memory" -> memory))
      val welcome = Frames.answer(channel)
      new Worker(channel, welcome.path("pid").asLong, log(welcome.path("stderr").asText))
    } catch {
      case refused: KeyfoldException =>
        channel.close()
        throw refused
      case failure: IOException =>
        channel.close()
        throw KeyfoldException.death("keyfold's fork server gave no worker; the end of "
          + s"its standard error:\n${Errors.tail(directory.resolve(ForkServer.ErrorFile))}", failure)
    }
  }

  private def log(path: String): Path =
    try Path.of(path)
    catch { case failure: InvalidPathException => throw KeyfoldException.foreign("no path of a log", failure) }

  def stop(): Unit = {
    process.getOutputStream.close()
    if (!process.waitFor(2, TimeUnit.SECONDS)) process.destroyForcibly(): Unit
  }
}

object ForkServer {
  val ErrorFile = "server.err"
  private var running: Option[ForkServer] = None

  /** The server of this JVM: started at first use, and again should it have died. */
  def current(): ForkServer = synchronized {
    running.filter(_.isAlive).getOrElse {
      if (running.isEmpty) sys.addShutdownHook(stopRunning()): Unit
      val started = Launch.start(Interpreter.current())
      running = Some(started)
      started
    }
  }

  /** Driver side: starts server and driver process while Spark does other things; whoever needs
    * them next meets the error, should there be one.
    */
  def startInBackground(): Unit = {
    val thread = new Thread(() =>
      try Driver.warm() catch { case _: Exception => () }, "keyfold-start")
    thread.setDaemon(true)
    thread.start()
  }

  private def stopRunning(): Unit = running.foreach(_.stop())
}
