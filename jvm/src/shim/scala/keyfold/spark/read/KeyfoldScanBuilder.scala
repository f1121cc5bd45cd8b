package keyfold.spark.read

import scala.jdk.CollectionConverters._

import keyfold.spark.questions.{Pushdown, Summary}
import keyfold.spark.table.KeyfoldTable
import org.apache.spark.sql.connector.expressions.SortOrder
import org.apache.spark.sql.connector.expressions.aggregate.Aggregation
import org.apache.spark.sql.connector.read.{Scan, SupportsPushDownAggregates, SupportsPushDownTopN}
import org.apache.spark.sql.keyfold.Refusal
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** Driver side: gathers what Spark pushes into a scan of rows: the first rows in an order, and aggregates, too. */
class KeyfoldScanBuilder(table: KeyfoldTable, options: CaseInsensitiveStringMap)
    extends PushedScan(table) with SupportsPushDownTopN with SupportsPushDownAggregates {

  private val all = ByBucket.asked(options.asCaseSensitiveMap.asScala.toMap)
  private var isTop = false
  private var summary: Option[Summary] = None
  private val folds = table.description.pushdown.folds
  private var canFold = KeyfoldScanBuilder.pushesAggregates(table, all)

  /** Some nested columns are read whole. Metadata columns come last; a stored value is one of a column,
    * which is read too.
    */
  override def pruneColumns(required: StructType): Unit = {
    val (own, hidden) = required.fieldNames.partition(whole.fieldNames.contains)
    val stored = hidden.flatMap(table.description.storedColumns.get)
    val nested = table.description.pushdown.nested
    columns = StructType((own ++ stored.filterNot(own.contains(_)) ++ hidden).map { name =>
      if (nested(name) && own.contains(name)) required(name) else table.readable(name)
    })
  }

  /** Spark asks first, then replaces averages by sums and counts and asks again: the first time counts. */
  override def supportCompletePushDown(asked: Aggregation): Boolean = {
    canFold &&= folds.takesAverages(asked)
    false
  }

  /** Each task folds its rows to groups; Spark puts the groups of the tasks together. */
  override def pushAggregation(asked: Aggregation): Boolean = {
    summary = if (canFold && !areApart(asked)) folds.summary(asked, whole) else None
    summary.isDefined
  }

  /** Whether no group is in two buckets of a scan by bucket: then Spark makes the groups without a shuffle. */
  private def areApart(asked: Aggregation): Boolean =
    ByBucket.isAsked(all) && table.description.bucketKeys.size == 1 &&
      table.description.placing.forall(asked.groupByExpressions.flatMap(Pushdown.named).contains(_))

  /** Spark puts the first rows of all splits in order. */
  override def pushTopN(orders: Array[SortOrder], count: Int): Boolean = {
    isTop = table.description.order.answers(orders.toSeq, whole)
    if (isTop) limit = Some(count)
    isTop
  }

  override def isPartiallyPushed(): Boolean = true

  override def build(): Scan = built()

  protected def built(): KeyfoldScan = KeyfoldScan(table, summary.map(_.schema).getOrElse(columns), pushed,
    enforced, limit, isTop, summary, all)
}

object KeyfoldScanBuilder {
  private val Aggregates = "keyfold.aggregate-push-down"

  def pushesAggregates(table: KeyfoldTable, options: Map[String, String]): Boolean = {
    val text = options.collectFirst { case (name, text) if name.equalsIgnoreCase(Aggregates) => text }.getOrElse("true")
    text.toBooleanOption.getOrElse(throw Refusal(
      s"option $Aggregates of reading table ${table.name()}: expected true or false, found '$text'"))
  }
}
