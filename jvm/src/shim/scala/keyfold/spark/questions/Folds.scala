package keyfold.spark.questions

import com.fasterxml.jackson.databind.JsonNode
import keyfold.spark.Json
import org.apache.spark.sql.connector.expressions.aggregate.{AggregateFunc, Aggregation, Avg, Count, CountStar, Max,
  Min, Sum}
import org.apache.spark.sql.types.{DataType, LongType, StructField, StructType}

/** Driver side: the columns, as Python says, by which scans group rows, and whose sums and averages Spark may make
  * of those of the scans.
  */
final case class Folds(groups: Set[String], sums: Map[String, DataType], averages: Set[String]) {

  /** Whether each average that is asked for is a sum divided by a count, which is what Spark makes of it. */
  def takesAverages(asked: Aggregation): Boolean = asked.aggregateExpressions.forall {
    case average: Avg => !average.isDistinct && Pushdown.named(average.column).exists(averages)
    case _ => true
  }

  /** The question to Python, and the columns that come back; None where Spark has to do it. */
  def summary(asked: Aggregation, table: StructType): Option[Summary] = {
    val by = asked.groupByExpressions.toSeq.map(Pushdown.named(_).filter(groups).map(table(_)))
    val functions = asked.aggregateExpressions.toSeq.map(function(_, table))
    // Without functions Spark takes the groups of the tasks for those of the query.
    Option.when(functions.nonEmpty && (by ++ functions).forall(_.isDefined))(Summary(by.flatten, functions.flatten))
  }

  /** A function of Spark's own; None where Spark has to do it. */
  def function(asked: AggregateFunc, table: StructType): Option[Folded] = asked match {
    case _: CountStar => Some(Folded("COUNT", None, LongType))
    case count: Count if !count.isDistinct =>
      Pushdown.named(count.column).filter(table.fieldNames.contains)
        .map(name => Folded("COUNT", Some(name).filter(table(_).nullable), LongType))
    case sum: Sum if !sum.isDistinct =>
      Pushdown.named(sum.column).flatMap(name => sums.get(name).map(Folded("SUM", Some(name), _)))
    case min: Min => extreme("MIN", Pushdown.named(min.column), table)
    case max: Max => extreme("MAX", Pushdown.named(max.column), table)
    case _ => None
  }

  private def extreme(name: String, column: Option[String], table: StructType): Option[Folded] =
    column.filter(groups).map(found => Folded(name, Some(found), table(found).dataType))
}

object Folds {
  def fromJson(json: JsonNode): Folds = Folds(
    Json.strings(json.path("groups")).toSet,
    Json.texts(json.path("sums")).map { case (name, kind) => name -> DataType.fromDDL(kind) },
    Json.strings(json.path("averages")).toSet)
}

/** Driver side: one function over a column, or over rows; `call` is Python's description of one of ours. */
final case class Folded(name: String, column: Option[String], dataType: DataType, call: Option[String] = None)

/** Driver side: groups in place of rows. */
final case class Summary(by: Seq[StructField], functions: Seq[Folded]) {
  def schema: StructType = StructType(by ++ functions.zipWithIndex.map {
    case (function, place) => StructField(s"${function.name} $place", function.dataType)
  })

  def toJson: JsonNode = Json.obj("by" -> by.map(_.name),
    "functions" -> functions.map(function => Seq(function.name, function.column)),
    "calls" -> functions.flatMap(function => function.call.map(function.name -> Json.parse(_))).toMap)
}
