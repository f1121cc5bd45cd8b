package keyfold.client

import java.util.{List => JavaList, Map => JavaMap}
import java.util.concurrent.CompletableFuture

import scala.collection.mutable.ArrayBuffer
import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.JsonNode
import keyfold.spark.{KeyfoldException, Kinds}
import keyfold.spark.processes.Threads
import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.keyfold.arrow.{ArrowBatchReader, ArrowBatchWriter}
import org.apache.spark.sql.types.{StructField, StructType}
import org.apache.spark.sql.vectorized.ColumnarBatch

/** Looks rows up by their keys, in the newest snapshot. Its Python process keeps what it has decoded until `close`.
  * Threads may share it: their calls come one after another, so threads that look up at once have one each.
  */
final class Lookuper private[client] (table: KeyfoldTable, wanted: StructType, refreshMillis: Long)
    extends AutoCloseable {
  if (table.keys.isEmpty) throw refused("it has no primary key")

  private val names = wanted.fieldNames.toSeq
  private val keySchema = StructType(table.keyColumns)
  private val values = new Values(s"looking up in table $table")
  private val keyOf = values.rows(StructType(keySchema.map(_.copy(nullable = true))))
  private val byKey = table.question("look_up", "columns" -> names, "refresh_ms" -> refreshMillis)
  private val byPrefix = table.question("look_up_prefix", "columns" -> names, "refresh_ms" -> refreshMillis)
  private var open: Option[Open] = None
  private var made: Option[(StructType, InternalRow => Row)] = None
  private var isClosed = false
  private val later = ArrayBuffer.empty[(InternalRow, CompletableFuture[Row])]

  /** The row of a key, by the names of its columns; null if there is none. */
  def lookup(key: JavaMap[String, _]): Row = rowsOf(Seq(key)).head

  /** The row of a key, whose values are in the order of the primary key if it has no schema; null if there is none. */
  def lookup(key: Row): Row = rowsOf(Seq(key)).head

  /** The row of each key, a Map or a Row, in the order of the keys, with null where there is none: much faster than
    * one after another.
    */
  def lookup(keys: JavaList[_]): JavaList[Row] =
    rowsOf(Option(keys).getOrElse(throw refused("expected a List of keys, found null")).asScala.toSeq).asJava

  /** The row of a key, later: keys that come while others are looked up are looked up together. */
  def lookupAsync(key: JavaMap[String, _]): CompletableFuture[Row] = asked(keyOf(key))

  /** The row of a key, later, as of a `lookup` of this Row. */
  def lookupAsync(key: Row): CompletableFuture[Row] = asked(keyOf(key))

  /** All rows whose key begins with these values, in no order. */
  def prefixLookup(prefix: JavaMap[String, _]): JavaList[Row] = {
    val named = Option(prefix).getOrElse(throw refused("expected a Map of the first columns, found null")).keySet
    val schema = StructType(table.columns(named.asScala.toSeq, "looking up in").map(_.copy(nullable = true)))
    if (schema.fieldNames.distinct.length < named.size) throw values.twice(named.asScala)
    ask(byPrefix, schema, Seq(values.rows(schema)(prefix))).asJava
  }

  /** Gives its process back. */
  override def close(): Unit = synchronized {
    isClosed = true
    open.foreach(_.end(_.giveBack()))
    open = None
  }

  private def asked(key: InternalRow): CompletableFuture[Row] = later.synchronized {
    if (later.isEmpty) Threads.begin("keyfold-lookup")(answerAll())
    later += key -> new CompletableFuture[Row]
    later.last._2
  }

  /** Looks up all keys that have come until it is the turn of the first of them. */
  private def answerAll(): Unit = {
    val (answers, rows) = synchronized {
      val (keys, answers) = later.synchronized(try later.toSeq.unzip finally later.clear())
      answers -> (try Right(ask(byKey, keySchema, keys)) catch { case failure: Throwable => Left(failure) })
    }
    rows.fold(failure => answers.foreach(_.completeExceptionally(failure)),
      found => answers.zip(found).foreach { case (answer, row) => answer.complete(row) })
  }

  private def rowsOf(keys: Seq[Any]): Seq[Row] = if (keys.isEmpty) Nil else ask(byKey, keySchema, keys.map(keyOf))

  /** Another process is asked once if one dies: nothing changes by it. */
  private def ask(question: JsonNode, schema: StructType, keys: Seq[InternalRow]): Seq[Row] = synchronized {
    if (isClosed) throw refused("the look-up is closed")
    try exchange(question, schema, keys)
    catch { case died: KeyfoldException if KeyfoldException.isDeath(died) => exchange(question, schema, keys) }
  }

  private def exchange(question: JsonNode, schema: StructType, keys: Seq[InternalRow]): Seq[Row] = {
    val process = open.getOrElse(new Open)
    open = Some(process)
    try {
      process.send(question, schema, keys)
      process.answer()
    } catch {
      case reported: KeyfoldException if !KeyfoldException.isDeath(reported) => throw reported
      case failure: Throwable =>
        open = None
        process.end(_.drop())
        throw failure
    }
  }

  private final class Open extends Process(keySchema) {
    def send(question: JsonNode, schema: StructType, keys: Seq[InternalRow]): Unit = {
      worker.send(question)
      val stream = if (schema eq keySchema) rows else new ArrowBatchWriter(schema, worker.out)
      try {
        keys.foreach(key => if (stream.write(key)) worker.heard(stream.flush()))
        worker.heard(stream.finish())
      } finally if (stream ne rows) stream.close()
    }

    /** Rows of the answer, null where its last column says that a key has none. */
    def answer(): Seq[Row] = {
      worker.answer(): Unit
      val (found, stream) = (ArrayBuffer.empty[Row], new ArrowBatchReader(worker.in))
      try while (worker.alive(stream.next())) {
        val all = stream.current
        val batch = new ColumnarBatch(names.indices.map(all.column(_)).toArray, all.numRows)
        val convert = converter(batch)
        (0 until all.numRows).foreach { i =>
          found += (if (all.column(names.length).getBoolean(i)) convert(batch.getRow(i)) else null)
        }
      } finally stream.close()
      worker.answer(): Unit
      found.toSeq
    }
  }

  /** By the types that columns have now: they may have become wider since the table was opened. */
  private def converter(batch: ColumnarBatch): InternalRow => Row = {
    val schema = StructType(names.indices.map(i => StructField(names(i), batch.column(i).dataType)))
    if (!made.exists(_._1 == schema)) made = Some(schema -> Values.external(schema))
    made.get._2
  }

  private def refused(why: String) = new KeyfoldException(Kinds.Table, s"looking up in table $table: $why")
}
