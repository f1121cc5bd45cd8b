package keyfold.spark.functions

/** Executor side: the live state of the bitmap aggregates: no bitmap before the first input. */
final class BitmapState extends Live {
  private var held: Bitmap = _

  def bitmap: Bitmap = {
    if (held == null) held = new Bitmap
    held
  }

  /** Takes in one more; the first becomes the state itself. */
  def fold(next: Bitmap, operation: (Bitmap, Bitmap) => Bitmap): BitmapState = {
    held = if (held == null) next else operation(held, next)
    this
  }

  def join(other: BitmapState, operation: (Bitmap, Bitmap) => Bitmap): BitmapState =
    if (other.held == null) this else fold(other.held, operation)

  def bytes: Array[Byte] = if (held == null) Array.empty else held.toBytes
  override def parts: Array[Array[Byte]] = Array(bytes)
}

object BitmapState {
  def of(bytes: Array[Byte], function: String): BitmapState = {
    val state = new BitmapState
    if (bytes.nonEmpty) state.held = BitmapBytes.read(bytes, function)
    state
  }
}
