package keyfold.spark.write

import keyfold.spark.table.KeyfoldTable
import org.apache.spark.sql.connector.write._
import org.apache.spark.sql.keyfold.writes.DeltaRows
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
  private val sequences = described.storedSequences.keys.toSeq

  private val keys =
    if (described.hasNullableKey)
      described.storedKeys.toSeq.map { case (stored, name) => name -> (ids.length + metadata.fieldIndex(stored)) }
    else ids.fieldNames.toSeq.zipWithIndex

  /** A DELETE has no rows, only their keys. */
  private val rows =
    if (info.schema.isEmpty) StructType(keys.map { case (name, at) => (ids ++ metadata)(at).copy(name = name) })
    else info.schema
  private val deltas = DeltaRows(rows, ids, metadata, keys, sequences)

  override def rowSchema: StructType = deltas.schema

  /** A row that a DELETE removes has no columns but those that name it. */
  override protected def columnOf(name: String): String =
    if (info.schema.isEmpty) described.storedKeys.find(_._2 == name).fold(name)(_._1) else name

  override def toBatch(): DeltaBatchWrite = new KeyfoldBatchWrite(this) with DeltaBatchWrite {
    override def createBatchWriterFactory(physical: PhysicalWriteInfo): DeltaWriterFactory =
      KeyfoldDeltaWriterFactory(job.planned, deltas)
  }

  override def planned(query: Option[String]): String = {
    val stored = sequences.map(described.storedSequences)
    val changes = RowChanges(operation.command.name, reads, TargetColumns.assigned(info.options), stored, isOnce)
    ask(rows.fieldNames.toSeq, "ordinal" -> false, "mode" -> WriteMode.Append.name, "filters" -> Nil,
      "changes" -> changes.toJson(hasKinds = true))
  }
}
