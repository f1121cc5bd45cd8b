package org.apache.spark.sql.keyfold

import keyfold.spark.Kinds
import org.apache.spark.{QueryContext, SparkRuntimeException}

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
