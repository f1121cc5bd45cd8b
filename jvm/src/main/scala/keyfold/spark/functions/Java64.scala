package keyfold.spark.functions

import scala.collection.mutable

import org.roaringbitmap.longlong.Roaring64Bitmap

/** Executor side: the bytes of Java's `Roaring64Bitmap`, which Paimon and Fluss store: 0 for none, else a 1,
  * a radix tree of the high 48 bits in pre-order, then the containers that its leaves number. Checked
  * before the library sees them: it allocates whatever a length says.
  */
object Java64 {
  private val Leaf = 4
  private val BodyBytes = Array(4, 16, 256, 32)
  private val MostChildren = Array(4, 16, 48, 256)
  private val Depth = 6

  def read(cursor: Cursor): Roaring64Bitmap = {
    val start = cursor.at
    val bitmap = new Roaring64Bitmap
    val flag = cursor.u8()
    cursor.check(flag <= 1, s"first byte $flag")
    if (flag == 0) return bitmap
    val leaves = Leaves(cursor)
    leaves.readContainers()
    bitmap.deserialize(cursor.since(start))
    cursor.check(leaves.firsts.forall(bitmap.contains), "the tree does not lead to its leaves")
    bitmap
  }

  private final case class Leaves(cursor: Cursor) {
    private val keys = mutable.ArrayBuffer.empty[Long]
    private val places = mutable.LongMap.empty[Int]
    val firsts: Array[Long] = {
      val count = cursor.i64()
      node(1)
      cursor.check(keys.length == count, s"${keys.length} leaves, not $count")
      new Array[Long](keys.length)
    }

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
      places(cursor.i64()) = keys.length
      keys += key
      cursor.check(places.size == keys.length, "two leaves have one container")
    }

    def readContainers(): Unit = {
      var found = 0
      for (first <- 0 until cursor.i32()) {
        cursor.check(cursor.u8() == 0xfe, "unknown kind of container list")
        for (second <- 0 until cursor.i32()) if (cursor.u8() != 0) {
          container(places.getOrElse(first.toLong << 32 | second, throw new Malformed("a container without a leaf")))
          found += 1
        }
      }
      cursor.check(found == keys.length, s"$found containers for ${keys.length} leaves")
      cursor.skip(16)
    }

    private def container(leaf: Int): Unit = {
      val kind = cursor.u8()
      val cardinality = cursor.i32()
      cursor.check(cardinality > 0 && cardinality <= 0x10000, s"$cardinality numbers in a container")
      val least = kind match {
        case 0 => Containers.runs(cursor, cardinality)
        case 1 => Containers.bitmap(cursor, cardinality)
        case 2 => Containers.array(cursor, cardinality)
        case _ => throw new Malformed(s"byte ${cursor.at}: container of kind $kind")
      }
      firsts(leaf) = keys(leaf) << 16 | least
    }
  }
}
