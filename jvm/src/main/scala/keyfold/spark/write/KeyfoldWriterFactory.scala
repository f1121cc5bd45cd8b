package keyfold.spark.write

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.write.{DataWriter, DataWriterFactory}
import org.apache.spark.sql.types.StructType

/** Executor side: opens one writer a task; carries the job's plan. */
final case class KeyfoldWriterFactory(write: String, schema: StructType) extends DataWriterFactory {
  /** Without the plan, which says how to log in to an object store. */
  override def toString: String = "KeyfoldWriterFactory"

  override def createWriter(partitionId: Int, taskId: Long): DataWriter[InternalRow] =
    new KeyfoldDataWriter(write, schema, partitionId, taskId)
}
