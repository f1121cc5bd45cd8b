package keyfold.spark.buckets

import org.apache.spark.sql.connector.catalog.functions.{BoundFunction, ScalarFunction, UnboundFunction}
import org.apache.spark.sql.types.{DataType, IntegerType, LongType, StringType, StructType}

/** Driver side: `keyfold_slot(tasks, buckets, number of bucket keys, bucket keys…, partition columns…)`,
  * by which a write is clustered. Spark would hash a bucket's number and leave tasks idle beside tasks
  * with two buckets; this is the number that it hashes to the task we mean.
  */
sealed class SlotFunction(override val name: String, mayHoldNull: Boolean) extends UnboundFunction {
  override def description(): String = s"$name: the task that writes a row"

  override def bind(arguments: StructType): BoundFunction = {
    val types = arguments.fields.map(_.dataType)
    types.drop(3) match {
      case Array(LongType) if !mayHoldNull => new SlotOfLong
      case Array(IntegerType) if !mayHoldNull => new SlotOfInt
      case Array(text: StringType) if !mayHoldNull => new SlotOfText(text)
      case _ => new SlotOfRow(types)
    }
  }
}

object SlotFunction {
  val Name = "keyfold_slot"
  private val ofKeys = new SlotFunction(Name, mayHoldNull = false)
  private val ofNullableKeys = new SlotFunction("keyfold_slot_nullable", mayHoldNull = true)

  /** The name of the function for a table whose bucket key may hold NULL, or not. What a query says of
    * its columns won't do: that of a CREATE TABLE AS may always be NULL.
    */
  def nameFor(isNullable: Boolean): String = (if (isNullable) ofNullableKeys else ofKeys).name

  def named(name: String): Option[SlotFunction] = Seq(ofKeys, ofNullableKeys).find(_.name == name)
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
