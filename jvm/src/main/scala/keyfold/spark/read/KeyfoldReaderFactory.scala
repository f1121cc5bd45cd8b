package keyfold.spark.read

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReader, PartitionReaderFactory}
import org.apache.spark.sql.vectorized.ColumnarBatch

/** Executor side: opens readers; carries the scan, which all splits share. */
final case class KeyfoldReaderFactory(scan: String) extends PartitionReaderFactory {
  /** Without the scan, which says how to log in to an object store. */
  override def toString: String = "KeyfoldReaderFactory"

  override def supportColumnarReads(partition: InputPartition): Boolean = true

  override def createColumnarReader(partition: InputPartition): PartitionReader[ColumnarBatch] =
    new KeyfoldPartitionReader(scan, partition.asInstanceOf[KeyfoldInputPartition].splits)

  override def createReader(partition: InputPartition): PartitionReader[InternalRow] =
    throw new UnsupportedOperationException("keyfold reads columnar batches only")
}
