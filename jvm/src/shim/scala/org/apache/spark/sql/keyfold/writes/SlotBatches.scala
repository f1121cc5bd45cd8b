package org.apache.spark.sql.keyfold.writes

import java.nio.ByteBuffer
import java.nio.channels.WritableByteChannel
import java.util.Arrays

import scala.collection.mutable

import org.apache.spark.TaskContext
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeReference, AttributeSet, UnsafeRow}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, UnaryNode}
import org.apache.spark.sql.execution.{SparkPlan, UnaryExecNode}
import org.apache.spark.sql.keyfold.arrow.ArrowBatchWriter
import org.apache.spark.sql.types.{BinaryType, IntegerType, StructType}
import org.apache.spark.unsafe.Platform
import org.apache.spark.unsafe.array.ByteArrayMethods

/** Driver side: rows of some columns, behind which stands their slot, as few rows: a slot, the number of its rows, and
  * an Arrow batch of them. Batches are shuffled in place of rows: nothing is done for each row behind the shuffle.
  */
final case class SlotBatches(columns: StructType, child: LogicalPlan, output: Seq[Attribute]) extends UnaryNode {
  override protected def withNewChildInternal(changed: LogicalPlan): SlotBatches = copy(child = changed)
}

object SlotBatches {
  private val form = new StructType().add("slot", IntegerType, nullable = false)
    .add("rows", IntegerType, nullable = false).add("batch", BinaryType, nullable = false)

  def apply(columns: StructType, child: LogicalPlan): SlotBatches =
    SlotBatches(columns, child, form.map(field => AttributeReference(field.name, field.dataType, nullable = false)()))

  /** Executor side: the number of rows in a batch, and its bytes. */
  def rows(batch: InternalRow): Int = batch.getInt(1)
  def bytes(batch: InternalRow): ByteBuffer = ByteBuffer.wrap(batch.getBinary(2))
}

/** Both sides: makes these batches. */
final case class SlotBatchesExec(columns: StructType, output: Seq[Attribute], child: SparkPlan) extends UnaryExecNode {
  override def producedAttributes: AttributeSet = outputSet
  override protected def doExecute(): RDD[InternalRow] = {
    val made = columns
    child.execute().mapPartitionsInternal(rows => new BatchesOfTask(rows, made))
  }
  override protected def withNewChildInternal(changed: SparkPlan): SlotBatchesExec = copy(child = changed)
}

/** Executor side: the batches of one task. A row that it gives is good until the next one is asked for. */
private final class BatchesOfTask(rows: Iterator[InternalRow], schema: StructType) extends Iterator[InternalRow] {
  import BatchesOfTask._

  private val slots = mutable.LongMap.empty[Slot]
  private val record = new RecordOfBatch
  private var held = 0L

  TaskContext.get().addTaskCompletionListener[Unit](_ => slots.values.foreach(_.rows.close())): Unit

  private final class Slot(val number: Int) {
    val rows = new ArrowBatchWriter(schema, record)
    var count = 0
    var bytes = 0L

    def batch(): InternalRow = {
      rows.begin()
      record.clear()
      rows.flush()
      val made = record.of(number, count)
      held -= bytes
      bytes = 0
      count = 0
      made
    }
  }

  override def hasNext: Boolean = rows.hasNext || held > 0

  override def next(): InternalRow = {
    while (rows.hasNext) {
      val row = rows.next().asInstanceOf[UnsafeRow]
      val number = row.getInt(schema.length)
      val slot = slots.getOrElseUpdate(number.toLong, new Slot(number))
      val size = row.getSizeInBytes.toLong
      slot.count += 1
      slot.bytes += size
      held += size
      if (slot.rows.write(row)) return slot.batch()
      if (held > MostBytes) return largest.batch()
    }
    largest.batch()
  }

  private def largest: Slot = slots.values.maxBy(_.bytes)
}

private object BatchesOfTask {
  private val MostBytes = 32L << 20 // of the rows of all slots
}

/** Executor side: a row of a slot and a batch, whose bytes are written straight to their place in it. */
private final class RecordOfBatch extends WritableByteChannel {
  import RecordOfBatch._

  private val row = new UnsafeRow(3)
  private var bytes = new Array[Byte](FirstBytes)
  private var end = Head

  def clear(): Unit = end = Head

  override def write(source: ByteBuffer): Int = {
    val size = source.remaining
    val stop = Math.addExact(end, size)
    if (stop > bytes.length - java.lang.Long.BYTES)
      bytes = Arrays.copyOf(bytes, Math.min(Math.max(2L * bytes.length, 8L + stop), MostBytes).toInt)
    source.get(bytes, end, size)
    end = stop
    size
  }

  def of(slot: Int, rows: Int): UnsafeRow = {
    row.pointTo(bytes, ByteArrayMethods.roundNumberOfBytesToNearestWord(end))
    Platform.putLong(bytes, Platform.BYTE_ARRAY_OFFSET.toLong, 0) // no NULLs
    row.setInt(0, slot)
    row.setInt(1, rows)
    row.setLong(2, (Head.toLong << 32) | (end - Head))
    row
  }

  override def isOpen: Boolean = true
  override def close(): Unit = ()
}

private object RecordOfBatch {
  private val Head = 32 // flags of NULLs, the slot, its rows, the place of the batch
  private val FirstBytes = 1 << 12
  private val MostBytes = ByteArrayMethods.MAX_ROUNDED_ARRAY_LENGTH.toLong
}
