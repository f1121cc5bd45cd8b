package keyfold.spark.write

import keyfold.spark.Unshown
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.metric.CustomTaskMetric
import org.apache.spark.sql.connector.write.{DeltaWriter, DeltaWriterFactory, WriterCommitMessage}
import org.apache.spark.sql.keyfold.writes.DeltaRows

/** Executor side: sends what a statement does to rows as records of three kinds. An update that changes the key
  * deletes the row of the old one.
  */
final class KeyfoldDeltaWriter(records: KeyfoldDataWriter, deltas: DeltaRows) extends DeltaWriter[InternalRow] {
  private val maker = deltas.maker()

  override def insert(row: InternalRow): Unit = records.write(maker.inserted(row))

  override def delete(metadata: InternalRow, id: InternalRow): Unit = records.write(maker.deleted(metadata, id))

  override def update(metadata: InternalRow, id: InternalRow, row: InternalRow): Unit =
    if (maker.isMoved(metadata, id, row)) {
      delete(metadata, id)
      records.write(maker.moved(metadata, row))
    } else records.write(maker.updated(metadata, row))

  override def currentMetricsValues(): Array[CustomTaskMetric] = records.currentMetricsValues()
  override def commit(): WriterCommitMessage = records.commit()
  override def abort(): Unit = records.abort()
  override def close(): Unit = records.close()
}

/** Executor side: opens one writer per task; carries the job's plan. */
final case class KeyfoldDeltaWriterFactory(write: String, deltas: DeltaRows) extends DeltaWriterFactory with Unshown {
  override def createWriter(partitionId: Int, taskId: Long): DeltaWriter[InternalRow] =
    new KeyfoldDeltaWriter(new KeyfoldDataWriter(write, deltas.schema, partitionId, taskId), deltas)
}
