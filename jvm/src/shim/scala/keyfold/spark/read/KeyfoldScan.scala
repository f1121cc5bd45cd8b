package keyfold.spark.read

import java.util.{Map => JavaMap, OptionalLong}

import com.fasterxml.jackson.databind.JsonNode
import keyfold.spark.{Json, Settings}
import keyfold.spark.jobs.PythonJob
import keyfold.spark.metrics.ScanMetrics
import keyfold.spark.questions.{Predicates, Pushdown, Summary}
import keyfold.spark.table.{KeyfoldTable, Names}
import org.apache.spark.sql.connector.expressions.{Expressions, NamedReference}
import org.apache.spark.sql.connector.expressions.filter.Predicate
import org.apache.spark.sql.connector.metric.{CustomMetric, CustomTaskMetric}
import org.apache.spark.sql.connector.read._
import org.apache.spark.sql.connector.read.Scan.ColumnarSupportMode
import org.apache.spark.sql.connector.read.colstats.ColumnStatistics
import org.apache.spark.sql.connector.read.partitioning.{Partitioning, UnknownPartitioning}
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream
import org.apache.spark.sql.keyfold.{Refusal, SqlTypes}
import org.apache.spark.sql.keyfold.reads.RuntimeFilters
import org.apache.spark.sql.types.StructType
import org.slf4j.LoggerFactory

/** Driver side: one scan of one snapshot. Python plans it at the first question Spark has about it,
  * and once: Spark asks for statistics, partitions and text several times a query. It is planned once more where
  * a join finds conditions while the query runs; statistics and text are those of the first plan. `isOfChange`: the scan of a statement that
  * changes rows.
  */
final case class KeyfoldScan(
    table: KeyfoldTable,
    columns: StructType,
    filters: Seq[Predicate],
    enforced: Seq[Predicate],
    limit: Option[Int],
    isTop: Boolean,
    summary: Option[Summary],
    options: Map[String, String],
    isOfChange: Boolean = false)
    extends Scan with Batch with SupportsReportStatistics with SupportsReportPartitioning
    with SupportsRuntimeV2Filtering {

  private lazy val plan: JsonNode = planned(filters)
  @volatile private var narrowed: Option[JsonNode] = None
  @volatile private var isStream = false

  private def planned(filters: Seq[Predicate]): JsonNode = PythonJob.begin(table.questions, Some(table), "plan_scan",
    again = true, "columns" -> (if (summary.isEmpty) columns.fieldNames else Array.empty[String]),
    "parts" -> parts,
    "filters" -> filters.flatMap(Predicates.toJson),
    "enforced" -> enforced.flatMap(Predicates.toJson),
    "limit" -> limit,
    "is_top" -> isTop,
    "aggregate" -> summary.map(_.toJson),
    "cores" -> Settings.cores,
    "options" -> (options - KeyfoldScan.ToLookUp),
    "is_of_change" -> isOfChange)(_.answer())

  /** The parts of nested columns that are read. */
  def parts: Map[String, Any] =
    if (summary.isEmpty) Pushdown.parts(columns, table.readable) else Map.empty

  /** The most keys that conditions name which Python decides: none if they leave a column of the key open, or it has none. */
  def keysAsked: Option[Double] = Option(table.description.primaryKey.map(Pushdown.values(_, enforced)))
    .filter(all => summary.isEmpty && all.nonEmpty && all.forall(_.nonEmpty)).map(_.map(_.min.toDouble).product)

  override def readSchema(): StructType = columns
  override def toBatch(): Batch = this
  override def columnarSupportMode(): ColumnarSupportMode = ColumnarSupportMode.SUPPORTED

  override def description(): String =
    if (isStream) s"keyfold: stream of ${table.name()}" else s"keyfold: ${plan.path("description").asText}$notFollowed"

  /** A note that the hint LOOKUP was not followed: where a scan is planned, nothing is looked up. */
  private def notFollowed: String = if (options.contains(KeyfoldScan.ToLookUp)) s", ${KeyfoldScan.NotFollowed}" else ""

  /** Whether a join inserts the keys that it does not find: the reader's option says so, or, under the hint, the table's. */
  def insertsKeys: Boolean =
    options.collectFirst { case (name, text) if name.equalsIgnoreCase(KeyfoldScan.Inserting) => text }
      .orElse(table.description.properties.get(KeyfoldScan.Inserting).filter(_ => notFollowed.nonEmpty))
      .exists(text => text.trim.toBooleanOption.getOrElse(throw Refusal(s"option ${KeyfoldScan.Inserting} of reading "
        + s"table ${table.name()}: expected true or false, found '$text'")))

  override def toMicroBatchStream(checkpoint: String): MicroBatchStream = {
    isStream = true
    new KeyfoldStream(table, columns, KeyfoldStream.Rows, options)
  }

  /** The size of the result, as Spark estimates its own file scans: the bytes of the files by the share of their
    * columns that is read, and no more rows than LIMIT or an aggregate leaves. Rows are counted before the merge,
    * unless `sys.analyze` has counted them.
    */
  override def estimateStatistics(): Statistics = if (isStream) KeyfoldScan.Unknown else new Statistics {
    private val stored = plan.path("rows").asLong
    private val analyzed = plan.path("statistics")
    private val rows = Math.min(analyzed.path("rows").asLong(stored), mostRows)
    private val share = KeyfoldScan.width(columns) / KeyfoldScan.width(SqlTypes.ofRows(table.columns()))
    private val bytes = plan.path("bytes").asLong * share * rows / Math.max(stored, 1L)

    override def sizeInBytes(): OptionalLong = OptionalLong.of(Math.max(1L, bytes.toLong))
    override def numRows(): OptionalLong = OptionalLong.of(rows)
    override def columnStats(): JavaMap[NamedReference, ColumnStatistics] =
      ColumnFigures.of(analyzed.path("columns"), columns)
  }

  /** A task makes one row of a partition if groups are made by nothing else, and stops at the limit: its own, or
    * that of each split.
    */
  private def mostRows: Long = {
    val (tasks, splits) = (plan.get("tasks").size.toLong, plan.path("splits").asLong)
    val partitioning = table.description.partitioning.toSet
    summary.filter(_.by.forall(column => partitioning(column.name))).map(_ => splits)
      .orElse(limit.map(_.toLong * (if (isTop) splits else tasks)))
      .getOrElse(Long.MaxValue)
  }

  /** Conditions over key columns that Python decides: they leave out partitions, buckets, files and rows. None
    * where the scan counts its rows up to a limit, or a statement changes rows: Spark would read the keys once more.
    */
  override def filterAttributes(): Array[NamedReference] = {
    val names = summary.map(_.by.map(_.name)).getOrElse(columns.fieldNames.toSeq)
    if (limit.isDefined || isOfChange) Array.empty
    else names.filter(table.description.pushdown.columns).map(name => Expressions.column(Names.quote(name))).toArray
  }

  /** Spark then asks for the partitions anew, and only after that for what reads them. */
  override def filter(found: Array[Predicate]): Unit =
    narrowed = Some(planned(filters ++ found.toSeq.flatMap(RuntimeFilters.bounded)))

  private def current: JsonNode = narrowed.getOrElse(plan)

  override def planInputPartitions(): Array[InputPartition] = {
    if (insertsKeys) throw Refusal(s"reading table ${table.name()} with ${KeyfoldScan.Inserting} = true: expected the hint "
      + "LOOKUP over it, in an inner or left outer join whose ON gives every column of the primary key "
      + s"(${table.description.primaryKey.mkString(", ")}) a value of its type; for this query leave the option out, or "
      + "set it to false")
    if (notFollowed.nonEmpty) KeyfoldScan.Log.warn(s"table ${table.name()}: ${KeyfoldScan.NotFollowed}")
    val tasks = Json.strings(current.get("tasks"))
    if (byBucket.isEmpty || tasks.isEmpty) tasks.map(AnySplits(_)).toArray
    else tasks.zip(ByBucket.keys(current, table.partitionSchema())).map(SplitsOfBucket.tupled).toArray
  }

  /** Asked of every scan, so it plans those only that were asked for. */
  override def outputPartitioning(): Partitioning =
    byBucket.filter(_.columns.forall(columns.fieldNames.contains(_))).map(_.partitioning)
      .getOrElse(new UnknownPartitioning(0))

  private lazy val byBucket: Option[ByBucket] =
    Option.when(ByBucket.isAsked(options) && !isStream)(plan).flatMap(ByBucket.of)

  override def createReaderFactory(): PartitionReaderFactory =
    KeyfoldReaderFactory(Json.text(current.get("scan")))

  override def supportedCustomMetrics(): Array[CustomMetric] = ScanMetrics.declared
  override def reportDriverMetrics(): Array[CustomTaskMetric] =
    if (isStream) Array.empty else ScanMetrics.ofPlan(current.path("metrics"))
}

object KeyfoldScan {
  /** The option by which a hint says that keys are looked up in place of this scan. */
  val ToLookUp = "keyfold.lookup"
  val Inserting = "lookup.insert-if-not-exists"

  private val Log = LoggerFactory.getLogger(classOf[KeyfoldScan])
  private val NotFollowed = "the hint LOOKUP was not followed: expected an inner, left outer, left semi or left anti " +
    "join, whose ON gives the columns of the key, those of partitions among them, values of their types"

  /** The size of a stream, which is not known. */
  private[spark] object Unknown extends Statistics {
    override def sizeInBytes(): OptionalLong = OptionalLong.empty()
    override def numRows(): OptionalLong = OptionalLong.empty()
  }

  /** Bytes of a row in memory, what Spark adds to each included. */
  private def width(columns: StructType): Double = 8.0 + columns.defaultSize
}
