package keyfold.spark

import com.fasterxml.jackson.databind.JsonNode
import org.apache.spark.sql.keyfold.{PlainFailure, Refusal}

/** Both sides: a failure of ours, or one that Python reported; `kind` is its class there. */
class KeyfoldException(val kind: String, message: String, cause: Throwable = null, details: String = "")
    extends PlainFailure(kind, message + details, cause) {
  /** The message alone, without Python's cause and traceback. */
  val sentence: String = message
}

object KeyfoldException {
  private val Mismatch = "EnvironmentMismatchError"
  private val Foreign = "something other than keyfold's worker answers there, or one of another version"

  /** That a Python process ended while it was asked something. */
  def death(message: String, cause: Throwable): KeyfoldException = new KeyfoldException(Kinds.Died, message, cause)

  /** That what came from a worker is nothing a worker says; its connection is of no use any more. */
  def foreign(found: String, cause: Throwable = null): KeyfoldException = new KeyfoldException(Mismatch,
    s"expected an answer of keyfold's Python worker, found $found; $Foreign", cause)

  def isForeign(failure: KeyfoldException): Boolean = failure.sentence.endsWith(Foreign)

  def isDeath(failure: Throwable): Boolean = failure match {
    case ours: KeyfoldException => ours.kind == Kinds.Died
    case refused: Refusal => isDeath(refused.getCause)
    case _ => false
  }

  /** What `{"error": …}` says: our message first, then the cause; Python's traceback below. */
  def fromAnswer(error: JsonNode): KeyfoldException =
    new KeyfoldException(error.path("kind").asText("KeyfoldError"), error.path("message").asText,
      details = details(error))

  private def details(error: JsonNode): String = {
    val cause = Json.optional(error, "cause").map(text => s"\nCaused by: $text")
    val traceback = Json.optional(error, "traceback").map(text => s"\n\nIn Python:\n${text.stripTrailing}")
    (cause ++ traceback).mkString
  }
}
