package org.apache.spark.sql.keyfold.groups

import scala.collection.mutable.ArrayBuffer

import org.apache.spark.SparkEnv
import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.{AggregateFunction, TypedImperativeAggregate}
import org.apache.spark.sql.execution.UnsafeKVExternalSorter
import org.apache.spark.sql.keyfold.aggregates.{Accumulator, FoldColumn, FoldFunction}
import org.apache.spark.sql.types.{BinaryType, StructField, StructType}

/** Executor side: the buffers in which Spark's code finds the accumulators of a group, by the group's number. */
trait GroupBuffers {
  def size: Int
  def grow(): Unit
  def apply(group: Int): InternalRow
  def isFull: Boolean
  def clear(): Unit
}

/** Executor side: one buffer for all groups, whose functions are all folds: only the number differs. */
final class SharedBuffer(folds: Seq[FoldFunction], columns: Seq[FoldColumn]) extends GroupBuffers {
  private val accumulators = columns.map(new Accumulator(_, 0)).toArray
  private val places = folds.map(_.mutableAggBufferOffset).toArray
  private val buffer = new SpecificInternalRow(folds.map(_ => BinaryType))
  private var groups = 0

  override def size: Int = groups
  override def isFull: Boolean = false
  override def grow(): Unit = {
    columns.foreach(_.newGroup(): Unit)
    groups += 1
  }

  /** The accumulators are put in anew: Spark leaves payloads in their place. */
  override def apply(group: Int): InternalRow = {
    var i = 0
    while (i < accumulators.length) {
      accumulators(i).number = group
      buffer.update(places(i), accumulators(i))
      i += 1
    }
    buffer
  }

  override def clear(): Unit = groups = 0
}

/** Executor side: a buffer for each group, which holds what Spark's own functions have of it. */
final class OwnBuffers(created: () => InternalRow) extends GroupBuffers {
  private val buffers = new ArrayBuffer[InternalRow]

  override def size: Int = buffers.size
  override def isFull: Boolean = buffers.size >= OwnBuffers.Most
  override def grow(): Unit = buffers += created()
  override def apply(group: Int): InternalRow = buffers(group)
  override def clear(): Unit = buffers.clear()
}

object OwnBuffers {
  private val Most = 1 << 18
}

/** Executor side: groups by key with their serialized accumulators, in memory or spilled. */
final class SortedGroups(keys: Seq[Attribute], functions: Array[AggregateFunction]) {
  private val typed = functions.collect { case function: TypedImperativeAggregate[_] => function }
  private val fields = functions.toSeq.flatMap(_.aggBufferAttributes)
  private val packed = UnsafeProjection.create(fields, fields)
  private val sorter = new UnsafeKVExternalSorter(schema(keys), schema(fields), SparkEnv.get.blockManager,
    SparkEnv.get.serializerManager, TaskContext.get().taskMemoryManager().pageSizeBytes, Int.MaxValue, Long.MaxValue)

  private def schema(attributes: Seq[Attribute]): StructType =
    StructType(attributes.map(field => StructField(field.name, field.dataType, field.nullable)))

  def add(key: UnsafeRow, buffer: InternalRow): Unit = {
    typed.foreach(_.serializeAggregateBufferInPlace(buffer))
    sorter.insertKV(key, packed(buffer))
  }

  def iterator(): UnsafeKVExternalSorter#KVSorterIterator = sorter.sortedIterator()
  def spilled: Long = sorter.getSpillSize
}
