package keyfold.spark.functions

/** Executor side: whether bytes can be an HLL sketch, before DataSketches opens them: it makes room for whatever
  * a count or a size says. Lists and sets of items, and registers of 4, 6 or 8 bits; see kernels/states/hll.py.
  */
object HllBytes {
  private val Compact = 8
  private val MostInList = 7
  private val RoomOfList = 8
  private val LeastRoom = 5
  private val RegistersAt = 24
  private val KindBits = 2
  private val LgKs = 4 to 21

  def check(bytes: Array[Byte]): Unit = {
    val cursor = new Cursor(bytes)
    val (words, version, family) = (cursor.u8(), cursor.u8(), cursor.u8())
    val (lgK, lgRoom, flags) = (cursor.u8(), cursor.u8(), cursor.u8())
    val (count, form) = (cursor.u8(), cursor.u8())
    cursor.check(version == 1 && family == 7 && LgKs.contains(lgK), "no head of an HLL sketch")
    val isCompact = (flags & Compact) != 0
    (form & 3, words) match {
      case (0, 2) =>
        cursor.check(count <= MostInList, s"a list of $count items, of at most $MostInList")
        cursor.need(4L * (if (isCompact) count else RoomOfList))
      case (1, 3) => items(cursor, lgK - 3, if (isCompact) -1 else Math.max(lgRoom, LeastRoom))
      case (2, 10) => registers(cursor, lgK, form >> KindBits, if (isCompact) -1 else lgRoom)
      case _ => cursor.check(false, s"no form $form of $words words")
    }
  }

  private def items(cursor: Cursor, most: Int, lgRoom: Int): Unit = {
    val count = cursor.u32()
    cursor.check(most >= LeastRoom && lgRoom <= most && 4 * count <= (3L << most), s"a set of $count items")
    cursor.need(4L * (if (lgRoom < 0) count else 1L << lgRoom))
  }

  private def registers(cursor: Cursor, lgK: Int, kind: Int, lgRoom: Int): Unit = {
    cursor.skip(RegistersAt)
    val slots = 1L << lgK
    cursor.check(cursor.u32() <= slots, "more least registers than slots")
    val behind = cursor.u32()
    cursor.check(kind <= 2 && behind <= (if (kind == 0) slots else 0) && (behind == 0 || lgRoom <= lgK),
      s"$behind registers behind those of kind $kind")
    val size = if (kind == 0) slots / 2 else if (kind == 1) slots * 3 / 4 + 1 else slots
    cursor.need(size + 4 * (if (behind == 0 || lgRoom < 0) behind else 1L << lgRoom))
  }
}
