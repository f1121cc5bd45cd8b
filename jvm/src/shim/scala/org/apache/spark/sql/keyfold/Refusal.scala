package org.apache.spark.sql.keyfold

import keyfold.spark.{KeyfoldException, Kinds}
import org.apache.spark.{QueryContext, SparkRuntimeException}
import org.apache.spark.sql.AnalysisException
import org.apache.spark.sql.catalyst.trees.Origin

/** Driver side: why a statement was not done, in the class that Spark and PySpark show as its message
  * alone, without a JVM stack before or after it.
  */
final class Refusal(kind: String, message: String, cause: Throwable)
    extends AnalysisException(message, None, None, Option(cause), Some(Kinds.condition(kind)),
      Map("errorMessage" -> message), Array.empty[QueryContext], Some(Kinds.sqlState(kind)), Some("<errorMessage>")) {
  /** Spark's copy would look for the condition among its own. */
  override def withPosition(origin: Origin): AnalysisException = this
}

object Refusal {
  /** Failures for which Spark has classes of its own, which it acts on. */
  private val SparkHas = Set("NoSuchTableError", "TableExistsError", "NoSuchNamespaceError",
    "NamespaceExistsError", "NamespaceNotEmptyError")

  /** Failures that a change of the statement heals: one sentence names it, the rest is in the cause. */
  private val Plain = Set("TableError", "NotSupportedError")

  def apply(message: String): Refusal = new Refusal(Kinds.Table, message, null)

  def of(failure: KeyfoldException): Throwable =
    if (SparkHas(failure.kind)) failure
    else new Refusal(failure.kind, if (Plain(failure.kind)) failure.sentence else failure.getMessage, failure)
}

/** Both sides: a failure whose message is shown as it is: Spark throws such a one itself where a task
  * ended with it, not "Job aborted due to stage failure", and PySpark shows it without a JVM stack. Its
  * condition is ours; the constructor takes only Spark's own.
  */
abstract class PlainFailure(kind: String, message: String, cause: Throwable)
    extends SparkRuntimeException("USER_RAISED_EXCEPTION", Map("errorMessage" -> message), cause,
      Array.empty[QueryContext], "") {
  override def getMessage: String = message
  override def getCondition: String = Kinds.condition(kind)
  override def getSqlState: String = Kinds.sqlState(kind)
  override def getDefaultMessageTemplate: String = "<errorMessage>"
}
