package keyfold.spark.write

import java.util.Locale

import org.apache.spark.sql.connector.expressions.filter.Predicate
import org.apache.spark.sql.keyfold.Refusal
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** Driver side: what a write replaces: nothing, what the filters match, or the partitions it touches. */
sealed abstract class WriteMode(val name: String, val filters: Seq[Predicate])

object WriteMode {
  case object Append extends WriteMode("append", Nil)
  case object OverwriteDynamic extends WriteMode("overwrite_dynamic", Nil)
  final case class Overwrite(matching: Seq[Predicate]) extends WriteMode("overwrite", matching)

  /** Spark's option of writers; of what writes to a catalog's table Spark itself does not look at it. */
  val PartitionOverwriteMode = "partitionOverwriteMode"

  /** Whether the option says that only partitions with new rows are replaced; None where it is not given. */
  def isDynamic(table: String, options: CaseInsensitiveStringMap): Option[Boolean] =
    Option(options.get(PartitionOverwriteMode)).map(text => text.toLowerCase(Locale.ROOT) match {
      case "dynamic" => true
      case "static" => false
      case _ => throw Refusal(s"option $PartitionOverwriteMode of a write to table $table: expected static or "
          + s"dynamic, found '$text'")
    })
}
