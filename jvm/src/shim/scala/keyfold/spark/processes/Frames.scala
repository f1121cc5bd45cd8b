package keyfold.spark.processes

import java.io.{EOFException, IOException}
import java.nio.ByteBuffer
import java.nio.channels.{ReadableByteChannel, WritableByteChannel}

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.{ArrayNode, ObjectNode}
import keyfold.spark.{Json, KeyfoldException}

/** Both sides: one JSON value on the wire, four bytes of big-endian length before it. */
object Frames {
  private val Limit = 512 << 20

  /** The messages of a question, texts of which there may be many, go before it: each in an array of its own. */
  def write(channel: WritableByteChannel, frame: JsonNode): Unit = {
    frame.path("messages").forEach(text => one(channel, Json.node(Seq(text))))
    one(channel, Json.obj().setAll[ObjectNode](frame.asInstanceOf[ObjectNode]).without[JsonNode]("messages"))
  }

  private def one(channel: WritableByteChannel, frame: JsonNode): Unit = {
    val json = Json.bytes(frame)
    val buffer = ByteBuffer.allocate(4 + json.length).putInt(json.length).put(json).flip()
    while (buffer.hasRemaining) channel.write(buffer): Unit
  }

  /** Reads exactly one frame; EOFException when the other side is gone. */
  def read(channel: ReadableByteChannel): JsonNode = {
    val length = exactly(channel, 4).getInt
    if (length < 0 || length > Limit) throw new IOException(s"a frame of ${Integer.toUnsignedString(length)} bytes")
    Json.parse(exactly(channel, length).array())
  }

  /** The "ok" of the next frame, whose tasks are the items of the arrays before it; throws its "error". */
  def answer(channel: ReadableByteChannel): JsonNode = {
    val tasks = Json.node(Nil).asInstanceOf[ArrayNode]
    var frame = read(channel)
    while (frame.isArray) {
      tasks.addAll(frame.asInstanceOf[ArrayNode])
      frame = read(channel)
    }
    if (frame.has("error")) throw KeyfoldException.fromAnswer(frame.get("error"))
    if (tasks.isEmpty) frame.get("ok") else frame.get("ok").asInstanceOf[ObjectNode].set[JsonNode]("tasks", tasks)
  }

  private def exactly(channel: ReadableByteChannel, length: Int): ByteBuffer = {
    val buffer = ByteBuffer.allocate(length)
    while (buffer.hasRemaining)
      if (channel.read(buffer) < 0) throw new EOFException("the worker closed its connection")
    buffer.flip()
  }
}
