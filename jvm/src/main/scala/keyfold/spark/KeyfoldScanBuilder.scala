package keyfold.spark

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.connector.expressions.filter.Predicate
import org.apache.spark.sql.connector.read.{Scan, SupportsPushDownLimit, SupportsPushDownRequiredColumns,
  SupportsPushDownV2Filters}
import org.apache.spark.sql.keyfold.SqlTypes
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** Driver side: gathers what Spark pushes down; the scan then asks Python once. Every filter is also
  * left to Spark: what a filter prunes before the merge is files, not rows.
  */
final class KeyfoldScanBuilder(table: KeyfoldTable, options: CaseInsensitiveStringMap)
    extends SupportsPushDownRequiredColumns with SupportsPushDownV2Filters with SupportsPushDownLimit {

  private val whole = SqlTypes.ofRows(table.columns())
  private var columns: StructType = whole
  private var pushed: Array[Predicate] = Array.empty
  private var limit: Option[Int] = None

  /** Top-level columns only: a struct is read whole. */
  override def pruneColumns(required: StructType): Unit =
    columns = StructType(required.map(field => whole(field.name)))

  override def pushPredicates(predicates: Array[Predicate]): Array[Predicate] = {
    pushed = predicates.filter(Predicates.toJson(_).isDefined)
    predicates
  }

  override def pushedPredicates(): Array[Predicate] = pushed

  override def pushLimit(count: Int): Boolean = {
    limit = Some(count)
    true
  }

  override def isPartiallyPushed(): Boolean = true

  override def build(): Scan = KeyfoldScan(table, columns, pushed.toSeq, limit,
    options.asCaseSensitiveMap.asScala.toMap)
}
