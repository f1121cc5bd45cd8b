package keyfold.integration

import java.nio.{ByteBuffer, ByteOrder}
import java.nio.channels.FileChannel
import java.nio.charset.StandardCharsets
import java.nio.file.Path
import java.util.concurrent.{Callable, Executors}
import java.util.zip.CRC32

import scala.jdk.CollectionConverters._
import scala.util.Using

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import com.fasterxml.jackson.databind.node.ObjectNode
import org.apache.paimon.data.{BinaryString, GenericRow, InternalRow}
import org.apache.paimon.disk.IOManager
import org.apache.paimon.predicate.PredicateBuilder
import org.apache.paimon.table.FileStoreTable
import org.apache.paimon.table.sink.{BatchTableWrite, CommitMessage}
import org.apache.paimon.table.source.{DataSplit, ReadBuilder, Split}
import org.apache.paimon.types.{DataType, RowKind}
import org.apache.paimon.types.DataTypeRoot._

/** What the bench asks of Paimon's Java library: `tasks` threads, each with buckets of its own, do
  * what as many Spark tasks would. The one who asks takes the time.
  */
object PaimonBench {
  private val json = new ObjectMapper()

  def ask(request: JsonNode, table: FileStoreTable, scratch: IOManager): ObjectNode = {
    val tasks = request.get("tasks").asInt
    request.get("do").asText match {
      case "scan" => read(table.newReadBuilder, table, tasks, scratch)(new Greatest(_))
      case "answer" => read(table.newReadBuilder, table, tasks, scratch)(new Checked(_))
      case "range" => read(between(request, table), table, tasks, scratch)(new Checked(_))
      case "plan" =>
        val builder = if (request.has("column")) between(request, table) else table.newReadBuilder
        json.createObjectNode().put("files", splits(builder).map(_.dataFiles.size).sum)
      case "append" =>
        val file = Path.of(request.get("file").asText)
        committed(table, tasks, scratch) { (writer, task) =>
          Records.each(file) { row => if (writer.getBucket(row) % tasks == task) writer.write(row) }
        }
      case "rewrite" =>
        val buckets = splits(table.newReadBuilder).map(s => (s.partition, s.bucket)).distinct
        committed(table, tasks, scratch) { (writer, task) =>
          buckets.filter(_._2 % tasks == task).foreach(b => writer.compact(b._1, b._2, true))
        }
    }
  }

  private def between(request: JsonNode, table: FileStoreTable): ReadBuilder = {
    val predicates = new PredicateBuilder(table.rowType)
    val place = predicates.indexOf(request.get("column").asText)
    val (from, to) = (request.get("from").asLong, request.get("to").asLong)
    val wanted =
      if (from == to) predicates.equal(place, from) else predicates.between(place, from, to)
    table.newReadBuilder.withFilter(wanted)
  }

  private def splits(builder: ReadBuilder): Seq[DataSplit] =
    builder.newScan.plan.splits.asScala.toSeq.collect { case split: DataSplit => split }

  private def read(builder: ReadBuilder, table: FileStoreTable, tasks: Int, scratch: IOManager)(
      fold: Seq[DataType] => Folded
  ): ObjectNode = {
    val kinds = table.rowType.getFieldTypes.asScala.toSeq
    val shares = splits(builder).zipWithIndex.groupMap(_._2 % tasks)(_._1).values.toSeq
    val folded = inParallel(shares.map { share => () =>
      val found = fold(kinds)
      val reader = builder.newRead.executeFilter
        .withIOManager(scratch)
        .createReader(share.map(s => s: Split).asJava)
      try reader.forEachRemaining(row => found.add(row))
      finally reader.close()
      found
    })
    val answer = json.createObjectNode().put("rows", folded.map(_.rows).sum)
    val numbers = answer.putArray("numbers")
    if (folded.nonEmpty) folded.reduce(_ and _).numbers.foreach(numbers.add)
    answer
  }

  private def committed(table: FileStoreTable, tasks: Int, scratch: IOManager)(
      body: (BatchTableWrite, Int) => Unit
  ): ObjectNode = {
    val builder = table.newBatchWriteBuilder
    val made = inParallel((0 until tasks).map { task => () =>
      val writer = builder.newWrite.withIOManager(scratch)
      try {
        body(writer, task)
        writer.prepareCommit.asScala.toSeq
      } finally writer.close()
    }).flatten
    val messages: java.util.List[CommitMessage] = made.asJava
    Using.resource(builder.newCommit)(_.commit(messages))
    json.createObjectNode().put("snapshot", table.snapshotManager.latestSnapshotId)
  }

  private def inParallel[T](work: Seq[() => T]): Seq[T] = {
    val threads = Executors.newFixedThreadPool(math.max(work.size, 1))
    try threads.invokeAll(work.map(w => (() => w()): Callable[T]).asJava).asScala.toSeq.map(_.get)
    finally threads.shutdown()
  }
}

/** Rows seen by one task, folded into a number a column. */
abstract class Folded(kinds: Seq[DataType]) {
  protected val roots = kinds.map(_.getTypeRoot).toArray
  var rows = 0L

  def add(row: InternalRow): Unit
  def and(other: Folded): Folded
  def numbers: Seq[Double]
}

/** Touches every cell as `max` of every column does: what is timed. */
final class Greatest(kinds: Seq[DataType]) extends Folded(kinds) {
  private val whole = Array.fill(roots.length)(Long.MinValue)
  private val real = Array.fill(roots.length)(Double.NegativeInfinity)
  private val text = new Array[BinaryString](roots.length)

  def add(row: InternalRow): Unit = {
    rows += 1
    var i = 0
    while (i < roots.length) {
      if (!row.isNullAt(i)) roots(i) match {
        case BIGINT => whole(i) = math.max(whole(i), row.getLong(i))
        case INTEGER => whole(i) = math.max(whole(i), row.getInt(i).toLong)
        case DOUBLE => real(i) = math.max(real(i), row.getDouble(i))
        case _ =>
          val cell = row.getString(i)
          if (text(i) == null || cell.compareTo(text(i)) > 0) text(i) = cell.copy
      }
      i += 1
    }
  }

  def and(other: Folded): Folded = this
  def numbers: Seq[Double] = Seq(rows.toDouble)
}

/** Sums of all columns, of a checksum where they are text, and of a product of the first two BIGINT
  * columns: what answers are compared by. integration/bench/answers.py says the same in SQL.
  */
final class Checked(kinds: Seq[DataType]) extends Folded(kinds) {
  private val pair = roots.indices.filter(roots(_) == BIGINT).take(2)
  private val sums = Array.fill(roots.length + 1)(0.0)

  def add(row: InternalRow): Unit = {
    rows += 1
    roots.indices.foreach { i =>
      if (!row.isNullAt(i)) sums(i) += (roots(i) match {
        case BIGINT => row.getLong(i).toDouble
        case INTEGER => row.getInt(i).toDouble
        case DOUBLE => row.getDouble(i)
        case _ =>
          val checksum = new CRC32()
          checksum.update(row.getString(i).toBytes)
          (checksum.getValue % Texts).toDouble
      })
    }
    sums(roots.length) += (pair.map(row.getLong(_)).product % Products).toDouble
  }

  def and(other: Folded): Folded = {
    val that = other.asInstanceOf[Checked]
    rows += that.rows
    sums.indices.foreach(i => sums(i) += that.sums(i))
    this
  }

  def numbers: Seq[Double] = rows.toDouble +: sums.toSeq

  private def Texts = 1L << 24
  private def Products = 65521L
}

/** Rows of the bench's seven columns in a file of fixed-width records (integration/bench/data.py). */
object Records {
  private val Width = 54
  private val Text = 10

  def each(file: Path)(body: GenericRow => Unit): Unit =
    Using.resource(FileChannel.open(file)) { channel =>
      val bytes = channel.map(FileChannel.MapMode.READ_ONLY, 0, channel.size)
      bytes.order(ByteOrder.LITTLE_ENDIAN)
      while (bytes.remaining >= Width) body(row(bytes))
    }

  private def row(bytes: ByteBuffer): GenericRow = {
    val made = new GenericRow(RowKind.INSERT, 7)
    (0 to 3).foreach(i => made.setField(i, bytes.getLong))
    made.setField(4, bytes.getDouble)
    val text = new Array[Byte](Text)
    bytes.get(text)
    made.setField(5, BinaryString.fromString(new String(text, StandardCharsets.US_ASCII)))
    made.setField(6, bytes.getInt)
    made
  }
}
