package org.apache.spark.sql.keyfold.groups

import scala.collection.mutable.ArrayBuffer

import keyfold.spark.{FailedGroup, KeyfoldException}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.execution.aggregate.AggregationIterator
import org.apache.spark.sql.execution.metric.SQLMetric
import org.apache.spark.sql.keyfold.aggregates.{FoldBatcher, FoldFunction, KeptBytes, OrderedFold}

/** Executor side: the figures of an operator. */
final class FoldFigures(val rows: SQLMetric, val batches: SQLMetric, val answers: SQLMetric, val emptied: SQLMetric,
    val spilled: SQLMetric) extends Serializable

/** Executor side: the groups of one task. When memory is due, a partial operator emits all groups and begins anew;
  * any other puts their payloads into Spark's external sorter, and merges equal keys at the end.
  */
final class FoldIterator(node: FoldAggregateExec, part: Int, input: Iterator[InternalRow], figures: FoldFigures)
    extends AggregationIterator(part, node.groupingExpressions, node.inputs, node.aggregateExpressions,
      node.aggregateAttributes, node.initialInputBufferOffset, node.resultExpressions,
      (expressions, inputs) => MutableProjection.create(expressions, inputs)) {
  private val folds = aggregateFunctions.collect { case fold: FoldFunction => fold }.toSeq
  private val ordered = aggregateFunctions.collect { case fold: OrderedFold => fold }.toSeq
  private val batcher = new FoldBatcher(folds ++ ordered.map(_.call))
  folds.zip(batcher.columns).foreach { case (fold, column) => fold.attach(column) }
  private val kept = new KeptBytes
  attach(ordered)

  private val form =
    if (node.aggregateExpressions.exists(call => call.mode == Final || call.mode == Complete)) "value" else "state"
  private val isGrouped = node.groupingExpressions.nonEmpty
  private val keys = new GroupKeys(node.groupingExpressions.size)
  private val groups: GroupBuffers =
    if (aggregateFunctions.length == folds.size) new SharedBuffer(folds, batcher.columns)
    else new OwnBuffers(() => created())
  private lazy val sorted = new SortedGroups(groupingAttributes, aggregateFunctions)
  private var sent: Seq[UnsafeRow] = Nil // keys of the groups whose ordered rows were sent last
  private var sentBefore = 0
  private var isSorted = false
  private var waiting: InternalRow = _ // there was no room for its group
  private var output: Iterator[UnsafeRow] = Iterator.empty
  private var isDone = false

  override def hasNext: Boolean = {
    while (!output.hasNext && !isDone) named(keyOf)(advance())
    output.hasNext
  }

  /** A failure about a group gets the group's keys: Python knows its number only. */
  private def named[T](key: FailedGroup => Option[UnsafeRow])(work: => T): T =
    try work
    catch {
      case failed: KeyfoldException if !isGrouped => throw failed.about(GroupNames.AllRows)
      case failed: KeyfoldException =>
        throw failed.group.flatMap(key).fold(failed)(key => failed.about(shown(key)))
    }

  /** The key of a failed group; groups of ordered rows are numbered as they are sent. */
  private def keyOf(failed: FailedGroup): Option[UnsafeRow] =
    if (failed.fold < folds.size) keys.of(failed.number) else sent.lift(failed.number - sentBefore)

  private def shown(key: UnsafeRow): String =
    GroupNames.shown(node.groupingExpressions.map(column => column.name -> column.dataType), key)

  override def next(): UnsafeRow = {
    if (!hasNext) throw new NoSuchElementException
    figures.rows += 1
    output.next()
  }

  private def advance(): Unit = {
    val isLast = fill()
    if (!isLast) figures.emptied += 1
    if (isLast && !isSorted || node.isPartial)
      output = drained(form)((number, key) => generateOutput(key, groups(number)))
    else {
      drained("state")((number, key) => sorted.add(key, groups(number))).foreach(_ => ())
      isSorted = true
      if (isLast) output = merged()
    }
    if (isLast) {
      isDone = true
      output = output ++ finished()
    }
  }

  /** Takes rows in until memory is due; true at their end. */
  private def fill(): Boolean = {
    if (!isGrouped) group(groupingProjection(null)): Unit
    var isFull = false
    while (!isFull && (waiting != null || input.hasNext)) {
      val row = if (waiting != null) waiting else input.next()
      val number = if (isGrouped) group(groupingProjection(row)) else 0
      isFull = number < 0
      waiting = if (isFull) row else null
      if (!isFull) {
        processRow(groups(number), row)
        isFull = groups.isFull || isHeavy || batcher.isDue
      }
    }
    waiting == null && !input.hasNext
  }

  private def isHeavy: Boolean = kept.count > FoldIterator.OrderedBytes

  private def attach(ordered: Seq[OrderedFold]): Unit =
    ordered.zip(batcher.columns.drop(folds.size)).foreach { case (fold, column) => fold.attach(column, kept) }

  private def group(key: UnsafeRow): Int = {
    val number = keys.find(key)
    if (number == groups.size) groups.grow()
    number
  }

  private lazy val blank = new SpecificInternalRow(aggregateFunctions.toSeq.flatMap(_.aggBufferAttributes.map(_.dataType)))

  /** To make one of its types takes Spark longer than all else that is done for a group. */
  private def created(): InternalRow = {
    val buffer = new SpecificInternalRow(blank.values.map(_.copy()))
    initializeBuffer(buffer)
    buffer
  }

  /** Something of each group; then all are forgotten. */
  private def drained[T](form: String)(of: (Int, UnsafeRow) => T): Iterator[T] = {
    batcher.columns.foreach(_.foldAll(form))
    val found = if (ordered.isEmpty || form == "state") keys.drain() else prepared(keys.drain())
    found.map { case (number, key) => named(keyOf)(of(number, key)) } ++ cleared()
  }

  /** These groups, after the rows of many of them were sent in their order. */
  private def prepared(found: Iterator[(Int, UnsafeRow)]): Iterator[(Int, UnsafeRow)] =
    found.map { case (number, key) => (number, key.copy()) }.grouped(FoldIterator.Prepared).flatMap { some =>
      sentBefore += sent.size
      sent = some.map(_._2)
      named(keyOf)(some.foreach { case (number, _) => prepare(number) })
      some
    }

  private def prepare(number: Int): Unit = ordered.foreach(_.prepare(groups(number)))

  private def cleared(): Iterator[Nothing] = later {
    keys.clear()
    forget()
  }

  private def forget(): Unit = {
    groups.clear()
    kept.count = 0
    sent = Nil
    sentBefore = 0
    batcher.clear()
  }

  /** The groups that were sorted, so many at a time that their results come together. */
  private def merged(): Iterator[UnsafeRow] = {
    keys.free()
    val (functions, inputs) = merging
    val merge = generateProcessRow(functions.map(_._1), functions.map(_._2), inputs)
    val found = sorted.iterator()
    figures.spilled += sorted.spilled
    val held = new ArrayBuffer[UnsafeRow]
    var hasMore = found.next()
    def keyOfHeld(failed: FailedGroup): Option[UnsafeRow] = held.lift(failed.number)

    def window(): Unit = {
      held.clear()
      forget()
      def isRoom = held.size < FoldIterator.Window && !isHeavy && !batcher.isDue
      while (hasMore && (held.isEmpty || found.getKey == held.last || isRoom)) {
        if (held.isEmpty || found.getKey != held.last) {
          held += found.getKey.copy()
          groups.grow()
        }
        merge(groups(held.size - 1), found.getValue)
        hasMore = found.next()
      }
      batcher.columns.foreach(_.foldAll(form))
      if (form == "value") held.indices.foreach(prepare)
    }
    Iterator.continually(()).takeWhile(_ => hasMore).flatMap { _ =>
      named(keyOfHeld)(window())
      held.indices.iterator.map(number => named(keyOfHeld)(generateOutput(held(number), groups(number))))
    }
  }

  /** The functions as they merge what `sorted` holds. */
  private def merging: (Seq[(AggregateExpression, AggregateFunction)], Seq[Attribute]) = {
    val calls = node.aggregateExpressions.map {
      case call if call.mode == Partial => call.copy(mode = PartialMerge)
      case call if call.mode == Complete => call.copy(mode = Final)
      case call => call
    }
    val functions = initializeAggregateFunctions(calls, 0).toSeq
    attach(functions.collect { case fold: OrderedFold => fold })
    (calls.zip(functions), functions.flatMap(_.inputAggBufferAttributes))
  }

  private def finished(): Iterator[Nothing] = later {
    keys.free()
    figures.batches += batcher.batches
    figures.answers += batcher.answers
  }

  /** Nothing, but not before it is looked for. */
  private def later(work: => Unit): Iterator[Nothing] = new Iterator[Nothing] {
    private lazy val done = work
    override def hasNext: Boolean = {
      done
      false
    }
    override def next(): Nothing = Iterator.empty.next()
  }
}

object FoldIterator {
  private val Window = 1 << 16
  private val Prepared = 1 << 12
  private val OrderedBytes = 64L << 20
}
