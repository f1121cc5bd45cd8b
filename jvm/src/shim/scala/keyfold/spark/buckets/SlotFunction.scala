package keyfold.spark.buckets

import scala.annotation.unused

import keyfold.spark.BucketHash
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.catalog.functions.{BoundFunction, ScalarFunction, UnboundFunction}
import org.apache.spark.sql.types.{DataType, IntegerType, LongType, StringType, StructType}
import org.apache.spark.unsafe.types.UTF8String

/** Driver side: `keyfold_slot(tasks, buckets, number of bucket keys, bucket keys…, partition columns…)`,
  * by which a write is clustered. Spark would hash a bucket's number and leave tasks idle beside tasks
  * with two buckets; this is the number that it hashes to the task we mean.
  */
sealed class SlotFunction(override val name: String, mayHoldNull: Boolean) extends UnboundFunction {
  override def description(): String = s"$name: the task that writes a row"

  override def bind(arguments: StructType): BoundFunction = {
    val types = arguments.fields.map(_.dataType)
    types.drop(3) match {
      case Array(LongType) if !mayHoldNull => SlotOfLong()
      case Array(IntegerType) if !mayHoldNull => SlotOfInt()
      case Array(text: StringType) if !mayHoldNull => SlotOfText(text)
      case _ => SlotOfRow(types.toSeq)
    }
  }
}

object SlotFunction {
  val Name = "keyfold_slot"
  private val ofKeys = new SlotFunction(Name, mayHoldNull = false)
  private val ofNullableKeys = new SlotFunction("keyfold_slot_nullable", mayHoldNull = true)

  /** The name of the function for a table whose bucket key may hold NULL, or not. The columns of a query
    * won't do: those of a CREATE TABLE AS may always be NULL.
    */
  def nameFor(isNullable: Boolean): String = (if (isNullable) ofNullableKeys else ofKeys).name

  def named(name: String): Option[SlotFunction] = Seq(ofKeys, ofNullableKeys).find(_.name == name)
}

/** Executor side: the slot of one row. Equal ones are one in plans, so that Spark finds what is the same in these. */
abstract class Slot(keys: DataType*) extends ScalarFunction[Int] {
  @transient private var ofTask: Array[Int] = _

  override def name(): String = SlotFunction.Name
  override def inputTypes(): Array[DataType] = Array.fill[DataType](3)(IntegerType) ++ keys
  override def resultType(): DataType = IntegerType
  override def isResultNullable: Boolean = false
  override def toString: String = SlotFunction.Name

  protected def slot(tasks: Int, bucket: Int): Int = {
    if (ofTask == null) ofTask = Slots.keys(tasks)
    ofTask(Math.floorMod(bucket, tasks))
  }
}

/** Executor side: the slot of a row with any bucket key and partition. Partitions start at different
  * tasks, so that the buckets of many partitions spread.
  */
final case class SlotOfRow(arguments: Seq[DataType]) extends Slot(arguments.drop(3): _*) {
  @transient private var hashes: Hashes = _

  override def produceResult(row: InternalRow): Int = {
    if (hashes == null) hashes = new Hashes(3 + row.getInt(2))
    slot(row.getInt(0), hashes.bucket(row, row.getInt(1)))
  }

  private final class Hashes(partition: Int) {
    private val ofBucket = new BucketHash(arguments.slice(3, partition).toArray, 3)
    private val ofPartition = new BucketHash(arguments.drop(partition).toArray, partition)
    private val isPartitioned = arguments.length > partition

    def bucket(row: InternalRow, buckets: Int): Int =
      BucketHash.bucket(ofBucket.hash(row), buckets) + (if (isPartitioned) ofPartition.hash(row) else 0)
  }
}

/** Executor side: the slot where one column of a common type is the whole bucket key and there are no
  * partitions. Spark calls `invoke` from generated code: 15 ns per row, where SlotOfRow takes 50 to 80.
  */
final case class SlotOfLong() extends Slot(LongType) {
  def invoke(tasks: Int, buckets: Int, @unused keys: Int, key: Long): Int =
    slot(tasks, BucketHash.bucket(BucketHash.ofWord(key), buckets))
}

/** Executor side: the slot where one INT is the whole bucket key. */
final case class SlotOfInt() extends Slot(IntegerType) {
  def invoke(tasks: Int, buckets: Int, @unused keys: Int, key: Int): Int =
    slot(tasks, BucketHash.bucket(BucketHash.ofWord(key & 0xffffffffL), buckets))
}

/** Executor side: the slot where one STRING, CHAR or VARCHAR is the whole bucket key. */
final case class SlotOfText(text: StringType) extends Slot(text) {
  def invoke(tasks: Int, buckets: Int, @unused keys: Int, key: UTF8String): Int =
    slot(tasks, BucketHash.bucket(BucketHash.ofText(key), buckets))
}
