package org.apache.spark.sql.keyfold

import keyfold.spark.KeyfoldException
import org.apache.spark.sql.AnalysisException

/** Driver side: a statement that we refuse, in the class that Spark and PySpark show without a
  * JVM stack: "fix the table, the option or the statement".
  */
final class Refusal(message: String, cause: Throwable)
    extends AnalysisException(message, None, None, Option(cause), None, Map.empty,
      Array.empty[org.apache.spark.QueryContext])

object Refusal {
  private val Kinds = Set("TableError", "NotSupportedError")

  def apply(message: String): Refusal = new Refusal(message, null)

  /** The same failure as a Refusal if the user's statement is what to change. */
  def of(failure: KeyfoldException): Throwable =
    if (Kinds(failure.kind)) new Refusal(failure.getMessage, failure) else failure
}
