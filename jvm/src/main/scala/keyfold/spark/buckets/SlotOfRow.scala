package keyfold.spark.buckets

import keyfold.spark.BucketHash
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types.DataType

/** Executor side: the slot of a row with any bucket key and partition. Partitions start at different
  * tasks, so that the buckets of many partitions spread.
  */
final class SlotOfRow(arguments: Array[DataType]) extends Slot(arguments.drop(3).toSeq: _*) {
  @transient private var hashes: Hashes = _

  override def produceResult(row: InternalRow): Int = {
    if (hashes == null) hashes = new Hashes(3 + row.getInt(2))
    slot(row.getInt(0), hashes.bucket(row, row.getInt(1)))
  }

  private final class Hashes(partition: Int) {
    private val ofBucket = new BucketHash(arguments.slice(3, partition), 3)
    private val ofPartition = new BucketHash(arguments.drop(partition), partition)
    private val isPartitioned = arguments.length > partition

    def bucket(row: InternalRow, buckets: Int): Int =
      BucketHash.bucket(ofBucket.hash(row), buckets) + (if (isPartitioned) ofPartition.hash(row) else 0)
  }
}
