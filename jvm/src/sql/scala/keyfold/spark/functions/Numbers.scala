package keyfold.spark.functions

import org.apache.spark.sql.types._

/** Both sides: SQL's numbers as the unsigned 64-bit ones of a bitmap. A LARGEINT is a DECIMAL(38, 0). */
object Numbers {
  /** Holds every BIGINT, and unlike a BIGINT reaches `invoke` where it is NULL; it costs no BigInteger. */
  val OfBigint: DecimalType = DecimalType(20, 0)
  val LargeInt: DecimalType = DecimalType(38, 0)
  private val Limit = BigInt(1) << 64

  /** Whether Spark casts this type to BIGINT without loss. */
  def isBigint(found: DataType): Boolean = found match {
    case ByteType | ShortType | IntegerType | LongType | NullType => true
    case _ => false
  }

  /** A whole number: the type in which a function takes an argument of this type. */
  object Whole {
    def unapply(found: DataType): Option[DecimalType] = found match {
      case _ if isBigint(found) => Some(OfBigint)
      case decimal: DecimalType if decimal.scale == 0 => Some(LargeInt)
      case _ => None
    }
  }

  /** The number as a bitmap holds it, None where it cannot. */
  def unsigned(value: Decimal): Option[Long] =
    if (value.precision <= Decimal.MAX_LONG_DIGITS) Some(value.toLong).filter(_ >= 0)
    else Some(BigInt(value.toJavaBigDecimal.toBigInteger)).filter(big => big >= 0 && big < Limit).map(_.toLong)

  /** Decimal digits between blanks. */
  def unsigned(text: String): Option[Long] =
    try Some(java.lang.Long.parseUnsignedLong(text.strip.stripPrefix("+")))
    catch { case _: NumberFormatException => None }
}
