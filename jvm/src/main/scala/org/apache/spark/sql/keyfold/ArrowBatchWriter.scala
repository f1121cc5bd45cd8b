package org.apache.spark.sql.keyfold

import java.nio.channels.WritableByteChannel

import org.apache.arrow.vector.VectorSchemaRoot
import org.apache.arrow.vector.ipc.ArrowStreamWriter
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.arrow.ArrowWriter
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.ArrowUtils

/** Executor side: rows into one Arrow IPC stream, in batches bounded by rows and bytes. */
final class ArrowBatchWriter(schema: StructType, channel: WritableByteChannel) extends AutoCloseable {
  import ArrowBatchWriter._

  private val allocator = ArrowUtils.rootAllocator.newChildAllocator("keyfold write", 0, Long.MaxValue)
  private val root = VectorSchemaRoot.create(ArrowUtils.toArrowSchema(schema, "UTC", true), allocator)
  private val rows = ArrowWriter.create(root)
  private val stream = new ArrowStreamWriter(root, null, channel)
  private var count = 0
  private var isClosed = false

  /** Takes a row; true when the batch is full and `flush` is due. */
  def write(row: InternalRow): Boolean = {
    rows.write(row)
    count += 1
    count >= MostRows || (count % SizeCheckRows == 0 && rows.sizeInBytes() >= MostBytes)
  }

  def flush(): Unit = {
    rows.finish()
    stream.writeBatch()
    rows.reset()
    count = 0
  }

  /** Sends what is left and the end of the stream. */
  def finish(): Unit = {
    if (count > 0) flush()
    stream.end()
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
  private val SizeCheckRows = 64
}
