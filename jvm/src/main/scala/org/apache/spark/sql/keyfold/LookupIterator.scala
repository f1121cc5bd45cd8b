package org.apache.spark.sql.keyfold

import scala.collection.mutable.ArrayBuffer

import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.{JoinType, LeftAnti, LeftSemi, RightOuter}
import org.apache.spark.sql.execution.metric.SQLMetric
import org.apache.spark.sql.types.{BooleanType, StructField, StructType}

/** Both sides: what the tasks of a lookup join do. `columns` are what is looked up of the target, `source` the columns
  * of the rows that come in.
  */
final case class LookupWork(
    plan: String,
    primaryKey: Seq[String],
    columns: Seq[Attribute],
    number: Attribute,
    project: Seq[NamedExpression],
    keys: Seq[Expression],
    condition: Option[Expression],
    blind: Expression,
    kind: JoinType,
    source: Seq[Attribute]) {
  val found: Attribute = AttributeReference("_FOUND", BooleanType, nullable = false)()

  /** What a row of the target and a row of the source have together. */
  def inputs: Seq[Attribute] = (found +: columns) ++ (number +: source)

  /** The place of each part of the key in what is looked up. */
  def places: Seq[Int] = primaryKey.map(name => columns.indexWhere(_.name == name) + 1)

  def keySchema: StructType =
    StructType(primaryKey.zip(keys).map { case (name, key) => StructField(name, key.dataType) })

  /** Without the plan, which says how to log in to an object store. */
  override def toString: String = "LookupWork"
}

final case class LookupFigures(rows: SQLMetric, keys: SQLMetric, found: SQLMetric, blind: SQLMetric)

/** Executor side: the rows of one task, looked up some thousands at a time. */
final class LookupIterator(work: LookupWork, rows: Iterator[InternalRow], figures: LookupFigures)
    extends Iterator[InternalRow] {
  import LookupIterator._
  import work.kind

  private val keyOf = UnsafeProjection.create(work.keys, work.source)
  private val isBlind = Predicate.create(work.blind, work.source)
  private val passes = work.condition.map(Predicate.create(_, work.inputs))
  private val matched = UnsafeProjection.create(
    (if (kind == LeftAnti) Nil else work.project) ++ (if (kind == LeftSemi) Nil else work.source), work.inputs)
  private val unmatched = UnsafeProjection.create(
    (if (kind == RightOuter) work.project.map(one => Literal(null, one.dataType)) else Nil) ++ work.source,
    work.source)
  private val places = work.places
  private val ofBlind = new GenericInternalRow(1 + work.columns.size)
  private val number = new GenericInternalRow(1)
  private val (right, joined) = (new JoinedRow, new JoinedRow)

  private val lookups = new KeyLookups(work.plan, work.keySchema, TaskContext.get())
  private val window = new ArrayBuffer[Held]
  private var at = 0
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
    val row = ready
    ready = null
    figures.rows += 1
    row
  }

  /** Decides one row of the source; false at their end. */
  private def advance(): Boolean = {
    if (at == window.size && rows.hasNext) fill()
    at < window.size && {
      val held = window(at)
      at += 1
      ready = result(held)
      if (at == window.size) lookups.done()
      true
    }
  }

  private def fill(): Unit = {
    window.clear()
    at = 0
    var bytes = 0L
    var isFull = false
    while (!isFull && rows.hasNext) {
      val row = rows.next().copy()
      val key = keyOf(row)
      val how = if (key.anyNull) NoKey else if (isBlind.eval(row)) Blind else Asked
      if (how == Asked) {
        if (!lastKey.contains(key)) {
          lastKey = Some(key.copy())
          count += 1
        }
        isFull = lookups.add(key)
        figures.keys += 1
      }
      window += new Held(row, how, count)
      bytes += bytesOf(row)
      isFull ||= window.size >= MostRows || bytes >= MostBytes
    }
    figures.found += lookups.ask()
  }

  /** The row that comes of one of the source; null if none does. */
  private def result(held: Held): InternalRow = held.how match {
    case NoKey => missed(held)
    case Blind =>
      figures.blind += 1
      val key = keyOf(held.row)
      places.zipWithIndex.foreach { case (place, i) => ofBlind.update(place, key.get(i, work.keys(i).dataType)) }
      found(ofBlind, held)
    case Asked =>
      val row = lookups.next()
      if (row.getBoolean(0)) found(row, held) else missed(held)
  }

  private def found(row: InternalRow, held: Held): InternalRow = {
    number.setLong(0, held.number)
    val both = joined(row, right(number, held.row))
    if (!passes.forall(_.eval(both))) missed(held)
    else if (kind == LeftAnti || (kind == LeftSemi && lastGiven == held.number)) null
    else {
      lastGiven = held.number
      matched(both)
    }
  }

  private def missed(held: Held): InternalRow = kind match {
    case RightOuter | LeftAnti => unmatched(held.row)
    case _ => null
  }
}

object LookupIterator {
  private val MostRows = 1 << 15
  private val MostBytes = 16L << 20
  private val UnknownBytes = 1L << 10

  private sealed trait How
  private case object NoKey extends How
  private case object Blind extends How
  private case object Asked extends How

  /** A row of the source, and the number of its key. */
  private final class Held(val row: InternalRow, val how: How, val number: Long)

  private def bytesOf(row: InternalRow): Long = row match {
    case known: UnsafeRow => known.getSizeInBytes.toLong
    case _ => UnknownBytes
  }
}
