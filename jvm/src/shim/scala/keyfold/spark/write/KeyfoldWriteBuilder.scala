package keyfold.spark.write

import java.util.Locale

import keyfold.spark.questions.Predicates
import keyfold.spark.table.KeyfoldTable
import org.apache.spark.sql.connector.expressions.filter.Predicate
import org.apache.spark.sql.connector.write._
import org.apache.spark.sql.internal.connector.SupportsStreamingUpdateAsAppend
import org.apache.spark.sql.keyfold.Refusal
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** Driver side: gathers what kind of write Spark wants. */
final case class KeyfoldWriteBuilder(table: KeyfoldTable, info: LogicalWriteInfo, mode: WriteMode)
    extends WriteBuilder with SupportsOverwriteV2 with SupportsDynamicOverwrite with SupportsStreamingUpdateAsAppend {

  override def canOverwrite(predicates: Array[Predicate]): Boolean = {
    predicates.find(Predicates.toJson(_).isEmpty).foreach { predicate =>
      val names = table.description.partitioning
      val takes = if (names.isEmpty) "the table has none" else names.mkString(", ")
      throw Refusal(s"table ${table.name()}: an overwrite replaces whole partitions, so its condition compares "
        + s"partition columns ($takes) with constants; found $predicate")
    }
    true
  }

  override def overwrite(predicates: Array[Predicate]): WriteBuilder =
    copy(mode = WriteMode.Overwrite(predicates.toSeq))

  override def truncate(): WriteBuilder = {
    val isDynamic = WriteMode.isDynamic(table.name(), info.options).contains(true)
    val isPartitioned = table.description.partitioning.nonEmpty
    copy(mode = if (isDynamic && isPartitioned) WriteMode.OverwriteDynamic else WriteMode.Overwrite(Nil))
  }

  override def overwriteDynamicPartitions(): WriteBuilder = copy(mode = WriteMode.OverwriteDynamic)

  override def build(): Write = {
    table.description.unwritable.foreach(reason => throw Refusal(reason))
    TargetColumns.checkSeen(table, info.options)
    KeyfoldWrite(table, info, mode, hasOrdinal = false)
  }
}

/** Driver side: the rows that a write replaces: none, those that filters match, or the partitions it touches. */
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
