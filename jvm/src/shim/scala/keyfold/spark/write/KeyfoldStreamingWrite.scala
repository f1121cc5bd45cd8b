package keyfold.spark.write

import keyfold.spark.jobs.AfterWrite
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.write.{DataWriter, PhysicalWriteInfo, WriterCommitMessage}
import org.apache.spark.sql.connector.write.streaming.{StreamingDataWriterFactory, StreamingWrite}
import org.apache.spark.sql.types.StructType

/** Driver side: the job of one epoch of a streaming query; Spark makes one for each. The table has an epoch once,
  * however often it is committed. What it touched is compacted while the next epochs go on.
  */
final class KeyfoldStreamingWrite(write: KeyfoldWrite) extends StreamingWrite {
  @volatile private var hasOrdinal = false
  private lazy val job = new WriteJob(write.copy(hasOrdinal = hasOrdinal), Some(write.info.queryId))

  /** The rows have their place in the input as a last column, and come as batches; said while the epoch is planned.
    * Returns their columns.
    */
  def withOrdinal(): StructType = {
    hasOrdinal = true
    write.copy(hasOrdinal = true).rowSchema
  }

  override def createStreamingWriterFactory(info: PhysicalWriteInfo): StreamingDataWriterFactory =
    KeyfoldStreamingWriterFactory(job.factory)

  override def commit(epoch: Long, messages: Array[WriterCommitMessage]): Unit =
    AfterWrite.compact(write.table, job.commit(messages, "epoch" -> epoch), apart = true)

  override def abort(epoch: Long, messages: Array[WriterCommitMessage]): Unit = job.abort(messages)

  override def toString: String = write.copy(hasOrdinal = hasOrdinal).toString
}

/** Executor side: the writers of an epoch's tasks. */
final case class KeyfoldStreamingWriterFactory(ofJob: KeyfoldWriterFactory) extends StreamingDataWriterFactory {
  override def createWriter(partitionId: Int, taskId: Long, epochId: Long): DataWriter[InternalRow] =
    ofJob.createWriter(partitionId, taskId)
}
