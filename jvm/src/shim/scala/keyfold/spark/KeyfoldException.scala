package keyfold.spark

import java.util.regex.Matcher

import com.fasterxml.jackson.databind.JsonNode
import org.apache.spark.sql.keyfold.{PlainFailure, Refusal}

/** Both sides: a failure of ours, or one that Python reported; `kind` is its class there. */
class KeyfoldException(val kind: String, message: String, cause: Throwable = null, details: String = "",
    val group: Option[FailedGroup] = None) extends PlainFailure(kind, message + details, cause) {
  /** The message alone, without Python's cause and traceback. */
  val sentence: String = message

  /** This failure, with the keys of its group in place of the number. */
  def about(keys: String): KeyfoldException = {
    val named = group.fold(message)(failed => message.replaceFirst(s"group ${failed.number}\\b", Matcher.quoteReplacement(keys)))
    new KeyfoldException(kind, named, this, details)
  }
}

/** The group of a query that a failure is about, with its key where Python has that. */
final case class FailedGroup(number: Int, key: Option[Array[Byte]])

object KeyfoldException {
  /** That a Python process ended while it was asked something. */
  def death(message: String, cause: Throwable): KeyfoldException = new KeyfoldException(Kinds.Died, message, cause)

  def isDeath(failure: Throwable): Boolean = failure match {
    case ours: KeyfoldException => ours.kind == Kinds.Died
    case refused: Refusal => isDeath(refused.getCause)
    case _ => false
  }

  /** The failure in `{"error": …}`: our message first, then the cause; Python's traceback below. */
  def fromAnswer(error: JsonNode): KeyfoldException =
    new KeyfoldException(error.path("kind").asText("KeyfoldError"), error.path("message").asText,
      details = details(error), group = Option(error.get("group")).map { number =>
        FailedGroup(number.asInt, Option(error.get("key")).map(_.binaryValue))
      })

  private def details(error: JsonNode): String = {
    val cause = Json.optional(error, "cause").map(text => s"\nCaused by: $text")
    val traceback = Json.optional(error, "traceback").map(text => s"\n\nIn Python:\n${text.stripTrailing}")
    (cause ++ traceback).mkString
  }
}

/** Both sides: kinds of failures, which are Python's classes, as Spark's conditions and SQLSTATEs. */
object Kinds {
  val Table = "TableError"
  val Died = "WorkerDied"
  private val System = "58000"

  private val SqlStates = Map(
    "ConflictError" -> "40001",
    "CorruptDataError" -> "XX001",
    "FoldOverflowError" -> "22003",
    "FunctionError" -> "39000",
    "NamespaceExistsError" -> "42P06",
    "NamespaceNotEmptyError" -> "2BP01",
    "NoSuchNamespaceError" -> "42704",
    "NoSuchTableError" -> "42P01",
    "NotSupportedError" -> "0A000",
    "SnapshotExpiredError" -> "55000",
    Table -> "42000",
    "TableExistsError" -> "42P07",
    "UnknownOutcomeError" -> "08007")

  def sqlState(kind: String): String = SqlStates.getOrElse(kind, System)

  /** `KEYFOLD_CONFLICT` of ConflictError. */
  def condition(kind: String): String = {
    val words = kind.stripPrefix("Keyfold").stripSuffix("Error").split("(?=[A-Z])").filter(_.nonEmpty)
    ("KEYFOLD" +: (if (words.isEmpty) Array("ERROR") else words)).map(_.toUpperCase).mkString("_")
  }
}
