package keyfold.spark.changes

import java.util.{Set => JavaSet}

import com.fasterxml.jackson.databind.JsonNode
import keyfold.spark.Json
import keyfold.spark.questions.Description
import keyfold.spark.table.{DescribedTable, KeyfoldTable}
import org.apache.spark.sql.connector.catalog.{Changelog, ChangelogContext, Column, TableCapability}
import org.apache.spark.sql.connector.catalog.ChangelogContext.DeduplicationMode
import org.apache.spark.sql.connector.catalog.ChangelogRange.{TimestampRange, VersionRange}
import org.apache.spark.sql.connector.catalog.TableCapability.{BATCH_READ, MICRO_BATCH_READ}
import org.apache.spark.sql.connector.read.ScanBuilder
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** Driver side: `t CHANGES FROM …`. Rows that did not change never come, a key comes once where net changes are asked
  * for, and the images of updates are called as the query wants them: so Spark adds no window to sort all of it out.
  */
final case class KeyfoldChangelog(table: KeyfoldTable) extends Changelog {
  override def name(): String = table.name()
  override def columns(): Array[Column] = table.columns()
  override def containsCarryoverRows(): Boolean = false
  override def containsIntermediateChanges(): Boolean = false
  override def representsUpdateAsDeleteAndInsert(): Boolean = false

  override def newScanBuilder(options: CaseInsensitiveStringMap): ScanBuilder =
    new ChangesScanBuilder(table, table.description.json.get("changes"), options)
}

object KeyfoldChangelog {
  /** The range and the form of changes that the clause asks for, in Python's words. */
  def asked(context: ChangelogContext): Seq[(String, Any)] = Seq(
    "range" -> range(context),
    "net" -> (context.deduplicationMode == DeduplicationMode.NET_CHANGES),
    "updates" -> context.computeUpdates)

  private def range(context: ChangelogContext): JsonNode = context.range match {
    case found: VersionRange => bounds("version", found.startingVersion, found.endingVersion.orElse(null),
        found.startingBoundInclusive, found.endingBoundInclusive)
    case found: TimestampRange => bounds("timestamp", found.startingTimestamp, found.endingTimestamp.orElse(null),
        found.startingBoundInclusive, found.endingBoundInclusive)
    case _ => Json.obj("kind" -> "all")
  }

  private def bounds(kind: String, from: Any, to: Any, withFrom: Boolean, withTo: Boolean): JsonNode =
    Json.obj("kind" -> kind, "from" -> from, "to" -> to, "from_inclusive" -> withFrom, "to_inclusive" -> withTo)
}

/** Driver side: `t$audit_log` and `t$binlog`, read only: the rows of the newest snapshot, or of the range that
  * options name, with the kind of each change.
  */
final case class ChangesTable(table: KeyfoldTable) extends DescribedTable {
  override def capabilities(): JavaSet[TableCapability] = JavaSet.of(BATCH_READ, MICRO_BATCH_READ)
  override def description: Description = table.description

  override def newScanBuilder(options: CaseInsensitiveStringMap): ScanBuilder =
    new ChangesScanBuilder(table, table.description.json.get("changes"), options)
}
