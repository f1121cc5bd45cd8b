package keyfold.spark.functions

/** Executor side: checks of Roaring's three containers of 16-bit numbers, which both layouts share. The
  * library trusts them: an unsorted array would give wrong answers, a wrong length a failure far away.
  * Each gives the container's least number.
  */
object Containers {
  private val Words = 1024

  def array(cursor: Cursor, cardinality: Int): Int = {
    cursor.need(2L * cardinality)
    val least = cursor.u16()
    var last = least
    var left = cardinality - 1
    while (left > 0) {
      val value = cursor.u16()
      cursor.check(value > last, s"array container: $value follows $last")
      last = value
      left -= 1
    }
    least
  }

  def bitmap(cursor: Cursor, cardinality: Int): Int = {
    cursor.need(8L * Words)
    var least = -1
    var found = 0
    var word = 0
    while (word < Words) {
      val bits = cursor.i64()
      if (least < 0 && bits != 0) least = word * 64 + java.lang.Long.numberOfTrailingZeros(bits)
      found += java.lang.Long.bitCount(bits)
      word += 1
    }
    cursor.check(found == cardinality, s"bitmap container: $found bits are set, not $cardinality")
    least
  }

  def runs(cursor: Cursor, cardinality: Int): Int = {
    var left = cursor.u16()
    cursor.need(4L * left)
    var least = -1
    var last = -1
    var found = 0
    while (left > 0) {
      val start = cursor.u16()
      val more = cursor.u16()
      cursor.check(start > last && start + more <= 0xffff, s"run container: a run of ${more + 1} from $start")
      if (least < 0) least = start
      last = start + more
      found += more + 1
      left -= 1
    }
    cursor.check(found == cardinality, s"run container: $found numbers, not $cardinality")
    least
  }
}
