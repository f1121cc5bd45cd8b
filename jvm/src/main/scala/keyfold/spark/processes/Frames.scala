package keyfold.spark.processes

import java.io.EOFException
import java.nio.ByteBuffer
import java.nio.channels.{ReadableByteChannel, WritableByteChannel}

import com.fasterxml.jackson.core.JsonProcessingException
import com.fasterxml.jackson.databind.JsonNode
import keyfold.spark.{Json, KeyfoldException}

/** Both sides: one JSON value on the wire, four bytes of big-endian length before it. */
object Frames {
  private val Limit = 512 << 20

  def write(channel: WritableByteChannel, frame: JsonNode): Unit = {
    val json = Json.bytes(frame)
    val buffer = ByteBuffer.allocate(4 + json.length).putInt(json.length).put(json).flip()
    while (buffer.hasRemaining) channel.write(buffer): Unit
  }

  /** Reads exactly one frame; EOFException when the other side is gone. */
  def read(channel: ReadableByteChannel): JsonNode = {
    val length = exactly(channel, 4).getInt
    if (length < 0 || length > Limit)
      throw KeyfoldException.foreign(s"a frame of ${Integer.toUnsignedString(length)} bytes")
    val body = exactly(channel, length).array()
    val frame = try Json.parse(body)
      catch { case failure: JsonProcessingException => throw KeyfoldException.foreign("no JSON", failure) }
    if (!frame.isObject) throw KeyfoldException.foreign("no JSON object")
    frame
  }

  /** What stands under "ok" of the next frame; throws what stands under "error". */
  def answer(channel: ReadableByteChannel): JsonNode = {
    val frame = read(channel)
    if (frame.has("error")) throw KeyfoldException.fromAnswer(frame.get("error"))
    if (!frame.has("ok")) throw KeyfoldException.foreign("no answer")
    frame.get("ok")
  }

  private def exactly(channel: ReadableByteChannel, length: Int): ByteBuffer = {
    // A length may lie: memory is taken as bytes arrive.
    var buffer = ByteBuffer.allocate(math.min(length, 1 << 20))
    while (buffer.position < length) {
      if (!buffer.hasRemaining)
        buffer = ByteBuffer.allocate(math.min(length.toLong, 2L * buffer.capacity).toInt).put(buffer.flip())
      if (channel.read(buffer) < 0) throw new EOFException("the worker closed its connection")
    }
    buffer.flip()
  }
}
