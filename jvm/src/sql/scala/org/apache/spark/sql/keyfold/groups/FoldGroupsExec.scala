package org.apache.spark.sql.keyfold.groups

import keyfold.spark.KeyfoldException
import org.apache.spark.{SparkContext, TaskContext}
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.execution.{SparkPlan, UnaryExecNode}
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}
import org.apache.spark.sql.keyfold.arrow.ArrowBatchReader
import org.apache.spark.sql.types._
import org.apache.spark.sql.vectorized.ColumnarBatch

/** Both sides: the groups of an aggregation whose functions are all folds. Python has the keys too, so that only whole
  * groups come back. A partial operator may give a group several times: another one merges it.
  */
final case class FoldGroupsExec(keys: Seq[Attribute], results: Seq[Attribute], calls: Seq[String], child: SparkPlan)
    extends UnaryExecNode {
  override def output: Seq[Attribute] = keys ++ results
  override def producedAttributes: AttributeSet = outputSet
  override def supportsColumnar: Boolean = true
  override def simpleString(fields: Int): String =
    s"FoldGroups(keys=${keys.mkString("[", ", ", "]")}, functions=${calls.mkString("[", ", ", "]")})"

  override lazy val metrics: Map[String, SQLMetric] = FoldFigures.metrics(sparkContext)

  override protected def doExecute(): RDD[InternalRow] = throw new UnsupportedOperationException("its groups are columns")

  override protected def doExecuteColumnar(): RDD[ColumnarBatch] = {
    val figures = new FoldFigures(metrics)
    val named = keys.map(key => key.name -> key.dataType)
    child.execute().mapPartitionsInternal(rows => new GroupBatches(rows, named, figures))
  }

  /** The operator without texts of calls, whose columns have numbers of their own: Spark runs equal operators once. */
  override protected def doCanonicalize(): SparkPlan = super.doCanonicalize().asInstanceOf[FoldGroupsExec].copy(calls = Nil)

  override protected def withNewChildInternal(changed: SparkPlan): FoldGroupsExec = copy(child = changed)
}

/** Executor side: the figures of an operator. */
final class FoldFigures(metrics: Map[String, SQLMetric]) extends Serializable {
  val rows: SQLMetric = metrics("numOutputRows")
  val batches: SQLMetric = metrics("batches")
  val answers: SQLMetric = metrics("answers")
  val emptied: SQLMetric = metrics("emptied")
  val spilled: SQLMetric = metrics("spillSize")
}

object FoldFigures {
  /** Driver side: the metrics of an operator, by their names. */
  def metrics(context: SparkContext): Map[String, SQLMetric] = Map(
    "numOutputRows" -> SQLMetrics.createMetric(context, "number of output rows"),
    "batches" -> SQLMetrics.createMetric(context, "batches of rows to Python"),
    "answers" -> SQLMetrics.createMetric(context, "batches of results from Python"),
    "emptied" -> SQLMetrics.createMetric(context, "times that groups were emitted or sorted for memory"),
    "spillSize" -> SQLMetrics.createSizeMetric(context, "spill size"))
}

/** Executor side: the groups of one task, whose rows the operator below sends as its own are asked for. */
final class GroupBatches(rows: Iterator[InternalRow], keys: Seq[(String, DataType)], figures: FoldFigures)
    extends Iterator[ColumnarBatch] {
  private val sink = {
    require(rows.hasNext, "the operator below tells of its sink first")
    rows.next().get(0, NullType).asInstanceOf[RowSink]
  }
  private var groups: Option[ArrowBatchReader] = None
  private var isReady, isLast, isDone = false

  TaskContext.get().addTaskCompletionListener[Unit](_ => groups.foreach(_.close())): Unit

  override def hasNext: Boolean = {
    try while (!isReady && !isDone) advance()
    catch {
      case failed: KeyfoldException =>
        throw if (keys.isEmpty) failed.about(GroupNames.AllRows)
        else failed.group.flatMap(_.key).fold(failed)(key => failed.about(GroupNames.shown(keys, key)))
    }
    isReady
  }

  override def next(): ColumnarBatch = {
    if (!hasNext) throw new NoSuchElementException
    isReady = false
    figures.answers += 1
    figures.rows += groups.get.current.numRows
    groups.get.current
  }

  private def advance(): Unit = groups match {
    case Some(read) =>
      isReady = sink.next(read)
      if (!isReady) finish(read)
    case None if rows.hasNext =>
      rows.next(): Unit
      figures.emptied += 1
      groups = Some(sink.emit())
    case None if !sink.isOpen && keys.nonEmpty => isDone = true
    case None =>
      isLast = true
      groups = Some(sink.emit())
  }

  private def finish(read: ArrowBatchReader): Unit = {
    read.close()
    groups = None
    figures.spilled.set(Math.max(figures.spilled.value, sink.emitted()))
    isDone = isLast
    if (isDone) figures.batches += sink.batches
  }
}

/** Both sides: a group in words. */
object GroupNames {
  val AllRows = "all rows"

  def shown(keys: Seq[(String, DataType)], key: InternalRow): String = keys.zipWithIndex.map { case ((name, kind), i) =>
    s"$name = ${Cast(Literal(key.get(i, kind), kind), StringType, Some("UTC")).eval()}"
  }.mkString("group (", ", ", ")")

  def shown(keys: Seq[(String, DataType)], key: Array[Byte]): String = {
    val row = new UnsafeRow(keys.size)
    row.pointTo(key, key.length)
    shown(keys, row)
  }
}
