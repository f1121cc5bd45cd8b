package org.apache.spark.sql.keyfold.arrow

import java.io.ByteArrayInputStream
import java.nio.channels.{Channels, ReadableByteChannel}
import java.util.Base64

import scala.collection.mutable.ArrayBuffer
import scala.jdk.CollectionConverters._

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection
import org.apache.spark.sql.catalyst.util.DateTimeUtils
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.StructType

/** Driver side: an Arrow IPC stream as rows that stay. */
object MetadataRows {
  def read(channel: ReadableByteChannel, schema: StructType): Array[InternalRow] = {
    val stream = new ArrowBatchReader(channel)
    val kept = UnsafeProjection.create(schema)
    val rows = ArrayBuffer.empty[InternalRow]
    try {
      while (stream.next()) stream.current.rowIterator.asScala.foreach(row => rows += kept(row).copy())
    } finally stream.close()
    rows.toArray
  }

  /** Rows that are a text in an answer of Python. */
  def ofText(text: String, schema: StructType): Array[InternalRow] =
    read(Channels.newChannel(new ByteArrayInputStream(Base64.getDecoder.decode(text))), schema)

  /** The session's zone, an offset as `+01:00` where it is one by any name. */
  def zone: String = DateTimeUtils.getZoneId(SQLConf.get.sessionLocalTimeZone).normalized.getId
}
