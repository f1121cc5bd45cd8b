package keyfold.spark

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.catalog.functions.{BoundFunction, ScalarFunction, UnboundFunction}
import org.apache.spark.sql.types.{DataType, IntegerType, StructType}

/** Driver side: `keyfold_slot(tasks, buckets, number of bucket keys, bucket keys…, partition columns…)`,
  * by which a write is clustered. Spark would hash a bucket's number and leave tasks idle beside tasks
  * with two buckets; this is the number that it hashes to the task we mean.
  */
object SlotFunction extends UnboundFunction {
  val Name = "keyfold_slot"

  override def name(): String = Name
  override def description(): String = s"$Name: the task that writes a row"
  override def bind(arguments: StructType): BoundFunction = new Slot(arguments.fields.map(_.dataType))
}

/** Executor side: the same for one row. */
final class Slot(arguments: Array[DataType]) extends ScalarFunction[Int] {
  @transient private var prepared: Prepared = _

  override def name(): String = SlotFunction.Name
  override def inputTypes(): Array[DataType] = arguments
  override def resultType(): DataType = IntegerType
  override def isResultNullable: Boolean = false
  override def toString: String = SlotFunction.Name

  override def produceResult(row: InternalRow): Int = {
    if (prepared == null) prepared = new Prepared(row.getInt(0), row.getInt(1), row.getInt(2))
    prepared.key(row)
  }

  private final class Prepared(tasks: Int, buckets: Int, bucketKeys: Int) {
    private val keys = Slots.keys(tasks)
    private val ofBucket = new BucketHash(arguments.slice(3, 3 + bucketKeys), 3)
    private val ofPartition = new BucketHash(arguments.drop(3 + bucketKeys), 3 + bucketKeys)
    private val isPartitioned = arguments.length > 3 + bucketKeys

    def key(row: InternalRow): Int = {
      val bucket = BucketHash.bucket(ofBucket.hash(row), buckets)
      val shift = if (isPartitioned) ofPartition.hash(row) else 0
      keys(Math.floorMod(bucket + shift, tasks))
    }
  }
}
