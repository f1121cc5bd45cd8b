package keyfold.spark.read

import com.fasterxml.jackson.databind.JsonNode
import keyfold.spark.{Json, Settings}
import keyfold.spark.table.Names
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.expressions.Expressions
import org.apache.spark.sql.connector.read.{HasPartitionKey, InputPartition}
import org.apache.spark.sql.connector.read.partitioning.KeyGroupedPartitioning
import org.apache.spark.sql.keyfold.arrow.MetadataRows
import org.apache.spark.sql.types.{IntegerType, StructType}

/** Driver side: a scan whose tasks are the table's buckets, so that Spark joins and groups by the bucket key
  * without a shuffle; `columns` are those of the partition, then the bucket key.
  */
final case class ByBucket(columns: Seq[String], buckets: Int, tasks: Int) {
  def partitioning: KeyGroupedPartitioning = {
    val names = columns.map(Names.quote)
    new KeyGroupedPartitioning(
      (names.init.map(Expressions.identity) :+ Expressions.bucket(buckets, names.last)).toArray, tasks)
  }
}

object ByBucket {
  private val Name = "read-by-bucket"
  private val Asked = "by_bucket"

  /** The options of a reader, with the session's wish to read by bucket, for tables that can be read so. */
  def asked(options: Map[String, String]): Map[String, String] =
    if (isAsked(options)) options
    else {
      val session = Settings.get(Settings.ReadByBucket).filter(_.trim.equalsIgnoreCase("true"))
      options ++ session.map(_ => Name -> "possible")
    }

  def isAsked(options: Map[String, String]): Boolean = options.keys.exists(_.replace('_', '-').equalsIgnoreCase(Name))

  /** The columns and buckets in Python's answer; None if the scan is not by bucket. */
  def of(plan: JsonNode): Option[ByBucket] =
    Option(plan.get(Asked)).filterNot(_.isNull).map { found =>
      ByBucket(Json.strings(found.get("columns")), found.get("buckets").asInt, plan.get("tasks").size)
    }

  /** The partition and the bucket of each task. */
  def keys(plan: JsonNode, partition: StructType): Array[InternalRow] =
    MetadataRows.ofText(plan.get(Asked).get("keys").asText, partition.add("bucket", IntegerType))
}

/** Both sides: the splits of one task, in Python's own words. */
sealed trait KeyfoldInputPartition extends InputPartition {
  def splits: String
}

final case class AnySplits(override val splits: String) extends KeyfoldInputPartition

final case class SplitsOfBucket(override val splits: String, override val partitionKey: InternalRow)
    extends KeyfoldInputPartition with HasPartitionKey
