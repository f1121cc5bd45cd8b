package keyfold.spark.table

import java.util.{Map => JavaMap, Set => JavaSet}

import scala.jdk.CollectionConverters._

import keyfold.spark.changes.{ChangesScan, ChangesScanBuilder}
import keyfold.spark.processes.Threads
import keyfold.spark.questions.{CatalogQuestions, Description, Predicates}
import keyfold.spark.read.KeyfoldScanBuilder
import keyfold.spark.write.{KeyfoldRowLevelOperation, KeyfoldWriteBuilder, WriteMode}
import org.apache.spark.sql.connector.catalog._
import org.apache.spark.sql.connector.catalog.constraints.Constraint
import org.apache.spark.sql.connector.catalog.constraints.Constraint.ValidationStatus
import org.apache.spark.sql.connector.expressions.{Expressions, Transform}
import org.apache.spark.sql.connector.expressions.filter.{AlwaysTrue, Predicate}
import org.apache.spark.sql.connector.metric.CustomTaskMetric
import org.apache.spark.sql.connector.read.ScanBuilder
import org.apache.spark.sql.connector.write._
import org.apache.spark.sql.keyfold.{Refusal, SqlTypes}
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** Driver side: a table at the snapshot that was the latest when Spark loaded it. Its version makes
  * Spark load it once more for each query, so all of a query's scans read one snapshot, the newest.
  */
class KeyfoldTable(val questions: CatalogQuestions, val description: Description)
    extends DescribedTable with SupportsWrite with SupportsDeleteV2 with SupportsRowLevelOperations
    with SupportsSchemaEvolution with KeyfoldPartitions with HiddenColumns {

  override def properties(): JavaMap[String, String] = description.properties.asJava

  override protected def abilities: Set[String] = super.abilities ++ Set("MICRO_BATCH_READ", "BATCH_WRITE",
    "STREAMING_WRITE", "TRUNCATE", "OVERWRITE_BY_FILTER", "OVERWRITE_DYNAMIC", "AUTOMATIC_SCHEMA_EVOLUTION")

  override def partitioning(): Array[Transform] =
    description.partitioning.map(name => Expressions.identity(Names.quote(name))).toArray

  override def constraints(): Array[Constraint] =
    if (description.primaryKey.isEmpty) Array.empty
    else {
      val columns = description.primaryKey.map(name => Expressions.column(Names.quote(name)))
      val key = Constraint.primaryKey("primary_key", columns.toArray).enforced(false)
      Array(key.validationStatus(ValidationStatus.UNVALIDATED).build())
    }

  override def newScanBuilder(options: CaseInsensitiveStringMap): ScanBuilder =
    ChangesScan.asked(options).map(new ChangesScanBuilder(this, _, options))
      .getOrElse(new KeyfoldScanBuilder(this, options))

  override def newWriteBuilder(info: LogicalWriteInfo): WriteBuilder = KeyfoldWriteBuilder(this, info, WriteMode.Append)

  /** `WITH SCHEMA EVOLUTION` adds columns that may be NULL and takes wider numbers; other types are cast. */
  override def supportsColumnChange(change: TableChange.ColumnChange): Boolean = change match {
    case added: TableChange.AddColumn => added.isNullable
    case typed: TableChange.UpdateColumnType =>
      SqlTypes.at(columns(), typed.fieldNames.toSeq).exists(SqlTypes.isWiderNumber(typed.newDataType, _))
    case _ => false
  }

  override def newRowLevelOperationBuilder(info: RowLevelOperationInfo): RowLevelOperationBuilder =
    () => { changesRows = true; new KeyfoldRowLevelOperation(this, info.command) }

  @volatile private var changesRows = false

  /** Whole partitions go without being read. Others lose rows one by one, for which Spark alone wants a condition. */
  override def canDeleteWhere(predicates: Array[Predicate]): Boolean = {
    val asked = conditions(predicates)
    if (asked.isEmpty && !changesRows && !description.deletesPartitions)
      throw Refusal(s"DELETE FROM ${name()} without a condition needs the session extension of keyfold: its rows are "
        + "deleted one by one, for which Spark alone wants a condition. Start Spark with --conf "
        + "spark.sql.extensions=keyfold.spark.KeyfoldExtensions, or write WHERE 1 = 1")
    description.deletesPartitions && asked.forall { condition =>
      val columns = condition.references.map(_.fieldNames.mkString(".")).toSet
      columns.subsetOf(description.partitioning.toSet) && description.pushdown.decides(condition, readable)
    }
  }

  override def deleteWhere(predicates: Array[Predicate]): Unit =
    questions.ask("delete_where", "table" -> description.handle,
      "filters" -> conditions(predicates).flatMap(Predicates.toJson)): Unit

  private def conditions(predicates: Array[Predicate]): Seq[Predicate] =
    predicates.toSeq.filterNot(_.isInstanceOf[AlwaysTrue])

  override def truncateTable(): Boolean = {
    questions.ask("truncate_table", "table" -> description.handle): Unit
    true
  }

  override def equals(other: Any): Boolean =
    PartialFunction.cond(other) { case table: KeyfoldTable => table.identity == identity }
  override def hashCode(): Int = identity.hashCode

  private def identity = (questions.name, name(), id(), version())
}

/** Driver side: a table that can be read, by Python's description. */
trait DescribedTable extends SupportsRead {
  def description: Description

  override def name(): String = description.name
  override def id(): String = description.id
  override def version(): String = description.version
  override def columns(): Array[Column] = description.columns
  override def capabilities(): JavaSet[TableCapability] =
    TableCapability.values.toSet.filter(known => abilities(known.name)).asJava

  /** Names of capabilities, as Spark 4.2 lacks the last one: a scan's rows stay as they are if it reads more columns. */
  protected def abilities: Set[String] = Set("BATCH_READ", "SCAN_MERGING")
  override def toString: String = name()
}

/** Driver side: `t$ro`, the files of the highest level alone: nothing to merge, and as old as the last
  * full compaction. Everything a scan of the table can do, it can do here.
  */
final case class ReadOptimizedTable(table: KeyfoldTable) extends DescribedTable with HiddenColumns {
  override def description: Description = table.description
  override def partitioning(): Array[Transform] = table.partitioning()
  override def properties(): JavaMap[String, String] = table.properties()

  override def newScanBuilder(options: CaseInsensitiveStringMap): ScanBuilder = {
    val all = options.asCaseSensitiveMap.asScala.toMap + ("read-optimized" -> "true")
    table.newScanBuilder(new CaseInsensitiveStringMap(all.asJava))
  }
}

/** Driver side: a table that is being created or replaced, seen by others only once it is committed. */
final class StagedKeyfoldTable(questions: CatalogQuestions, description: Description)
    extends KeyfoldTable(questions, description) with StagedTable {

  override def commitStagedChanges(): Unit = finish("commit_staged")
  override def abortStagedChanges(): Unit = Threads.uninterrupted(finish("abort_staged"))
  override def reportDriverMetrics(): Array[CustomTaskMetric] = Array.empty

  private def finish(question: String): Unit = questions.ask(question, "staged" -> description.json.get("staged")): Unit
}

/** Driver side: column names as Spark's expressions parse them. */
object Names {
  def quote(name: String): String = s"`${name.replace("`", "``")}`"

  /** A name as SQL takes it: parts joined by dots, in backticks where they need them. */
  def shown(parts: Seq[String]): String =
    parts.map(part => if (part.matches("[A-Za-z_][A-Za-z0-9_]*")) part else quote(part)).mkString(".")

  private val WithDollar = """(?:\w+\.)*+[A-Za-z_]\w*+(?:\$\w+)+""".r

  /** The parts of the name around the `$` at this place of a text that Spark can't read for it. */
  def unquoted(text: String, place: Int): Option[Seq[String]] =
    WithDollar.findAllMatchIn(text).find(found => found.start < place && place < found.end).map(_.matched.split('.').toSeq)

  def hint(unquoted: Seq[String]): String = s"a name with a $$ needs backticks: ${shown(unquoted)}"
}
