import org.apache.spark.sql.{Encoder, Encoders, SparkSession}
import org.apache.spark.sql.expressions.Aggregator
import org.apache.spark.sql.functions.udaf

/** The function of groups.py as an Aggregator of Spark: the number that is farthest from 0. */
object Farthest extends Aggregator[Long, Long, Long] {
  override def zero: Long = 0L
  override def reduce(best: Long, value: Long): Long = if (math.abs(value) > math.abs(best)) value else best
  override def merge(best: Long, other: Long): Long = reduce(best, other)
  override def finish(best: Long): Long = best
  override def bufferEncoder: Encoder[Long] = Encoders.scalaLong
  override def outputEncoder: Encoder[Long] = Encoders.scalaLong

  def register(spark: SparkSession): Unit = spark.udf.register("scala_farthest", udaf(this)): Unit
}
