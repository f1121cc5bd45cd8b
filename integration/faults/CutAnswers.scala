package keyfold.integration

import java.net.{StandardProtocolFamily, UnixDomainSocketAddress}
import java.nio.ByteBuffer
import java.nio.channels.{ServerSocketChannel, SocketChannel}
import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._
import scala.util.Using

import keyfold.spark.{Json, KeyfoldException, Worker}
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection
import org.apache.spark.sql.keyfold.arrow.ArrowBatchReader
import org.apache.spark.sql.types.DataType

/** What the JVM makes of a worker that ends in the middle of an answer: folder (with `answer`: what a worker said,
  * and `log`). Prints how each beginning of it ended, `<bytes> answered` or `<bytes> refused, <kind>`.
  */
object CutAnswers {
  def main(arguments: Array[String]): Unit = {
    val folder = Path.of(arguments(0))
    val whole = Files.readAllBytes(folder.resolve("answer"))
    val address = UnixDomainSocketAddress.of(folder.resolve("socket"))
    Using.resource(ServerSocketChannel.open(StandardProtocolFamily.UNIX)) { listener =>
      listener.bind(address): Unit
      for (length <- 0 to whole.length) {
        val ended =
          try {
            read(listener, address, whole.take(length), folder.resolve("log"))
            "answered"
          } catch { case refused: KeyfoldException => s"refused, ${refused.kind}" }
        println(s"$length $ended")
      }
    }
    sys.exit(0)
  }

  /** Reads an answer as a task does that reads a table. */
  private def read(listener: ServerSocketChannel, address: UnixDomainSocketAddress, said: Array[Byte],
      log: Path): Unit =
    Using.resource(SocketChannel.open(address)) { channel =>
      Using.resource(listener.accept()) { peer =>
        val left = ByteBuffer.wrap(said)
        while (left.hasRemaining) peer.write(left): Unit
        peer.shutdownOutput(): Unit
        val worker = new Worker(channel, 1, log, Set.empty)
        worker.ask(Json.obj("question" -> "read")): Unit
        Using.resource(new ArrowBatchReader(worker.in)) { batches =>
          while (worker.alive(batches.next())) {
            val kinds: Array[DataType] =
              (0 until batches.current.numCols).map(batches.current.column(_).dataType).toArray
            val kept = UnsafeProjection.create(kinds)
            batches.current.rowIterator.asScala.foreach(row => kept(row): Unit)
          }
        }
        worker.answer(): Unit
      }
    }
}
