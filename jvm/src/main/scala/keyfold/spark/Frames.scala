package keyfold.spark

import java.io.EOFException
import java.nio.ByteBuffer
import java.nio.channels.{ReadableByteChannel, WritableByteChannel}

import com.fasterxml.jackson.databind.JsonNode

/** Both sides: one JSON value on the wire, four bytes of big-endian length before it. */
object Frames {
  def write(channel: WritableByteChannel, frame: JsonNode): Unit = {
    val json = Json.bytes(frame)
    val buffer = ByteBuffer.allocate(4 + json.length).putInt(json.length).put(json).flip()
    while (buffer.hasRemaining) channel.write(buffer): Unit
  }

  /** Reads exactly one frame; EOFException when the other side is gone. */
  def read(channel: ReadableByteChannel): JsonNode =
    Json.parse(exactly(channel, exactly(channel, 4).getInt).array())

  private def exactly(channel: ReadableByteChannel, length: Int): ByteBuffer = {
    val buffer = ByteBuffer.allocate(length)
    while (buffer.hasRemaining)
      if (channel.read(buffer) < 0) throw new EOFException("the worker closed its connection")
    buffer.flip()
  }
}
