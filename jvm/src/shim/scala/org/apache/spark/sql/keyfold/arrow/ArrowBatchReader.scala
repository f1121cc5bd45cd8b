package org.apache.spark.sql.keyfold.arrow

import java.nio.channels.ReadableByteChannel

import scala.jdk.CollectionConverters._

import org.apache.arrow.vector.{FieldVector, ValueVector}
import org.apache.arrow.vector.ipc.ArrowStreamReader
import org.apache.spark.sql.util.ArrowUtils
import org.apache.spark.sql.vectorized.{ArrowColumnVector, ColumnVector, ColumnarBatch}

/** Executor side: one Arrow IPC stream as Spark's columnar batches; a batch is good until the next.
  * Reads the channel up to the end of the stream and not a byte further, and leaves it open. Lengths
  * and offsets are believed: the worker at the other end is ours, and of this version.
  */
final class ArrowBatchReader(channel: ReadableByteChannel) extends AutoCloseable {
  private val allocator = ArrowUtils.rootAllocator.newChildAllocator("keyfold read", 0, Long.MaxValue)
  private val stream = new ArrowStreamReader(channel, allocator)
  private lazy val root = stream.getVectorSchemaRoot
  private lazy val columns: Array[ColumnVector] = root.getFieldVectors.asScala.map(column).toArray
  private lazy val batch = new ColumnarBatch(columns)
  private var isClosed = false
  private var isBroken = false

  def next(): Boolean =
    try {
      val isLoaded = stream.loadNextBatch()
      if (isLoaded) columns.foreach { case flat: FlatColumn => flat.bind(); case _ => () }
      isLoaded
    } catch {
      case failure @ (_: RuntimeException | _: OutOfMemoryError) =>
        isBroken = true
        throw failure
    }

  def current: ColumnarBatch = {
    batch.setNumRows(root.getRowCount)
    batch
  }

  private def column(vector: FieldVector): ColumnVector =
    if (FlatColumn.reads(vector)) new FlatColumn(vector) else new NestedColumn(vector)

  override def close(): Unit = if (!isClosed) {
    isClosed = true
    try {
      stream.close(false)
      allocator.close()
    } catch { case _: IllegalStateException if isBroken => () } // half a batch is still allocated
  }
}

/** Executor side: a nested column that stays ours when Spark is done with a batch. Closing it would take the
  * children of a struct away, which the next batch needs; the stream closes all of them at its end.
  */
final class NestedColumn(vector: ValueVector) extends ArrowColumnVector(vector) {
  override def closeIfFreeable(): Unit = ()
}
