package keyfold.spark.functions

import java.io.Serializable

/** Executor side: the live state of an aggregate. Spark serializes it once a group, when a partition has
  * been taken in, as Java objects that it reads with its own class loader, which has no class of a
  * `--jars`: so a state is written as arrays of bytes, and read from them by `Aggregation.live`.
  */
trait Live extends Serializable {
  def parts: Array[Array[Byte]]
  protected def writeReplace(): AnyRef = parts
}
