package keyfold.spark.table

import java.util.{HashMap => JavaHashMap, Map => JavaMap, Set => JavaSet}

import org.apache.spark.sql.connector.catalog.{Column, SupportsRead, Table, TableCapability}
import org.apache.spark.sql.connector.catalog.TableCapability.BATCH_READ
import org.apache.spark.sql.connector.expressions.Transform
import org.apache.spark.sql.connector.read.ScanBuilder
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** Driver side: `t$ro`, the files of the highest level alone: nothing to merge, and as old as the last
  * full compaction. Everything a scan of the table can do, it can do here.
  */
final case class ReadOptimizedTable(table: KeyfoldTable) extends Table with SupportsRead {
  override def name(): String = table.name()
  override def id(): String = table.id()
  override def version(): String = table.version()
  override def columns(): Array[Column] = table.columns()
  override def partitioning(): Array[Transform] = table.partitioning()
  override def properties(): JavaMap[String, String] = table.properties()
  override def capabilities(): JavaSet[TableCapability] = JavaSet.of(BATCH_READ)
  override def toString: String = name()

  override def newScanBuilder(options: CaseInsensitiveStringMap): ScanBuilder = {
    val all = new JavaHashMap[String, String](options.asCaseSensitiveMap)
    all.put(ReadOptimizedTable.Option, "true"): Unit
    table.newScanBuilder(new CaseInsensitiveStringMap(all))
  }
}

object ReadOptimizedTable {
  val Option = "read-optimized"
}
