package org.apache.spark.sql.keyfold

import org.apache.arrow.vector.{BaseFixedWidthVector, BaseVariableWidthVector, FieldVector}
import org.apache.arrow.vector.complex.ListVector
import org.apache.spark.unsafe.Platform

/** Executor side: whether a vector's buffers hold what its counts and offsets say. Arrow does not look, and
  * its memory is read here without bounds: what lies would end the JVM.
  */
object SoundVector {
  private val OffsetBytes = 4L

  /** IllegalArgumentException for one that lies. */
  def check(vector: FieldVector): Unit = {
    val count = vector.getValueCount
    hold(count >= 0 && vector.getValidityBuffer.capacity * 8 >= count, vector, "validity")
    vector match {
      case fixed: BaseFixedWidthVector =>
        val bits = if (fixed.getTypeWidth == 0) 1L else fixed.getTypeWidth * 8L
        hold(fixed.getDataBuffer.capacity * 8 >= bits * count, vector, "values")
      case text: BaseVariableWidthVector =>
        offsets(vector, count, text.getOffsetBuffer.capacity, text.getOffsetBuffer.memoryAddress,
          text.getDataBuffer.capacity)
      case list: ListVector =>
        offsets(vector, count, list.getOffsetBuffer.capacity, list.getOffsetBuffer.memoryAddress,
          list.getDataVector.getValueCount.toLong)
      case _ => vector.getChildrenFromFields.forEach(child =>
        hold(child.getValueCount >= count, vector, "children"))
    }
    vector.getChildrenFromFields.forEach(check(_))
  }

  private def offsets(vector: FieldVector, count: Int, size: Long, address: Long, most: Long): Unit =
    if (count > 0) {
      hold(size >= OffsetBytes * (count + 1L), vector, "offsets")
      var last = Platform.getInt(null, address)
      var isSound = last >= 0
      var row = 1
      while (row <= count) {
        val next = Platform.getInt(null, address + OffsetBytes * row)
        isSound &= next >= last
        last = next
        row += 1
      }
      hold(isSound && last <= most, vector, "offsets")
    }

  private def hold(isSound: Boolean, vector: FieldVector, what: String): Unit =
    if (!isSound) throw new IllegalArgumentException(
      s"the $what of column ${vector.getName} do not fit its ${vector.getValueCount} rows")
}
