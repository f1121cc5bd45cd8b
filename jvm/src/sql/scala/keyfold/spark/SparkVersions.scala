package keyfold.spark

import scala.math.Ordering.Implicits._

/** Driver side: the versions of Spark that the jar is for. It is compiled against the first. */
object SparkVersions {
  private val First = Seq(4, 2, 1)
  private val Last = Seq(4, 3)

  /** The warning, if this Spark is newer. Raises KeyfoldException if it is older: queries would fail midway. */
  def warning(found: String): Option[String] = {
    val numbers = "\\d+".r.findAllIn(found).map(_.toInt).toSeq
    val told = s"keyfold is for Spark ${First.mkString(".")} to ${Last.mkString(".")}, and this is Spark $found"
    if (numbers < First) throw new KeyfoldException("EnvironmentMismatchError", s"$told: install pyspark>=${First.mkString(".")}")
    Option.when(numbers.take(2) > Last)(s"$told, with which it was not tried: a query may fail where Spark has changed")
  }
}
