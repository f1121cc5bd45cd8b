package keyfold.spark.table

import scala.jdk.CollectionConverters._

import keyfold.spark.questions.{CatalogQuestions, Description, Predicates}
import keyfold.spark.read.PushedScan
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.expressions.filter.Predicate
import org.apache.spark.sql.connector.read.{LocalScan, Scan, ScanBuilder}
import org.apache.spark.sql.keyfold.arrow.MetadataRows
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** Driver side: `t$files` and its kin, read only: rows that Python's driver process makes of what the
  * table says of itself.
  */
final case class MetadataTable(questions: CatalogQuestions, description: Description) extends DescribedTable {
  override def newScanBuilder(options: CaseInsensitiveStringMap): ScanBuilder = new MetadataScanBuilder(this, options)
}

/** Driver side: which columns Spark wants: the others are not worked out. Conditions stay Spark's too. */
final class MetadataScanBuilder(table: MetadataTable, options: CaseInsensitiveStringMap) extends PushedScan(table) {
  override def pruneColumns(required: StructType): Unit = columns = required
  override def build(): Scan = MetadataScan(table, columns, pushed, limit, options.asCaseSensitiveMap.asScala.toMap)
}

/** Driver side: asks for the rows when Spark plans the query; they are part of its plan. */
final case class MetadataScan(table: MetadataTable, columns: StructType, filters: Seq[Predicate], limit: Option[Int],
    options: Map[String, String]) extends LocalScan {
  override def readSchema(): StructType = columns
  override def description(): String = s"keyfold metadata: ${table.name()}"

  override def rows(): Array[InternalRow] = table.questions.rows("read_metadata",
    "table" -> table.description.handle,
    "metadata" -> table.description.metadata,
    "columns" -> columns.fieldNames,
    "filters" -> filters.flatMap(Predicates.toJson),
    "limit" -> limit,
    "options" -> options,
    "zone" -> MetadataRows.zone)(MetadataRows.read(_, columns))
}
