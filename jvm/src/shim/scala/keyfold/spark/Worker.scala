package keyfold.spark

import java.io.{EOFException, IOException}
import java.net.SocketException
import java.nio.ByteBuffer
import java.nio.channels.{AsynchronousCloseException, ReadableByteChannel, SocketChannel, WritableByteChannel}
import java.nio.file.Path

import com.fasterxml.jackson.databind.JsonNode
import keyfold.spark.processes.Frames

/** Both sides: one connection to one Python worker; questions and answers are frames, batches are
  * Arrow IPC streams between them. Closing it from another thread ends a read or write under way. The
  * questions in `repeatable` change nothing.
  */
final class Worker(channel: SocketChannel, val pid: Long, errors: Path, val repeatable: Set[String])
    extends AutoCloseable {
  private val peeked = ByteBuffer.allocate(1).limit(0)
  @volatile private var closed = false

  /** Sends a question and returns its answer's "ok"; throws its "error". */
  def ask(question: JsonNode): JsonNode = {
    send(question)
    answer()
  }

  def send(frame: JsonNode): Unit = heard(Frames.write(channel, frame))

  def answer(): JsonNode = alive(Frames.answer(in))

  /** Runs an exchange over `in` and `out`; an end of the connection, or half a frame, becomes an error that says
    * why.
    */
  def alive[T](exchange: => T): T =
    try exchange
    catch {
      case interrupted: AsynchronousCloseException => throw interrupted
      case failure: IOException if !closed => throw died(failure)
    }

  /** Runs an exchange that only sends: a worker that ended may have said why, and that counts. */
  def heard[T](sending: => T): T =
    alive {
      try sending
      catch {
        case interrupted: AsynchronousCloseException => throw interrupted
        case failure: IOException if !closed =>
          throw lastWords().getOrElse(failure)
      }
    }

  private def lastWords(): Option[KeyfoldException] =
    try Option(Frames.read(in).get("error")).map(KeyfoldException.fromAnswer)
    catch { case _: IOException | _: KeyfoldException => None }

  val out: WritableByteChannel = channel

  /** The bytes that the worker sends, the one that `hasAnswered` took included. Their end is an EOFException: a
    * stream that is read from them ends before, and Arrow does not look how much of a length it got.
    */
  val in: ReadableByteChannel = new ReadableByteChannel {
    override def read(target: ByteBuffer): Int =
      if (peeked.hasRemaining) { target.put(peeked); 1 }
      else {
        val got = channel.read(target)
        if (got < 0) throw new EOFException("the worker closed its connection")
        got
      }
    override def isOpen: Boolean = channel.isOpen
    override def close(): Unit = channel.close()
  }

  /** Whether the worker has sent something (or ended) that was not read yet; does not wait. */
  def hasAnswered: Boolean = peeked.hasRemaining || {
    channel.configureBlocking(false)
    val got =
      try channel.read(peeked.clear())
      catch { case _: SocketException => -1 }
      finally channel.configureBlocking(true): Unit
    peeked.flip()
    got != 0
  }

  def isOpen: Boolean = channel.isOpen

  override def close(): Unit = {
    closed = true
    channel.close()
  }

  private def died(failure: IOException): KeyfoldException = {
    close()
    val tail = Errors.ofWorker(errors)
    KeyfoldException.death(s"the Python worker (process $pid) died$tail", failure)
  }
}
