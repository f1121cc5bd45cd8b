package keyfold.spark.functions

import keyfold.spark.KeyfoldException
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types._

object ToQuantileState extends Declared {
  override val names: String = "to_quantile_state percentile_hash"

  override protected def form: PartialFunction[Seq[DataType], Scalar[_]] = {
    case found => new StateOfNumber(hasCompression = found.length > 1)
  }
}

/** Executor side: the state of a number, made without `invoke`, which Spark would not call for a NULL DOUBLE. */
final class StateOfNumber(hasCompression: Boolean) extends Scalar[Array[Byte]](ToQuantileState.names, BinaryType,
      Seq.fill(if (hasCompression) 2 else 1)(DoubleType): _*) {
  override def isResultNullable: Boolean = false
  override def produceResult(row: InternalRow): Array[Byte] = {
    val isGiven = hasCompression && !row.isNullAt(1)
    val state = new QuantileState(QuantileState.allowed(if (isGiven) row.getDouble(1) else 0))
    if (!row.isNullAt(0)) state.add(row.getDouble(0))
    state.toBytes
  }
}

object QuantileStateEmpty extends Scalar[Array[Byte]]("quantile_state_empty percentile_empty", BinaryType) {
  def invoke(): Array[Byte] = new QuantileState().toBytes
}

object QuantilePercent extends Scalar[java.lang.Double]("quantile_percent percentile_approx_raw", DoubleType, BinaryType,
      DoubleType) {
  def invoke(bytes: Array[Byte], rank: Double): java.lang.Double = if (bytes == null) null else {
    if (!(rank >= 0 && rank <= 1)) throw new KeyfoldException("FunctionError",
      s"function ${name()}: its second argument is $rank, and must be from 0 to 1")
    QuantileState.read(bytes, name()).quantile(rank)
  }
}
