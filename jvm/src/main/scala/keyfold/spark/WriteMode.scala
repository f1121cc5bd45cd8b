package keyfold.spark

import org.apache.spark.sql.connector.expressions.filter.Predicate

/** Driver side: what a write replaces: nothing, what the filters match, or the partitions it touches. */
sealed abstract class WriteMode(val name: String, val filters: Seq[Predicate])

object WriteMode {
  case object Append extends WriteMode("append", Nil)
  case object OverwriteDynamic extends WriteMode("overwrite_dynamic", Nil)
  final case class Overwrite(matching: Seq[Predicate]) extends WriteMode("overwrite", matching)
}
