package keyfold.spark.read

import java.util.{Map => JavaMap, Optional, OptionalLong}

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.JsonNode
import keyfold.spark.table.Names
import org.apache.spark.sql.connector.expressions.{Expressions, NamedReference}
import org.apache.spark.sql.connector.read.colstats.ColumnStatistics
import org.apache.spark.sql.types._

/** Driver side: the statistics of `sys.analyze` for one column, in Spark's form. */
final class ColumnFigures(json: JsonNode, dataType: DataType) extends ColumnStatistics {
  override def distinctCount(): OptionalLong = number("distinct")
  override def nullCount(): OptionalLong = number("nulls")
  override def avgLen(): OptionalLong = number("average")
  override def maxLen(): OptionalLong = number("longest")
  override def min(): Optional[Object] = value("low")
  override def max(): Optional[Object] = value("high")

  private def number(name: String): OptionalLong =
    if (json.hasNonNull(name)) OptionalLong.of(json.get(name).asLong) else OptionalLong.empty

  private def value(name: String): Optional[Object] =
    if (json.hasNonNull(name)) Optional.ofNullable(ColumnFigures.value(json.get(name).asText, dataType).orNull)
    else Optional.empty[Object]
}

object ColumnFigures {
  def of(json: JsonNode, columns: StructType): JavaMap[NamedReference, ColumnStatistics] =
    columns.fields.toSeq.filter(field => json.hasNonNull(field.name)).map { field =>
      val figures: ColumnStatistics = new ColumnFigures(json.get(field.name), field.dataType)
      Expressions.column(Names.quote(field.name)) -> figures
    }.toMap.asJava

  /** The value as Spark's rows hold it. */
  private def value(text: String, dataType: DataType): Option[Object] = Some(dataType).collect {
    case BooleanType => Boolean.box(text.toBoolean)
    case ByteType => Byte.box(text.toByte)
    case ShortType => Short.box(text.toShort)
    case IntegerType | DateType => Int.box(text.toInt)
    case LongType | TimestampType | TimestampNTZType | _: TimeType => Long.box(text.toLong)
    case FloatType => Float.box(text.toFloat)
    case DoubleType => Double.box(text.toDouble)
    case decimal: DecimalType => Decimal(BigDecimal(text), decimal.precision, decimal.scale)
  }
}
