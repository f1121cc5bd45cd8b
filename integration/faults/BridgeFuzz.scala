package keyfold.integration

import java.net.{StandardProtocolFamily, UnixDomainSocketAddress}
import java.nio.ByteBuffer
import java.nio.channels.{ServerSocketChannel, SocketChannel}
import java.nio.file.{Files, Path}
import java.util.Random

import scala.collection.mutable
import scala.jdk.CollectionConverters._
import scala.util.Using

import keyfold.spark.{Json, KeyfoldException, Worker}
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters
import org.apache.spark.sql.catalyst.util.ArrayData
import org.apache.spark.sql.keyfold.ArrowBatchReader
import org.apache.spark.sql.types.{ArrayType, DataType, MapType, StructType}

/** What the JVM makes of damaged answers of a worker: folder (with `answer`: what a worker said, and `log`),
  * inputs, seed, first input. Each must be an answer or a KeyfoldException; anything else is printed.
  */
object BridgeFuzz {
  private val Sizes = Seq(0, 1, 4, 8, Int.MaxValue, Int.MinValue, -2, -1)
  private val PatienceMillis = 60000L
  @volatile private var begun = System.nanoTime
  private var values = 0

  def main(arguments: Array[String]): Unit = {
    val folder = Path.of(arguments(0))
    val Seq(inputs, seed, first) = arguments.toSeq.slice(1, 4).map(_.toLong)
    val said = Files.readAllBytes(folder.resolve("answer"))
    val address = UnixDomainSocketAddress.of(folder.resolve("socket"))
    watch()
    val outcomes = mutable.TreeMap.empty[String, Int]
    Using.resource(ServerSocketChannel.open(StandardProtocolFamily.UNIX)) { listener =>
      listener.bind(address): Unit
      for (place <- first until first + inputs) {
        begun = System.nanoTime
        val damaged = if (place == 0) said else damage(said, new Random(seed * 1000003 + place))
        val outcome =
          try answered(listener, address, damaged, folder.resolve("log"))
          catch {
            case other: Throwable =>
              println(s"FINDING input $place of seed $seed: $other at ${other.getStackTrace.take(6).mkString("; ")}")
              "finding"
          }
        outcomes(outcome) = outcomes.getOrElse(outcome, 0) + 1
      }
    }
    outcomes.foreach { case (outcome, count) => println(s"$count $outcome") }
    sys.exit(0)
  }

  /** Reads an answer as a task does that reads a table. */
  private def answered(listener: ServerSocketChannel, address: UnixDomainSocketAddress, said: Array[Byte],
      log: Path): String =
    Using.resource(SocketChannel.open(address)) { channel =>
      Using.resource(listener.accept()) { peer =>
        val left = ByteBuffer.wrap(said)
        while (left.hasRemaining) peer.write(left): Unit
        peer.shutdownOutput(): Unit
        val worker = new Worker(channel, 1, log)
        try {
          worker.ask(Json.obj("question" -> "read")): Unit
          Using.resource(new ArrowBatchReader(worker.in)) { batches =>
            while (worker.alive(batches.next())) {
              val columns = (0 until batches.current.numCols).map(batches.current.column(_).dataType)
              batches.current.rowIterator.asScala.foreach(row =>
                columns.zipWithIndex.foreach { case (kind, at) => touch(row, at, kind) })
            }
          }
          worker.answer(): Unit
          "answered"
        } catch {
          case refused: KeyfoldException => s"refused, ${refused.kind}"
          case _: ArithmeticException => "a decimal of too many digits"
          case _: UnsupportedOperationException => "a type that no table has"
        }
      }
    }

  /** Looks at a value, those inside it included. */
  private def touch(row: SpecializedGetters, at: Int, kind: DataType): Unit = if (!row.isNullAt(at)) kind match {
    case ArrayType(element, _) => each(row.getArray(at), element)
    case MapType(key, value, _) =>
      each(row.getMap(at).keyArray, key)
      each(row.getMap(at).valueArray, value)
    case struct: StructType =>
      val inside = row.getStruct(at, struct.length)
      struct.fields.zipWithIndex.foreach { case (field, place) => touch(inside, place, field.dataType) }
    case _ => values += row.get(at, kind).hashCode
  }

  private def each(values: ArrayData, kind: DataType): Unit =
    (0 until values.numElements).foreach(touch(values, _, kind))

  private def damage(said: Array[Byte], draw: Random): Array[Byte] =
    if (draw.nextInt(10) == 0) {
      val any = new Array[Byte](Seq(0, 1, 3, 4, 5, 64, 4096)(draw.nextInt(7)))
      draw.nextBytes(any)
      any
    } else (0 until Seq(1, 1, 2, 8)(draw.nextInt(4))).foldLeft(said)((bytes, _) => hurt(bytes, draw))

  private def hurt(bytes: Array[Byte], draw: Random): Array[Byte] = {
    val at = if (bytes.isEmpty) 0 else draw.nextInt(bytes.length)
    val (before, after) = bytes.splitAt(at)
    draw.nextInt(8) match {
      case 0 | 1 if after.nonEmpty => before ++ ((after.head ^ (1 << draw.nextInt(8))).toByte +: after.tail)
      case 2 | 3 =>
        val start = at & ~3
        val number = ByteBuffer.allocate(4).putInt(Sizes(draw.nextInt(Sizes.length))).array
        bytes.take(start) ++ (if (draw.nextBoolean()) number else number.reverse) ++ bytes.drop(start + 4)
      case 4 => before
      case 5 => before ++ after.drop(Seq(1, 4, 8, 100)(draw.nextInt(4)))
      case 6 =>
        val more = new Array[Byte](Seq(1, 4, 8, 100)(draw.nextInt(4)))
        draw.nextBytes(more)
        before ++ more ++ after
      case _ => before ++ bytes.slice(at / 2, at / 2 + 64) ++ after
    }
  }

  private def watch(): Unit = {
    val thread = new Thread(() => {
      while ((System.nanoTime - begun) / 1000000 < PatienceMillis) Thread.sleep(500)
      println("FINDING an input takes longer than a minute")
      Runtime.getRuntime.halt(1)
    })
    thread.setDaemon(true)
    thread.start()
  }
}
