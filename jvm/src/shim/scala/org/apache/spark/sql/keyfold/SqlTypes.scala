package org.apache.spark.sql.keyfold

import org.apache.spark.sql.catalyst.expressions.{Cast, UnsafeRow, Literal => Sample}
import org.apache.spark.sql.catalyst.util.{CharVarcharUtils, ResolveDefaultColumns}
import org.apache.spark.sql.connector.catalog.{CatalogV2Util, Column}
import org.apache.spark.sql.connector.expressions.{Literal, LiteralValue}
import org.apache.spark.sql.types._

/** Driver side: types and defaults of columns as declared, which Spark hides. */
object SqlTypes {
  /** The declared type, where Spark has already put STRING for CHAR or VARCHAR. */
  def raw(dataType: DataType, metadata: String): DataType =
    Option(metadata).flatMap(json => CharVarcharUtils.getRawType(Metadata.fromJson(json))).getOrElse(dataType)

  /** The schema as Spark's rows have it: STRING for CHAR and VARCHAR. */
  def ofRows(columns: Array[Column]): StructType =
    CharVarcharUtils.replaceCharVarcharWithStringInSchema(CatalogV2Util.v2ColumnsToStructType(columns))

  /** Whether values are at most a word of Spark's rows, of a type that Python has too. */
  def isWord(dataType: DataType): Boolean = dataType match {
    case NullType | _: AnsiIntervalType => false
    case _ => UnsafeRow.isFixedLength(dataType)
  }

  /** Whether one is a type of numbers that has room for all of the other. */
  def isWiderNumber(one: DataType, other: DataType): Boolean = (one, other) match {
    case (_: NumericType, _: NumericType) => one != other && Cast.canUpCast(other, one)
    case _ => false
  }

  /** The value of a number's text, or of a truth's, as Spark's rows hold one of this type; None of others. */
  def held(text: String, kind: DataType): Option[Object] = Some(Sample.default(kind).value -> kind).collect {
    case (_: Boolean, _) => Boolean.box(text.toBoolean)
    case (_: Byte, _) => Byte.box(text.toByte)
    case (_: Short, _) => Short.box(text.toShort)
    case (_: Int, _) => Int.box(text.toInt)
    case (_: Long, _) => Long.box(text.toLong)
    case (_: Float, _) => Float.box(text.toFloat)
    case (_: Double, _) => Double.box(text.toDouble)
    case (_, of: DecimalType) => Decimal(BigDecimal(text), of.precision, of.scale)
  }

  /** A value as Spark holds it. */
  def literal(value: Any, dataType: DataType): Literal[_] = LiteralValue(value, dataType)

  /** The schema as it was declared, CHAR and VARCHAR too. */
  def declared(columns: Array[Column]): StructType = CatalogV2Util.v2ColumnsToStructType(columns)

  def columns(declared: StructType): Array[Column] = CatalogV2Util.structTypeToV2Columns(declared)

  /** The type of a column, or of a field inside one: of `list`.element.`a`, for one. */
  def at(columns: Array[Column], path: Seq[String]): Option[DataType] =
    ofRows(columns).findNestedField(path, includeCollections = true).map(_._2.dataType)

  /** Whether two schemas have the same names and types, whatever may be NULL in them. */
  def areAlike(one: StructType, other: StructType): Boolean = {
    def plain(schema: StructType): StructType = CharVarcharUtils.replaceCharVarcharWithStringInSchema(schema)
    DataType.equalsIgnoreNullability(plain(one), plain(other))
  }

  /** The value of a DEFAULT's SQL text, cast to the column's type. */
  def constant(column: String, dataType: DataType, sql: String): Literal[_] = {
    val plain = CharVarcharUtils.replaceCharVarcharWithString(dataType)
    LiteralValue(ResolveDefaultColumns.analyze(column, plain, sql, "keyfold").eval(), plain)
  }
}
