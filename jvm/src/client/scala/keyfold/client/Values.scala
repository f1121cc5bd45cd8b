package keyfold.client

import java.lang.{Iterable => JavaIterable}
import java.math.{BigDecimal => JavaDecimal, BigInteger}
import java.time.{Instant, LocalDate, LocalDateTime, LocalTime, OffsetDateTime, ZonedDateTime}
import java.util.{Map => JavaMap}

import scala.jdk.CollectionConverters._
import scala.util.Try

import keyfold.spark.{KeyfoldException, Kinds}
import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.{CatalystTypeConverters, InternalRow}
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.catalyst.util.{ArrayBasedMapData, DateTimeUtils, GenericArrayData}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.{UTF8String, VariantVal}

/** Values of a program as Spark's. Each is checked against the type of its column: numbers of another type are taken if
  * they are the same number there. `doing` begins the errors.
  */
private[client] final class Values(doing: String) {
  private type Taken = PartialFunction[Any, Any]

  /** Rows as maps by names, or as Spark's rows, by names if they have them, else in this order. */
  def rows(schema: StructType): Any => InternalRow = {
    val fields = fieldsOf(schema, "")
    row => fields.applyOrElse(row, (other: Any) => throw refused("row", "a Map or a Row", other))
  }

  private def of(kind: DataType, nullable: Boolean, path: String): Any => Any = {
    val taken = takenBy(kind, path)
    value =>
      if (value == null || value == None) {
        if (nullable) null else throw new KeyfoldException(Kinds.Table, s"$doing: column $path does not take NULL")
      } else taken.applyOrElse(value, (other: Any) => throw refused(s"column $path", kind.sql, other))
  }

  private def takenBy(kind: DataType, path: String): Taken = kind match {
    case BooleanType => { case flag: Boolean => flag }
    case ByteType => whole(Byte.MinValue, Byte.MaxValue)(_.toByte)
    case ShortType => whole(Short.MinValue, Short.MaxValue)(_.toShort)
    case IntegerType => whole(Int.MinValue, Int.MaxValue)(_.toInt)
    case LongType => whole(Long.MinValue, Long.MaxValue)(identity)
    case FloatType => ({
        case number: Float => number
        case number: Double if number.isNaN || number.toFloat.toDouble == number => number.toFloat
      }: Taken).orElse(exact(_.floatValue.toDouble).andThen(_.toFloat))
    case DoubleType => ({
        case number: Double => number
        case number: Float => number.toDouble
      }: Taken).orElse(exact(_.doubleValue))
    case decimal: DecimalType => Function.unlift(decimalOf(decimal, _))
    case _: StringType => { case text: CharSequence => UTF8String.fromString(text.toString) }
    case BinaryType => { case bytes: Array[Byte] => bytes }
    case DateType => {
        case day: LocalDate => DateTimeUtils.localDateToDays(day)
        case day: java.sql.Date => DateTimeUtils.fromJavaDate(day)
      }
    case TimestampType => Function.unlift(instantOf(_).filter(_.getNano % 1000 == 0).map(DateTimeUtils.instantToMicros))
    case TimestampNTZType => {
        case time: LocalDateTime if time.getNano % 1000 == 0 => DateTimeUtils.localDateTimeToMicros(time)
      }
    case _: TimeType => { case time: LocalTime => time.toNanoOfDay }
    case VariantType => { case variant: VariantVal => variant }
    case ArrayType(element, hasNulls) =>
      val each = of(element, hasNulls, s"$path.element")
      def made(items: Iterator[Any]) = new GenericArrayData(items.map(each).toArray[Any]);
      {
        case items: JavaIterable[_] => made(items.iterator.asScala)
        case items: Iterable[_] => made(items.iterator)
        case items: Array[_] => made(items.iterator)
      }
    case map: MapType =>
      val keys = of(map.keyType, nullable = false, s"$path.key")
      val values = of(map.valueType, map.valueContainsNull, s"$path.value")
      def made(entries: Seq[(Any, Any)]) = new ArrayBasedMapData(
        new GenericArrayData(entries.map(entry => keys(entry._1)).toArray[Any]),
        new GenericArrayData(entries.map(entry => values(entry._2)).toArray[Any]));
      {
        case entries: JavaMap[_, _] => made(entries.asScala.toSeq)
        case entries: collection.Map[_, _] => made(entries.toSeq)
      }
    case struct: StructType => fieldsOf(struct, s"$path.")
    case other => throw new KeyfoldException("NotSupportedError", s"$doing: column $path is of type ${other.sql}")
  }

  private def whole(least: Long, most: Long)(made: Long => Any): Taken = Function.unlift { (value: Any) =>
    wholeOf(value).filter(_.bitLength < 64).map(_.longValue).filter(one => least <= one && one <= most).map(made)
  }

  /** Whole numbers that are the same in a type of fewer digits. */
  private def exact(made: BigInteger => Double): PartialFunction[Any, Double] = Function.unlift { (value: Any) =>
    wholeOf(value).flatMap(number => Some(made(number))
      .filter(there => !there.isInfinite && new JavaDecimal(there).toBigInteger == number))
  }

  private def wholeOf(value: Any): Option[BigInteger] = value match {
    case _: Long | _: Int | _: Short | _: Byte => Some(BigInteger.valueOf(value.asInstanceOf[Number].longValue))
    case large: BigInteger => Some(large)
    case _ => None
  }

  /** The number, if it needs no other digits than the type has. */
  private def decimalOf(kind: DecimalType, value: Any): Option[Decimal] = {
    val found = value match {
      case number: JavaDecimal => Some(number)
      case number: BigDecimal => Some(number.bigDecimal)
      case other => wholeOf(other).map(new JavaDecimal(_))
    }
    found.flatMap(number => Try(number.setScale(kind.scale)).toOption).filter(_.precision <= kind.precision)
      .map(Decimal(_, kind.precision, kind.scale))
  }

  private def instantOf(value: Any): Option[Instant] = value match {
    case time: Instant => Some(time)
    case time: OffsetDateTime => Some(time.toInstant)
    case time: ZonedDateTime => Some(time.toInstant)
    case time: java.sql.Timestamp => Some(time.toInstant)
    case _ => None
  }

  private def fieldsOf(struct: StructType, path: String): PartialFunction[Any, InternalRow] = {
    val converted = struct.fields.map(field => of(field.dataType, field.nullable, path + field.name))
    val names = struct.fieldNames
    def made(values: Array[Any]): InternalRow = {
      values.indices.foreach(i => values(i) = converted(i)(values(i)))
      new GenericInternalRow(values)
    }
    {
      case row: Row if row.schema == null =>
        if (row.length != names.length) throw new KeyfoldException(Kinds.Table,
          s"$doing: expected values of ${names.map(path + _).mkString(", ")}, found ${row.length} values")
        made(row.toSeq.toArray)
      case row: Row if row.schema.names.distinct.length < row.length => throw twice(row.schema.names)
      case row: Row => made(named(names, row.schema.fieldNames.zip(row.toSeq).toMap.asJava, path))
      case fields: JavaMap[_, _] => made(named(names, fields, path))
      case fields: collection.Map[_, _] => made(named(names, fields.asJava, path))
    }
  }

  /** The values of names, which may differ in letter case. */
  private def named(names: Array[String], fields: JavaMap[_, _], path: String): Array[Any] = {
    def wrong(why: String) = new KeyfoldException(Kinds.Table, s"$doing: $why; expected ${names.mkString(", ")}")
    val values = names.map[Any] { name =>
      if (fields.containsKey(name)) fields.get(name)
      else fields.asScala.collectFirst { case (key: String, value) if key.equalsIgnoreCase(name) => value }
        .getOrElse(throw wrong(s"the row has no column $path$name"))
    }
    if (fields.size != names.length) {
      val found = fields.keySet.asScala.toSeq.map(String.valueOf(_))
      throw found.find(key => !names.exists(_.equalsIgnoreCase(key)))
        .fold(twice(found))(key => wrong(s"column $path$key is unknown"))
    }
    values
  }

  def twice(names: Iterable[String]) =
    new KeyfoldException(Kinds.Table, s"$doing: a column is named twice: ${names.mkString(", ")}")

  private def refused(what: String, expected: String, found: Any) = {
    val text = String.valueOf(found)
    val shown = if (text.length > 60) s"${text.take(60)}…" else text
    val kind = if (found == null) "" else s"${found.getClass.getName} "
    new KeyfoldException(Kinds.Table, s"$doing: $what: expected $expected, found $kind$shown")
  }
}

private[client] object Values {
  /** Spark's rows as a program's: dates and times are those of java.time. */
  def external(schema: StructType): InternalRow => Row = {
    val conf = SQLConf.get.clone()
    conf.setConf(SQLConf.DATETIME_JAVA8API_ENABLED, true)
    val convert = SQLConf.withExistingConf(conf)(CatalystTypeConverters.createToScalaConverter(schema))
    row => convert(row).asInstanceOf[Row]
  }
}
