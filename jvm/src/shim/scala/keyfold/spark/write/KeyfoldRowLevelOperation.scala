package keyfold.spark.write

import com.fasterxml.jackson.databind.JsonNode
import keyfold.spark.Json
import keyfold.spark.read.KeyfoldScanBuilder
import keyfold.spark.table.{KeyfoldTable, Names}
import org.apache.spark.sql.connector.expressions.{Expressions, NamedReference}
import org.apache.spark.sql.connector.read.{Scan, ScanBuilder}
import org.apache.spark.sql.connector.write._
import org.apache.spark.sql.keyfold.Refusal
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** Driver side: one DELETE, UPDATE or MERGE, as deltas of rows that their primary key names. Its scan and its
  * write are of one table at one snapshot: the statement is refused at its commit if others changed rows since.
  */
final class KeyfoldRowLevelOperation(val table: KeyfoldTable, override val command: RowLevelOperation.Command)
    extends SupportsDelta {
  table.description.unwritable.foreach(reason => throw Refusal(reason))
  if (table.description.hasNullableKey && table.description.storedKeys.isEmpty)
    throw Refusal(s"$command ${table.name()}: the key may be NULL (primary-key.nullable), so rows are named by metadata "
      + s"columns, which columns of the table hide: rename ${KeyfoldRowLevelOperation.Bucket} and those whose names "
      + "begin with _stored_")

  override def description(): String = s"keyfold $command ${table.name()}"

  override def newScanBuilder(options: CaseInsensitiveStringMap): ScanBuilder =
    new KeyfoldScanBuilder(table, options) {
      override def build(): Scan = built().copy(isOfChange = true)
    }

  override def newWriteBuilder(info: LogicalWriteInfo): DeltaWriteBuilder = new DeltaWriteBuilder {
    override def build(): DeltaWrite = KeyfoldDeltaWrite(KeyfoldRowLevelOperation.this, info, reads = true)
  }

  /** The key. One that may be NULL is part of the metadata, as Spark takes no NULL here. */
  override def rowId(): Array[NamedReference] =
    references(if (table.description.hasNullableKey) Seq(KeyfoldRowLevelOperation.Bucket)
      else table.description.primaryKey)

  override def requiredMetadataAttributes(): Array[NamedReference] =
    references(table.description.storedColumns.keys.toSeq)

  /** An update whose key changes becomes two records where it is written: others are one. */
  override def representUpdateAsDeleteAndInsert(): Boolean = false

  private def references(names: Seq[String]): Array[NamedReference] =
    names.map(name => Expressions.column(Names.quote(name)): NamedReference).toArray
}

object KeyfoldRowLevelOperation {
  /** A metadata column that is never NULL. */
  private val Bucket = "_bucket"
}

/** Driver side: a statement that changes rows, for Python. `assigned` are the columns that its UPDATEs
  * set, None where that is not known; `reads`, whether it looked at rows of the table; `isOnce`, whether it is an error
  * if a key comes twice, deletes included.
  */
final case class RowChanges(command: String, reads: Boolean, assigned: Option[Seq[String]] = None,
    stored: Seq[String] = Nil, isOnce: Boolean = false) {
  def toJson(hasKinds: Boolean): JsonNode = Json.obj("command" -> command, "reads" -> reads, "assigned" -> assigned,
    "stored" -> stored, "has_kinds" -> hasKinds, "is_once" -> isOnce)
}
