package keyfold.spark.read

import java.util.{Map => JavaMap, Optional, OptionalLong}

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.JsonNode
import keyfold.spark.table.Names
import org.apache.spark.sql.connector.expressions.{Expressions, NamedReference}
import org.apache.spark.sql.connector.read.colstats.ColumnStatistics
import org.apache.spark.sql.keyfold.SqlTypes
import org.apache.spark.sql.types.{DataType, StructType}

/** Driver side: the statistics of `sys.analyze` for one column, in Spark's form. */
final class ColumnFigures(json: JsonNode, kind: DataType) extends ColumnStatistics {
  override def distinctCount(): OptionalLong = number("distinct")
  override def nullCount(): OptionalLong = number("nulls")
  override def avgLen(): OptionalLong = number("average")
  override def maxLen(): OptionalLong = number("longest")
  override def min(): Optional[Object] = value("low")
  override def max(): Optional[Object] = value("high")

  private def number(name: String): OptionalLong =
    if (json.hasNonNull(name)) OptionalLong.of(json.get(name).asLong) else OptionalLong.empty

  private def value(name: String): Optional[Object] =
    Optional.ofNullable(Option(json.get(name)).filterNot(_.isNull).flatMap(v => SqlTypes.held(v.asText, kind)).orNull)
}

object ColumnFigures {
  def of(json: JsonNode, columns: StructType): JavaMap[NamedReference, ColumnStatistics] =
    columns.fields.toSeq.filter(field => json.hasNonNull(field.name)).map { field =>
      val figures: ColumnStatistics = new ColumnFigures(json.get(field.name), field.dataType)
      Expressions.column(Names.quote(field.name)) -> figures
    }.toMap.asJava
}
