package org.apache.spark.sql.keyfold.arrow

import java.nio.ByteBuffer
import java.nio.channels.WritableByteChannel

import org.apache.arrow.vector.VectorSchemaRoot
import org.apache.arrow.vector.ipc.ArrowStreamWriter
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.ArrowUtils

/** Executor side: rows into an Arrow IPC stream, in batches bounded by rows and bytes; after its end the next row
  * begins another.
  */
final class ArrowBatchWriter(schema: StructType, channel: WritableByteChannel) extends AutoCloseable {
  import ArrowBatchWriter._

  private val allocator = ArrowUtils.rootAllocator.newChildAllocator("keyfold write", 0, Long.MaxValue)
  private val root = VectorSchemaRoot.create(ArrowUtils.toArrowSchema(schema, "UTC", false), allocator)
  private val rows = new FlatRows(root)
  private lazy val known = UnsafeProjection.create(schema)
  private var stream = new ArrowStreamWriter(root, null, channel)
  private var count = 0
  private var unmeasured = 0L
  private var isClosed = false

  /** Takes a row; true when the batch is full and `flush` is due. To measure the columns is too much for each row of a
    * few bytes.
    */
  def write(row: InternalRow): Boolean = {
    val found = row match {
      case unsafe: UnsafeRow => unsafe
      case other => known(other)
    }
    rows.write(found)
    count += 1
    unmeasured += found.getSizeInBytes
    count >= MostRows || (unmeasured >= SizeCheckBytes && isFull())
  }

  private def isFull(): Boolean = {
    unmeasured = 0
    rows.size >= MostBytes
  }

  /** Sends the schema, with which the stream begins, if it has not been sent. */
  def begin(): Unit = stream.start()

  /** Sends a batch that another writer of the same schema has sent to memory. */
  def pass(batch: ByteBuffer): Unit = {
    begin()
    while (batch.hasRemaining) channel.write(batch): Unit
  }

  def flush(): Unit = {
    rows.finish()
    stream.writeBatch()
    clear()
  }

  /** Forgets the rows that were not sent. */
  def clear(): Unit = {
    rows.reset()
    count = 0
    unmeasured = 0
  }

  /** Sends what is left and the end of the stream. */
  def finish(): Unit = {
    if (count > 0) flush()
    stream.end()
    stream = new ArrowStreamWriter(root, null, channel)
  }

  override def close(): Unit = if (!isClosed) {
    isClosed = true
    root.close()
    allocator.close()
  }
}

object ArrowBatchWriter {
  private val MostRows = 32768
  private val MostBytes = 16L << 20
  private val SizeCheckBytes = 64L << 10
}
