package org.apache.spark.sql.keyfold.lookups

import scala.collection.mutable.ArrayBuffer

import keyfold.spark.Unshown
import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types.{LongType, StructField, StructType}

/** Both sides: the work of a lookup join's tasks. `columns` are what is looked up of the target, `source` the columns
  * of the rows that come in.
  */
final case class LookupWork(
    plan: String,
    by: Seq[String],
    columns: Seq[Attribute],
    number: Attribute,
    project: Seq[NamedExpression],
    keys: Seq[Expression],
    condition: Option[Expression],
    blind: Expression,
    kind: LookupKind,
    source: Seq[Attribute]) extends Unshown {
  /** The place of the key among those that were asked for. */
  val place: Attribute = AttributeReference("_PLACE", LongType, nullable = false)()

  /** The columns of a row of the target joined with a row of the source. */
  def inputs: Seq[Attribute] = (place +: columns) ++ (number +: source)

  /** The place of each part of the key in what is looked up. */
  def ordinals: Seq[Int] = by.map(name => columns.indexWhere(_.name == name) + 1)

  def matched: Seq[NamedExpression] =
    (if (kind.hasSource) source else Nil) ++ (if (kind.hasTarget) project else Nil)

  def unmatched: Seq[Expression] =
    source ++ (if (kind.hasTarget) project.map(one => Literal(null, one.dataType)) else Nil)

  def keySchema: StructType = StructType(by.zip(keys).map { case (name, key) => StructField(name, key.dataType) })
}

/** Executor side: the rows of one task, looked up some thousands at a time. Rows with the same key that follow each
  * other are a group: it meets the rows of its key one after another, so that no more than one of these is held.
  */
final class LookupIterator(work: LookupWork, rows: Iterator[InternalRow], figures: LookupFigures)
    extends Iterator[InternalRow] {
  import LookupIterator._
  import work.kind

  private val keyOf = UnsafeProjection.create(work.keys, work.source)
  private val isBlind = Predicate.create(work.blind, work.source)
  private val passes = work.condition.map(Predicate.create(_, work.inputs))
  private val matched = UnsafeProjection.create(work.matched, work.inputs)
  private val unmatched = UnsafeProjection.create(work.unmatched, work.source)
  private val ordinals = work.ordinals
  private val ofBlind = new GenericInternalRow(1 + work.columns.size)
  private val number = new GenericInternalRow(1)
  private val (right, joined) = (new JoinedRow, new JoinedRow)

  private val lookups = new KeyLookups(work, figures, TaskContext.get())
  private val window = new ArrayBuffer[Held]
  /** The group is from `start` to `stop` of the window; `at` is the next row of it to meet `row`, or nothing. */
  private var (start, stop, at) = (0, 0, 0)
  private var row: InternalRow = _
  private var ordinal = 0L // of the row among those of its key
  private var lastKey: Option[UnsafeRow] = None
  private var count = -1L
  private var lastGiven = -1L
  private var ready: InternalRow = _

  override def hasNext: Boolean = {
    while (ready == null && advance()) ()
    ready != null
  }

  override def next(): InternalRow = {
    if (!hasNext) throw new NoSuchElementException("no more rows")
    val taken = ready
    ready = null
    figures.rows += 1
    taken
  }

  /** Takes one step; false at the end. */
  private def advance(): Boolean = {
    if (at < stop) {
      ready = if (row == null) rest(window(at)) else met(window(at))
      at += 1
      true
    } else if (row != null) {
      row = if (window(start).how == Asked) lookups.next(window(start).place) else null
      ordinal += 1
      at = if (row != null || kind.givesRest) start else stop
      true
    } else nextGroup()
  }

  private def nextGroup(): Boolean = {
    if (stop == window.size) {
      lookups.done()
      fill()
    }
    start = stop
    at = start
    start < window.size && {
      val first = window(start)
      stop += 1
      ordinal = 0
      while (stop < window.size && first.how == Asked && window(stop).isLike(first)) stop += 1
      row = first.how match {
        case NoKey => null
        case Blind => assumed(first)
        case Asked => lookups.next(first.place)
      }
      if (row != null && first.how == Asked) figures.found += 1
      if (row == null && !kind.givesRest) at = stop
      true
    }
  }

  private def fill(): Unit = {
    window.clear()
    stop = 0
    var bytes = 0L
    var isFull = false
    var place = -1L
    while (!isFull && rows.hasNext) {
      val row = rows.next().copy()
      val key = keyOf(row)
      val how = if (key.anyNull) NoKey else if (isBlind.eval(row)) Blind else Asked
      if (how == Asked) {
        val isNew = !lastKey.contains(key)
        if (isNew) {
          lastKey = Some(key.copy())
          count += 1
        }
        if (isNew || place < 0) {
          isFull = lookups.add(key)
          place += 1
          figures.keys += 1
        }
      }
      window += new Held(row, how, place, count)
      bytes += bytesOf(row)
      isFull ||= window.size >= MostRows || bytes >= MostBytes
    }
    lookups.ask()
  }

  /** The row of the key of one that is not looked up: nobody looks at its other columns. */
  private def assumed(held: Held): InternalRow = {
    figures.blind += 1
    val key = keyOf(held.row)
    ordinals.zipWithIndex.foreach { case (ordinal, i) => ofBlind.update(ordinal, key.get(i, work.keys(i).dataType)) }
    ofBlind
  }

  /** The row made of a row of the source and one of its key; null if there is none. */
  private def met(held: Held): InternalRow = {
    number.setLong(0, held.number + (ordinal << KeyBits))
    val both = joined(row, right(number, held.row))
    if (!passes.forall(_.eval(both))) null
    else {
      val isFirst = !held.isMatched
      held.isMatched = true
      val isGiven = kind match {
        case LookupKind.Lacking => false
        case LookupKind.Having => isFirst
        case LookupKind.RowsOfTarget => lastGiven != held.number
        case _ => true
      }
      lastGiven = held.number
      if (isGiven) matched(both) else null
    }
  }

  private def rest(held: Held): InternalRow = if (held.isMatched) null else unmatched(held.row)
}

object LookupIterator {
  private val MostRows = 1 << 15
  private val MostBytes = 16L << 20
  private val UnknownBytes = 1L << 10
  private val KeyBits = 40 // of the number of a row: those above are 0 where a key has one

  private sealed trait How
  private case object NoKey extends How
  private case object Blind extends How
  private case object Asked extends How

  /** A row of the source, the place of its key among those that are asked for together, and the key's number. */
  private final class Held(val row: InternalRow, val how: How, val place: Long, val number: Long) {
    var isMatched = false
    def isLike(other: Held): Boolean = how == other.how && place == other.place
  }

  private def bytesOf(row: InternalRow): Long = row match {
    case known: UnsafeRow => known.getSizeInBytes.toLong
    case _ => UnknownBytes
  }
}
