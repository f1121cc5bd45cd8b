package org.apache.spark.sql.keyfold.groups

import java.io.IOException
import java.nio.ByteBuffer
import java.nio.channels.FileChannel
import java.nio.file.{Files, Path, StandardOpenOption}

import com.fasterxml.jackson.databind.JsonNode
import keyfold.spark.Json
import org.apache.arrow.memory.util.MemoryUtil
import org.apache.spark.sql.keyfold.{LocalFolder, SqlTypes}
import org.apache.spark.sql.types._
import org.apache.spark.storage.StorageUtils

/** Both sides: how values of a column stand in shared memory: `width` bytes each, or, if that is 0, bytes behind one
  * another. Values of types that have neither form are packed: each is the bytes of a row.
  */
final case class SharedColumn(width: Int, isPacked: Boolean)

object SharedColumn {
  def of(kind: DataType): SharedColumn = kind match {
    case flat if SqlTypes.isWord(flat) => SharedColumn(flat.defaultSize, isPacked = false)
    case _: StringType | BinaryType => Bytes
    case _ => Packed
  }

  private val Bytes = SharedColumn(0, isPacked = false)
  val Packed: SharedColumn = SharedColumn(0, isPacked = true)
}

/** Executor side: memory that a worker shares: a file without a name, in some slots of equal form, each with a batch of
  * rows. Its bytes are taken from the system when it is made, since a page that can't be had later would end the JVM.
  */
final class FoldArea(columns: IndexedSeq[SharedColumn], val room: Int) {
  import FoldArea._

  private var end = 0L
  /** The places in a slot of each column's validity, the ends of its values, and the values. */
  val places: IndexedSeq[(Long, Long, Long)] = columns.map { column =>
    if (column.width > 0) (taken(Rows), end, taken(column.width * Rows))
    else (taken(Rows), taken(4L * Rows), taken(room))
  }
  val slot: Long = end
  /** The number of slots: one where values are so large that memory counts more than that nobody waits. */
  val slots: Int = if (room > Large) 1 else Slots
  private val (path, mapped) = made(slot * slots)
  val address: Long = MemoryUtil.getByteBufferAddress(mapped)

  private def taken(bytes: Long): Long = {
    val start = end
    end += (bytes + 63) / 64 * 64
    start
  }

  def json: JsonNode = Json.obj("path" -> path.toString, "slot" -> slot,
    "places" -> places.zip(columns).map { case ((valid, ends, data), column) => Seq(valid, ends, data, column.width) })

  /** The worker has opened it: its name is not needed any more. */
  def opened(): Unit = Files.deleteIfExists(path): Unit

  def close(): Unit = {
    opened()
    StorageUtils.dispose(mapped)
  }
}

object FoldArea {
  val Rows = 1 << 15
  private val Slots = 4
  private val Large = 8 << 20
  private val Memory = Path.of("/dev/shm")
  private def Temporary = System.getProperty("java.io.tmpdir")
  private val Zeros = 1 << 20

  private def made(size: Long): (Path, ByteBuffer) =
    try made(Memory, size)
    catch { case _: IOException => made(Path.of(LocalFolder.current.getOrElse(Temporary)), size) }

  private def made(folder: Path, size: Long): (Path, ByteBuffer) = {
    val path = Files.createTempFile(folder, "keyfold-", ".rows")
    try {
      val file = FileChannel.open(path, StandardOpenOption.READ, StandardOpenOption.WRITE)
      try {
        while (file.position() < size)
          file.write(ByteBuffer.allocate(Math.min(Zeros, size - file.position()).toInt)): Unit
        path -> file.map(FileChannel.MapMode.READ_WRITE, 0, size)
      } finally file.close()
    } catch {
      case failure: IOException =>
        Files.deleteIfExists(path): Unit
        throw failure
    }
  }
}
