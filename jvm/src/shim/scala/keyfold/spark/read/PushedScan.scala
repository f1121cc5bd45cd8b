package keyfold.spark.read

import keyfold.spark.questions.Predicates
import keyfold.spark.table.DescribedTable
import org.apache.spark.sql.connector.expressions.filter.Predicate
import org.apache.spark.sql.connector.read.{SupportsPushDownLimit, SupportsPushDownRequiredColumns, SupportsPushDownV2Filters}
import org.apache.spark.sql.keyfold.SqlTypes
import org.apache.spark.sql.types.StructType

/** Driver side: gathers what Spark pushes into any scan; the scan then asks Python once. Conditions over key columns
  * that Python decides are not left to Spark: so LIMIT and aggregates are pushed past them, and no code is generated
  * anew for each key that is looked up.
  */
abstract class PushedScan(table: DescribedTable)
    extends SupportsPushDownRequiredColumns with SupportsPushDownV2Filters with SupportsPushDownLimit {

  protected val whole: StructType = SqlTypes.ofRows(table.columns())
  protected var columns: StructType = whole
  protected var pushed: Seq[Predicate] = Nil
  protected var enforced: Seq[Predicate] = Nil
  protected var limit: Option[Int] = None

  override def pushPredicates(predicates: Array[Predicate]): Array[Predicate] = {
    pushed = predicates.toSeq.filter(Predicates.toJson(_).isDefined)
    enforced = pushed.filter(table.description.pushdown.decides(_, whole))
    predicates.filterNot(enforced.contains)
  }

  override def pushedPredicates(): Array[Predicate] = pushed.toArray

  override def pushLimit(count: Int): Boolean = {
    limit = Some(count)
    true
  }
}
