package keyfold.spark.functions

import scala.collection.mutable

import org.roaringbitmap.longlong.Roaring64Bitmap

/** Executor side: the bytes of Java's `Roaring64Bitmap`, which Paimon and Fluss store: 0 for none, else a 1,
  * a radix tree of the high 48 bits in pre-order, then the containers that its leaves number. Checked
  * before the library sees them: it validates nothing in this form, and allocates whatever a length says.
  */
object Java64 {
  private val Leaf = 4
  private val BodyBytes = Array(4, 16, 256, 32)
  private val MostChildren = Array(4, 16, 48, 256)
  private val Depth = 6
  private val Words = 1024

  def read(cursor: Cursor): Roaring64Bitmap = {
    val start = cursor.at
    val bitmap = new Roaring64Bitmap
    val flag = cursor.u8()
    cursor.check(flag <= 1, s"first byte $flag")
    if (flag == 1) {
      val leaves = new Leaves(cursor)
      leaves.checkContainers()
      bitmap.deserialize(cursor.since(start))
      cursor.check(leaves.firsts.forall(bitmap.contains), "the tree does not lead to its leaves")
    }
    bitmap
  }

  private final class Leaves(cursor: Cursor) {
    private val keys = mutable.ArrayBuffer.empty[Long]
    private val places = mutable.LongMap.empty[Int]
    private val count = cursor.i64()
    node(1)
    cursor.check(keys.length == count, s"${keys.length} leaves, not $count")

    /** The least number of each. */
    val firsts = new Array[Long](keys.length)

    private def node(depth: Int): Unit = {
      val kind = cursor.u8()
      val children = cursor.u16()
      cursor.check(kind <= Leaf && depth <= Depth + 1, s"node of kind $kind at depth $depth")
      cursor.skip(cursor.u8())
      if (kind == Leaf) leaf()
      else {
        cursor.check(children > 0 && children <= MostChildren(kind), s"$children children in a node of kind $kind")
        cursor.skip(BodyBytes(kind))
        for (_ <- 0 until children) node(depth + 1)
      }
    }

    private def leaf(): Unit = {
      val key = (0 until Depth).foldLeft(0L)((high, _) => high << 8 | cursor.u8())
      cursor.check(keys.isEmpty || key > keys.last, s"leaf $key follows ${keys.last}")
      cursor.check(places.put(cursor.i64(), keys.length).isEmpty, "two leaves have one container")
      keys += key
    }

    def checkContainers(): Unit = {
      var found = 0
      val sizes, lasts = mutable.ArrayBuffer.empty[Int]
      for (first <- 0 until cursor.i32()) {
        cursor.check(cursor.u8() == 0xfe, "unknown kind of container list")
        sizes += cursor.i32()
        lasts += -1
        for (second <- 0 until sizes.last) if (cursor.u8() != 0) {
          lasts(first) = second
          val leaf = places.getOrElse(first.toLong << 32 | second, throw new Malformed("a container without a leaf"))
          firsts(leaf) = keys(leaf) << 16 | container()
          found += 1
        }
      }
      cursor.check(found == keys.length, s"$found containers for ${keys.length} leaves")
      cursor.i64(): Unit
      val (list, place) = (cursor.i32(), cursor.i32()) // the library puts the next container behind it
      cursor.check(sizes.indices.contains(list) && place >= lasts(list) && place < sizes(list),
        s"place $place of list $list is not that of the last container")
    }

    /** Numbers of 16 bits, ascending, as many as announced; the least of them. */
    private def container(): Int = {
      val kind = cursor.u8()
      val cardinality = cursor.i32()
      cursor.check(kind <= 2, s"container of kind $kind")
      if (kind == 1) leastOfBits(cardinality) else leastOfRuns(cardinality, hasLengths = kind == 0)
    }

    private def leastOfBits(cardinality: Int): Int = {
      var least, found, word = 0
      while (word < Words) {
        val bits = cursor.i64()
        if (found == 0) least = word * 64 + java.lang.Long.numberOfTrailingZeros(bits)
        found += java.lang.Long.bitCount(bits)
        word += 1
      }
      cursor.check(found == cardinality && found > 0, s"container: $found bits are set, not $cardinality")
      least
    }

    /** Runs as (first, how many follow), or single numbers. */
    private def leastOfRuns(cardinality: Int, hasLengths: Boolean): Int = {
      var left = if (hasLengths) cursor.u16() else cardinality
      var least, last = -1
      var found = 0
      while (left > 0) {
        val first = cursor.u16()
        val more = if (hasLengths) cursor.u16() else 0
        cursor.check(first > last && first + more <= 0xffff, s"container: ${more + 1} numbers from $first follow $last")
        if (found == 0) least = first
        last = first + more
        found += more + 1
        left -= 1
      }
      cursor.check(found == cardinality && found > 0, s"container: $found numbers, not $cardinality")
      least
    }
  }
}
