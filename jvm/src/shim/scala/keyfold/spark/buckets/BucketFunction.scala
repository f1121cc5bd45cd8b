package keyfold.spark.buckets

import keyfold.spark.BucketHash
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.catalog.functions.{BoundFunction, ScalarFunction, UnboundFunction}
import org.apache.spark.sql.types.{DataType, IntegerType, StructType}

/** Driver side: `bucket(buckets, value)`, the bucket of a row whose whole bucket key the value is. Spark knows by
  * it that two tables hold equal values in buckets of one number.
  */
object BucketFunction extends UnboundFunction {
  override val name: String = "bucket"
  override def description(): String = s"$name(buckets, value): the bucket of a row with that bucket key"

  override def bind(arguments: StructType): BoundFunction = arguments.fields.map(_.dataType) match {
    case Array(IntegerType, key) => new BucketOfValue(key)
    case other => throw new UnsupportedOperationException(
        s"$name takes a number of buckets, an INT, and a value; found ${other.map(_.sql).mkString(", ")}")
  }
}

/** Both sides: the bucket of one row. Equal names mean equal buckets, so the type is part of the name. */
final class BucketOfValue(key: DataType) extends ScalarFunction[Int] {
  private val hash = new BucketHash(Array(key), 1)

  override def name(): String = BucketFunction.name
  override def canonicalName(): String = s"keyfold.${BucketFunction.name}(${key.catalogString})"
  override def inputTypes(): Array[DataType] = Array(IntegerType, key)
  override def resultType(): DataType = IntegerType
  override def isResultNullable: Boolean = false
  override def produceResult(row: InternalRow): Int = BucketHash.bucket(hash.hash(row), row.getInt(0))
}
