package org.apache.spark.sql.keyfold.groups

import scala.collection.mutable.ArrayBuffer

import org.apache.spark.{SparkEnv, TaskContext}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.{AggregateFunction, TypedImperativeAggregate}
import org.apache.spark.sql.execution.UnsafeKVExternalSorter
import org.apache.spark.sql.types.{StructField, StructType}
import org.apache.spark.unsafe.Platform
import org.apache.spark.unsafe.map.BytesToBytesMap

/** Executor side: the groups of one task by their numbers: the key of each, and the buffer in which Spark's code finds
  * its accumulators. They are objects of Java, so there is an end to them; keys are found in Spark's map of bytes.
  */
final class GroupBuffers(created: () => InternalRow) {
  private val task = TaskContext.get()
  private val memory = task.taskMemoryManager()
  private val numbers = new BytesToBytesMap(memory, GroupBuffers.Few, memory.pageSizeBytes)
  private val number = new Array[Long](1)
  private var hasRoom = true
  private val found = new ArrayBuffer[UnsafeRow]
  private val buffers = new ArrayBuffer[InternalRow]

  task.addTaskCompletionListener[Unit](_ => numbers.free()): Unit

  def size: Int = found.size
  def isFull: Boolean = size >= GroupBuffers.Most || !hasRoom
  def apply(group: Int): InternalRow = buffers(group)

  /** The keys of all groups. */
  def keys: scala.collection.IndexedSeq[UnsafeRow] = found

  /** The number of the group with this key; -1 for a new key. */
  def find(key: UnsafeRow): Int = {
    val place = numbers.lookup(key.getBaseObject, key.getBaseOffset, key.getSizeInBytes)
    if (place.isDefined) Platform.getLong(place.getValueBase, place.getValueOffset).toInt else -1
  }

  /** Begins a group with this key, which is kept. Without room for its number the groups are full. */
  def grow(key: UnsafeRow): Unit = {
    number(0) = size
    val (base, offset, bytes) = (key.getBaseObject, key.getBaseOffset, key.getSizeInBytes)
    hasRoom &&= numbers.lookup(base, offset, bytes).append(base, offset, bytes, number, Platform.LONG_ARRAY_OFFSET, 8)
    found += key
    buffers += created()
  }

  def clear(): Unit = {
    numbers.reset()
    hasRoom = true
    found.clear()
    buffers.clear()
  }
}

object GroupBuffers {
  private val Most = 1 << 18
  private val Few = 1 << 12
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
