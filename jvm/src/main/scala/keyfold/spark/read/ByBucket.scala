package keyfold.spark.read

import com.fasterxml.jackson.databind.JsonNode
import keyfold.spark.Settings
import keyfold.spark.table.Names
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.expressions.Expressions
import org.apache.spark.sql.connector.read.{HasPartitionKey, InputPartition}
import org.apache.spark.sql.connector.read.partitioning.KeyGroupedPartitioning

/** Driver side: a scan whose tasks are the table's buckets, so that Spark joins and groups by the bucket key
  * without a shuffle.
  */
final case class ByBucket(column: String, buckets: Int) {
  def partitioning: KeyGroupedPartitioning =
    new KeyGroupedPartitioning(Array(Expressions.bucket(buckets, Names.quote(column))), buckets)
}

object ByBucket {
  private val Name = "read-by-bucket"

  /** What a reader's option says; None where the session asks, for tables that can be read so. */
  def asked(options: Map[String, String]): Map[String, String] =
    if (isAsked(options)) options
    else {
      val session = Settings.get(Settings.ReadByBucket).filter(_.trim.equalsIgnoreCase("true"))
      options ++ session.map(_ => Name -> "possible")
    }

  def isAsked(options: Map[String, String]): Boolean = options.keys.exists(_.replace('_', '-').equalsIgnoreCase(Name))

  /** What Python answers; None where the scan is not by bucket. */
  def of(plan: JsonNode): Option[ByBucket] =
    Option(plan.get("by_bucket")).filterNot(_.isNull)
      .map(found => ByBucket(found.get("column").asText, found.get("buckets").asInt))
}

/** Both sides: the splits of one task, in Python's own words. */
sealed trait KeyfoldInputPartition extends InputPartition {
  def splits: String
}

final case class AnySplits(override val splits: String) extends KeyfoldInputPartition

final case class SplitsOfBucket(override val splits: String, bucket: Int)
    extends KeyfoldInputPartition with HasPartitionKey {
  override def partitionKey(): InternalRow = InternalRow(bucket)
}
