package org.apache.spark.sql.keyfold

import java.nio.channels.ReadableByteChannel

import scala.jdk.CollectionConverters._

import org.apache.arrow.vector.ValueVector
import org.apache.arrow.vector.ipc.ArrowStreamReader
import org.apache.spark.sql.util.ArrowUtils
import org.apache.spark.sql.vectorized.{ArrowColumnVector, ColumnVector, ColumnarBatch}

/** Executor side: one Arrow IPC stream as Spark's columnar batches; a batch is good until the next.
  * Reads the channel up to the end of the stream and not a byte further, and leaves it open.
  */
final class ArrowBatchReader(channel: ReadableByteChannel) extends AutoCloseable {
  private val allocator = ArrowUtils.rootAllocator.newChildAllocator("keyfold read", 0, Long.MaxValue)
  private val stream = new ArrowStreamReader(channel, allocator)
  private lazy val root = stream.getVectorSchemaRoot
  private lazy val batch = new ColumnarBatch(
    root.getFieldVectors.asScala.map(vector => new BatchColumn(vector): ColumnVector).toArray)
  private var isClosed = false

  def next(): Boolean = stream.loadNextBatch()

  def current: ColumnarBatch = {
    batch.setNumRows(root.getRowCount)
    batch
  }

  override def close(): Unit = if (!isClosed) {
    isClosed = true
    stream.close(false)
    allocator.close()
  }
}

/** Executor side: a column that stays ours when Spark is done with a batch. Closing it would take the
  * children of a struct away, which the next batch needs; the stream closes all of them at its end.
  */
final class BatchColumn(vector: ValueVector) extends ArrowColumnVector(vector) {
  override def closeIfFreeable(): Unit = ()
}
