package keyfold.client

import java.util.{Map => JavaMap, OptionalLong}
import java.util.concurrent.CompletableFuture

import scala.collection.mutable

import com.fasterxml.jackson.databind.JsonNode
import keyfold.spark.{Json, KeyfoldException, Kinds}
import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.keyfold.arrow.ArrowBatchWriter
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/** Writes rows and deletes keys. They are sent to a Python process in batches and become one snapshot by `flush`, in
  * the order in which they came as far as it matters; others see nothing of them before. If a call fails, nothing since
  * the last flush is written, and the writer can only be closed. Threads may share it: their calls come one after
  * another.
  */
final class UpsertWriter private[client] (table: KeyfoldTable, schema: StructType, mergeMode: Option[String])
    extends AutoCloseable {
  import UpsertWriter._

  private val keySchema = StructType(table.keyColumns)
  private val places = table.keys.map(schema.fieldNames.indexOf(_))
  private val values = new Values(s"writing table $table")
  private val rowOf = values.rows(schema)
  private val keyOf = new Values(s"deleting from table $table").rows(keySchema)
  private val known = UnsafeProjection.create(keySchema)
  private val deleted = mutable.LinkedHashSet.empty[UnsafeRow]
  private val deletedAlike = mutable.HashSet.empty[Seq[Any]]
  private var token: Option[(String, Long)] = None
  private var sending: Option[Sending] = None
  private var ended: Option[String] = None
  private var next = new CompletableFuture[OptionalLong]

  if (places.contains(-1)) throw new KeyfoldException(Kinds.Table,
    s"writing table $table: expected the columns of the primary key, ${table.keys.mkString(", ")}, among "
      + schema.fieldNames.mkString(", "))

  /** A row with the columns of this writer, by their names. The answer of this and the other calls up to a flush is one
    * future, which ends as the flush does.
    */
  def upsert(row: JavaMap[String, _]): CompletableFuture[OptionalLong] = write(row)

  /** A row with the columns of this writer: by their names if it has a schema, else in their order. */
  def upsert(row: Row): CompletableFuture[OptionalLong] = write(row)

  /** Removes the row of a key, under every engine, if there is one. */
  def delete(key: JavaMap[String, _]): CompletableFuture[OptionalLong] = remove(key)

  /** Removes the row of a key, whose values are in the order of the primary key if it has no schema. */
  def delete(key: Row): CompletableFuture[OptionalLong] = remove(key)

  /** Names what follows, up to the next flush: nothing of it is written if this version is the last one of that name in
    * the table. So a program may repeat what it does not know to have succeeded. A lower one is refused.
    */
  def token(name: String, version: Long): Unit = calling {
    if (sending.nonEmpty || deleted.nonEmpty) throw new KeyfoldException(Kinds.Table,
      s"writing table $table: a token comes before the rows and keys that it names; flush them first")
    token = Some(name -> version)
  }

  /** Commits what has come since the last flush. Returns the id of its snapshot, nothing if no row has changed. */
  def flush(): OptionalLong = calling {
    if (deleted.nonEmpty) sendDeleted()
    val snapshot = sending.flatMap(begun => Option(begun.commit()).filterNot(_.isNull))
      .fold(OptionalLong.empty)(id => OptionalLong.of(id.asLong))
    val answer = next
    sending = None
    token = None
    next = new CompletableFuture // first: what waits for this flush may write on
    answer.complete(snapshot)
    snapshot
  }

  /** Flushes, unless a call has failed, and ends the writer. */
  override def close(): Unit = synchronized {
    try if (ended.isEmpty) flush(): Unit
    finally ended = Some(Closed)
  }

  private def write(fields: Any): CompletableFuture[OptionalLong] = calling {
    val row = rowOf(fields)
    if (deleted.nonEmpty && deletedAlike.contains(alikeOf(row, places))) sendDeleted()
    current().write(row)
    next
  }

  /** Keys are sent after the rows of other keys that come later, so that few deletes are many at once. */
  private def remove(key: Any): CompletableFuture[OptionalLong] = calling {
    val row = keyOf(key)
    deleted += known(row).copy()
    deletedAlike += alikeOf(row, places.indices)
    if (deleted.size >= MostKeys) sendDeleted()
    next
  }

  /** One row for all keys that may be one in the table, though their values differ: CHAR and VARCHAR have blanks that
    * don't count, there are two zeros, and times may have fewer digits there. Other keys may have it too.
    */
  private def alikeOf(row: InternalRow, at: Seq[Int]): Seq[Any] = at.zip(keySchema).map { case (i, key) =>
    (key.dataType, row.get(i, key.dataType)) match {
      case (_, text: UTF8String) => text.trimRight()
      case (BooleanType | ByteType | ShortType | IntegerType | LongType | DateType | _: DecimalType, same) => same
      case _ => null
    }
  }

  private def sendDeleted(): Unit = {
    current().delete(deleted)
    deleted.clear()
    deletedAlike.clear()
  }

  private def current(): Sending = sending.getOrElse {
    val begun = new Sending(table.question("write_rows", "columns" -> schema.fieldNames,
      "merge_mode" -> mergeMode, "token" -> token.map { case (name, version) => Seq[Any](name, version) }))
    sending = Some(begun)
    begun
  }

  private def calling[T](work: => T): T = synchronized {
    ended.foreach(why => throw new KeyfoldException(Kinds.Table, s"writing table $table: $why"))
    try work
    catch {
      case failure: Throwable =>
        sending.foreach(_.end(_.drop()))
        sending = None
        ended = Some(s"a call has failed (${Option(failure.getMessage).getOrElse(failure)}); open another writer")
        next.completeExceptionally(failure)
        throw failure
    }
  }

  /** One conversation with a process, up to its commit. */
  private final class Sending(question: JsonNode) extends Process(schema) {
    private var isAmongRows = false
    try worker.ask(question): Unit
    catch { case failure: Throwable => end(_.drop()); throw failure }

    def write(row: InternalRow): Unit = {
      if (!isAmongRows) worker.heard(worker.send(Json.obj("rows" -> "upsert")))
      isAmongRows = true
      if (rows.write(row)) send(rows.flush())
    }

    def delete(keys: Iterable[InternalRow]): Unit = {
      endRows()
      worker.send(Json.obj("rows" -> "delete"))
      val stream = new ArrowBatchWriter(keySchema, worker.out)
      try {
        keys.foreach(key => if (stream.write(key)) send(stream.flush()))
        send(stream.finish())
      } finally stream.close()
    }

    /** The snapshot. */
    def commit(): JsonNode = {
      endRows()
      val answer =
        try worker.ask(Json.obj("commit" -> true))
        catch {
          case died: KeyfoldException if KeyfoldException.isDeath(died) =>
            throw KeyfoldException.death(s"${died.sentence}\nIt was committing to table $table: whether that was done "
              + "is not known. Write the rows again with the token that they had, or look at the table.", died)
        }
      end(_.giveBack())
      answer.get("snapshot")
    }

    private def endRows(): Unit = if (isAmongRows) {
      isAmongRows = false
      send(rows.finish())
    }

    /** A process that speaks before it is asked has failed. */
    private def send(batch: => Unit): Unit = {
      worker.heard(batch)
      if (worker.hasAnswered) worker.answer(): Unit
    }
  }
}

private object UpsertWriter {
  private val MostKeys = 1 << 16
  private val Closed = "the writer is closed"
}
