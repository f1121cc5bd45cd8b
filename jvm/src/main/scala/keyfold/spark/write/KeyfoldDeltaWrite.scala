package keyfold.spark.write

import keyfold.spark.table.KeyfoldTable
import org.apache.spark.sql.connector.write.{DeltaBatchWrite, DeltaWrite, DeltaWriterFactory, LogicalWriteInfo,
  PhysicalWriteInfo}
import org.apache.spark.sql.keyfold.DeltaRows
import org.apache.spark.sql.types.StructType

/** Driver side: the write of one DELETE, UPDATE or MERGE. `reads` says that rows of the table decided what is
  * written: the commit then conflicts with jobs that have changed them since. `isOnce`: the write itself finds keys
  * that come twice.
  */
final case class KeyfoldDeltaWrite(
    operation: KeyfoldRowLevelOperation, info: LogicalWriteInfo, reads: Boolean, isOnce: Boolean = false)
    extends ClusteredWrite with DeltaWrite {

  override def table: KeyfoldTable = operation.table
  override def description(): String = operation.description()
  override def toString: String = description()

  private val ids = info.rowIdSchema.get
  private val metadata = info.metadataSchema.orElse(StructType(Nil))

  /** A DELETE has no rows, only their keys. */
  private val rows = if (info.schema.isEmpty) ids else info.schema
  private val deltas = DeltaRows(rows, ids, metadata)

  override def rowSchema: StructType = deltas.schema

  override def toBatch(): DeltaBatchWrite = new KeyfoldBatchWrite(this) with DeltaBatchWrite {
    override def createBatchWriterFactory(physical: PhysicalWriteInfo): DeltaWriterFactory =
      KeyfoldDeltaWriterFactory(job.planned, deltas)
  }

  override def planned(query: Option[String]): String = {
    val stored = metadata.fieldNames.toSeq.map(table.description.sequenceOf)
    val changes = RowChanges(operation.command.name, reads, TargetColumns.assigned(info.options), stored, isOnce)
    ask(rows.fieldNames.toSeq, "ordinal" -> false, "mode" -> WriteMode.Append.name, "filters" -> Nil,
      "changes" -> changes.toJson(hasKinds = true))
  }
}
