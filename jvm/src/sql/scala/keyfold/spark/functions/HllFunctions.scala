package keyfold.spark.functions

import org.apache.datasketches.hll.{HllSketch, TgtHllType}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/** Executor side: DataSketches' HLL as Paimon stores it; Spark's own hll_* functions read the bytes. */
object Hll {
  val LgK = 12
  val Kind: TgtHllType = TgtHllType.HLL_4

  /** The result of `use` for a sketch; a CorruptDataError that names the function if the bytes are not one. */
  def read[R](bytes: Array[Byte], function: String)(use: HllSketch => R): R =
    try {
      HllBytes.check(bytes)
      use(HllSketch.heapify(bytes))
    } catch { case bad: RuntimeException => throw BitmapBytes.bad(function, bytes, "not an HLL sketch", bad.getMessage) }

  /** The sketch of one value, or of none. */
  def of(update: HllSketch => Unit): Array[Byte] = {
    val sketch = new HllSketch(LgK, Kind)
    update(sketch)
    sketch.toCompactByteArray
  }
}

/** Driver side: whole numbers, texts and bytes hash as in Spark's hll_sketch_agg, so that sketches of both agree. */
object HllHash extends Declared {
  override val names: String = "hll_hash"

  override protected def form: PartialFunction[Seq[DataType], Scalar[_]] = {
    case Seq(one) if Numbers.isBigint(one) => HllOfNumber
    case Seq(_: BinaryType) => HllOfBytes
    case Seq(_: StringType) => HllOfText
  }
}

object HllOfNumber extends Scalar[Array[Byte]](HllHash.names, BinaryType, Numbers.OfBigint) {
  def invoke(value: Decimal): Array[Byte] = Hll.of(sketch => if (value != null) sketch.update(value.toLong))
}

object HllOfText extends Scalar[Array[Byte]](HllHash.names, BinaryType, StringType) {
  def invoke(text: UTF8String): Array[Byte] = HllOfBytes.invoke(if (text == null) null else text.getBytes)
}

object HllOfBytes extends Scalar[Array[Byte]](HllHash.names, BinaryType, BinaryType) {
  /** DataSketches drops an empty value, Doris counts it; no text has this byte. */
  private val Empty = Array(0xff.toByte)

  def invoke(bytes: Array[Byte]): Array[Byte] =
    Hll.of(sketch => if (bytes != null) sketch.update(if (bytes.isEmpty) Empty else bytes))
}

object HllEmpty extends Scalar[Array[Byte]]("hll_empty", BinaryType) {
  def invoke(): Array[Byte] = Hll.of(_ => ())
}

object HllCardinality extends Scalar[Long]("hll_cardinality", LongType, BinaryType) {
  override def isResultNullable: Boolean = false
  def invoke(bytes: Array[Byte]): Long = if (bytes == null) 0 else Hll.read(bytes, name())(sketch => Math.round(sketch.getEstimate))
}
