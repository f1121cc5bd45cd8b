package org.apache.spark.sql.keyfold.arrow

import java.nio.ByteBuffer
import java.nio.channels.WritableByteChannel

import org.apache.arrow.vector.VectorSchemaRoot
import org.apache.arrow.vector.ipc.ArrowStreamWriter
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{UnsafeArrayData, UnsafeMapData, UnsafeRow}
import org.apache.spark.sql.execution.arrow.ArrowWriter
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.ArrowUtils
import org.apache.spark.unsafe.types.UTF8String

/** Executor side: rows into an Arrow IPC stream, in batches bounded by rows and bytes; after its end the next row
  * begins another.
  */
final class ArrowBatchWriter(schema: StructType, channel: WritableByteChannel) extends AutoCloseable {
  import ArrowBatchWriter._

  private val allocator = ArrowUtils.rootAllocator.newChildAllocator("keyfold write", 0, Long.MaxValue)
  private val root = VectorSchemaRoot.create(ArrowUtils.toArrowSchema(schema, "UTC", true), allocator)
  root.getFieldVectors.forEach(_.setInitialCapacity(FirstRows))
  private val rows = ArrowWriter.create(root)
  private var stream = new ArrowStreamWriter(root, null, channel)
  private var count = 0
  private var unmeasured = 0L
  private var isClosed = false

  private val (flat, varying) = schema.map(_.dataType).zipWithIndex
    .partition { case (kind, _) => UnsafeRow.isMutable(kind) }
  private val flatBytes = flat.map(_._1.defaultSize.toLong).sum
  private val others = varying.toArray

  /** Takes a row; true when the batch is full and `flush` is due. To ask Arrow for the size is too much for
    * each row of a few bytes.
    */
  def write(row: InternalRow): Boolean = write(row, size(row))

  private def size(row: InternalRow): Long = row match {
    case known: UnsafeRow => known.getSizeInBytes.toLong
    case _ =>
      var found = flatBytes
      var at = 0
      while (at < others.length) {
        val (kind, place) = others(at)
        if (!row.isNullAt(place)) found += sizeOf(row.get(place, kind))
        at += 1
      }
      found
  }

  /** The same for a row of about that many bytes. */
  def write(row: InternalRow, bytes: Long): Boolean = {
    rows.write(row)
    count += 1
    unmeasured += bytes
    count >= MostRows || (unmeasured >= SizeCheckBytes && isFull())
  }

  private def isFull(): Boolean = {
    unmeasured = 0
    rows.sizeInBytes() >= MostBytes
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
  private val FirstRows = 256
  private val MostRows = 32768
  private val MostBytes = 16L << 20
  private val SizeCheckBytes = 64L << 10

  /** The bytes of a value; one whose size is not known is as large as what is measured at once. */
  private def sizeOf(value: Any): Long = value match {
    case text: UTF8String => text.numBytes.toLong
    case bytes: Array[Byte] => bytes.length.toLong
    case row: UnsafeRow => row.getSizeInBytes.toLong
    case array: UnsafeArrayData => array.getSizeInBytes.toLong
    case map: UnsafeMapData => map.getSizeInBytes.toLong
    case _ => SizeCheckBytes
  }
}
