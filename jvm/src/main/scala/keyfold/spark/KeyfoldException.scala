package keyfold.spark

import com.fasterxml.jackson.databind.JsonNode
import org.apache.spark.sql.keyfold.PlainFailure

/** Both sides: a failure of ours, or one that Python reported; `kind` is its class there. */
class KeyfoldException(val kind: String, message: String, cause: Throwable = null)
    extends PlainFailure(message, cause)

object KeyfoldException {
  /** What `{"error": …}` says: our message first, then the cause; Python's traceback below. */
  def fromAnswer(error: JsonNode): KeyfoldException =
    new KeyfoldException(error.path("kind").asText("KeyfoldError"), render(error))

  private def render(error: JsonNode): String = {
    val cause = Json.optional(error, "cause").map(text => s"Caused by: $text")
    val traceback = Json.optional(error, "traceback").map(text => s"\nIn Python:\n${text.stripTrailing}")
    (Seq(error.path("message").asText) ++ cause ++ traceback).mkString("\n")
  }
}
