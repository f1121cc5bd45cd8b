package keyfold.spark

import org.apache.spark.sql.connector.catalog.functions.{BoundFunction, ScalarFunction, UnboundFunction}
import org.apache.spark.sql.types.{DataType, IntegerType, LongType, StringType, StructType}

/** Driver side: `keyfold_slot(tasks, buckets, number of bucket keys, bucket keys…, partition columns…)`,
  * by which a write is clustered. Spark would hash a bucket's number and leave tasks idle beside tasks
  * with two buckets; this is the number that it hashes to the task we mean.
  */
object SlotFunction extends UnboundFunction {
  val Name = "keyfold_slot"

  override def name(): String = Name
  override def description(): String = s"$Name: the task that writes a row"

  override def bind(arguments: StructType): BoundFunction = {
    val types = arguments.fields.map(_.dataType)
    types.drop(3) match {
      case Array(LongType) => new SlotOfLong
      case Array(IntegerType) => new SlotOfInt
      case Array(text: StringType) => new SlotOfText(text)
      case _ => new SlotOfRow(types)
    }
  }
}

/** Executor side: the same for one row. */
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
