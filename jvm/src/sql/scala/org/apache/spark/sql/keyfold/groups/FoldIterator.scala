package org.apache.spark.sql.keyfold.groups

import keyfold.spark.KeyfoldException
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.execution.aggregate.AggregationIterator
import org.apache.spark.sql.keyfold.aggregates.{FoldBatcher, FoldFunction}

/** Executor side: the groups of one task. When memory is due, a partial operator emits all groups and begins anew;
  * any other puts their payloads into Spark's external sorter, and merges equal keys at the end.
  */
final class FoldIterator(node: FoldAggregateExec, part: Int, input: Iterator[InternalRow], figures: FoldFigures)
    extends AggregationIterator(part, node.groupingExpressions, node.inputs, node.aggregateExpressions,
      node.aggregateAttributes, node.initialInputBufferOffset, node.resultExpressions,
      (expressions, inputs) => MutableProjection.create(expressions, inputs)) {
  private val folds = aggregateFunctions.collect { case fold: FoldFunction => fold }.toSeq
  private val batcher = FoldBatcher()(folds)
  folds.zip(batcher.columns).foreach { case (fold, column) => fold.attach(column) }
  private var heldBytes = 0L // of keys

  private val form =
    if (node.aggregateExpressions.exists(call => call.mode == Final || call.mode == Complete)) "value" else "state"
  private val isGrouped = node.groupingExpressions.nonEmpty
  private val groups = new GroupBuffers(() => created())
  private lazy val sorted = new SortedGroups(groupingAttributes, aggregateFunctions)
  private var isSorted = false
  private var output: Iterator[UnsafeRow] = Iterator.empty
  private var isDone = false

  override def hasNext: Boolean = {
    while (!output.hasNext && !isDone) named(advance())
    output.hasNext
  }

  /** A failure about a group gets the group's key: Python knows its number only. */
  private def named[T](work: => T): T =
    try work
    catch {
      case failed: KeyfoldException if !isGrouped => throw failed.about(GroupNames.AllRows)
      case failed: KeyfoldException =>
        throw failed.group.flatMap(of => groups.keys.lift(of.number)).fold(failed)(key => failed.about(
            GroupNames.shown(node.groupingExpressions.map(column => column.name -> column.dataType), key)))
    }

  override def next(): UnsafeRow = {
    if (!hasNext) throw new NoSuchElementException
    figures.rows += 1
    output.next()
  }

  private def advance(): Unit = {
    val isLast = fill()
    if (!isLast) figures.emptied += 1
    if (isLast && !isSorted || node.isPartial)
      output = drained(form)(number => generateOutput(groups.keys(number), groups(number)))
    else {
      drained("state")(number => sorted.add(groups.keys(number), groups(number))).foreach(_ => ())
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
    while (!isFull && input.hasNext) {
      val row = input.next()
      processRow(groups(if (isGrouped) group(groupingProjection(row)) else 0), row)
      isFull = groups.isFull || isHeavy || batcher.isDue
    }
    !input.hasNext
  }

  private def isHeavy: Boolean = heldBytes > FoldIterator.HeldBytes

  private def group(key: UnsafeRow): Int = {
    val known = groups.find(key)
    if (known >= 0) known else begin(key)
  }

  private def begin(key: UnsafeRow): Int = {
    heldBytes += key.getSizeInBytes
    groups.grow(key.copy())
    groups.size - 1
  }

  private lazy val blank =
    new SpecificInternalRow(aggregateFunctions.toSeq.flatMap(_.aggBufferAttributes.map(_.dataType)))

  /** To make one of its types takes Spark longer than all else that is done for a group. */
  private def created(): InternalRow = {
    val buffer = new SpecificInternalRow(blank.values.map(_.copy()))
    initializeBuffer(buffer)
    buffer
  }

  /** Something of each group; then all are forgotten. */
  private def drained[T](form: String)(of: Int => T): Iterator[T] = {
    batcher.columns.foreach(_.foldAll(form))
    groups.keys.indices.iterator.map(number => named(of(number))) ++ later(forget())
  }

  private def forget(): Unit = {
    groups.clear()
    heldBytes = 0
    batcher.clear()
  }

  /** The groups that were sorted, so many at a time that their results come together. */
  private def merged(): Iterator[UnsafeRow] = {
    val (functions, inputs) = merging
    val merge = generateProcessRow(functions.map(_._1), functions.map(_._2), inputs)
    val found = sorted.iterator()
    figures.spilled += sorted.spilled
    var hasMore = found.next()

    def window(): Unit = {
      def isSame = groups.keys.lastOption.contains(found.getKey)
      def isRoom = groups.size < FoldIterator.Window && !isHeavy && !batcher.isDue
      while (hasMore && (groups.size == 0 || isSame || isRoom)) {
        if (!isSame) begin(found.getKey): Unit
        merge(groups(groups.size - 1), found.getValue)
        hasMore = found.next()
      }
    }
    Iterator.continually(()).takeWhile(_ => hasMore).flatMap { _ =>
      named(window())
      drained(form)(number => generateOutput(groups.keys(number), groups(number)))
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
    (calls.zip(functions), functions.flatMap(_.inputAggBufferAttributes))
  }

  private def finished(): Iterator[Nothing] = later {
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
  private val HeldBytes = 64L << 20
}
