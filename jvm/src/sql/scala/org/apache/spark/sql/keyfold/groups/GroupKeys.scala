package org.apache.spark.sql.keyfold.groups

import org.apache.spark.TaskContext
import org.apache.spark.memory.SparkOutOfMemoryError
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.unsafe.Platform
import org.apache.spark.unsafe.map.BytesToBytesMap

/** Executor side: the keys of groups in memory that Spark manages, each with the group's number. */
final class GroupKeys(fields: Int) {
  private val task = TaskContext.get()
  private val memory = task.taskMemoryManager()
  private val number = new Array[Long](1)
  private var map = made()

  task.addTaskCompletionListener[Unit](_ => map.free()): Unit

  private def made(): BytesToBytesMap = new BytesToBytesMap(memory, GroupKeys.Few, memory.pageSizeBytes)

  def size: Int = map.numKeys

  /** The number of the group with this key, which is the next one for a new key; -1 if there is no room for it. */
  def find(key: UnsafeRow): Int = {
    val place = map.lookup(key.getBaseObject, key.getBaseOffset, key.getSizeInBytes)
    if (place.isDefined) Platform.getLong(place.getValueBase, place.getValueOffset).toInt
    else {
      number(0) = map.numKeys
      val isIn = place.append(key.getBaseObject, key.getBaseOffset, key.getSizeInBytes, number, Platform.LONG_ARRAY_OFFSET,
        8)
      if (!isIn && map.numKeys == 0)
        throw new SparkOutOfMemoryError("UNABLE_TO_ACQUIRE_MEMORY",
          java.util.Map.of("requestedBytes", key.getSizeInBytes.toString, "receivedBytes", "0"))
      if (isIn) number(0).toInt else -1
    }
  }

  /** Number and key of each group, in the order of numbers unless Spark needed the memory. The keys are given back
    * as they are read; `clear` is due after it.
    */
  def drain(): Iterator[(Int, UnsafeRow)] = entries(map.destructiveIterator())

  /** The key of a group. */
  def of(number: Int): Option[UnsafeRow] = entries(map.iterator()).find(_._1 == number).map(_._2)

  private def entries(places: BytesToBytesMap#MapIterator): Iterator[(Int, UnsafeRow)] = {
    val key = new UnsafeRow(fields)
    Iterator.continually(places).takeWhile(_.hasNext).map { found =>
      val place = found.next()
      key.pointTo(place.getKeyBase, place.getKeyOffset, place.getKeyLength)
      Platform.getLong(place.getValueBase, place.getValueOffset).toInt -> key
    }
  }

  def clear(): Unit = {
    map.free()
    map = made()
  }

  /** Nothing is asked of it any more. */
  def free(): Unit = map.free()
}

object GroupKeys {
  private val Few = 1 << 12
}
