package org.apache.spark.sql.keyfold.groups

import keyfold.spark.{Json, KeyfoldException}
import org.apache.spark.TaskContext
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.execution.{ProjectExec, SparkPlan, UnaryExecNode}
import org.apache.spark.sql.execution.aggregate.ObjectHashAggregateExec
import org.apache.spark.sql.execution.metric.SQLMetrics
import org.apache.spark.sql.keyfold.aggregates.FoldFunction
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

  override lazy val metrics = Map(
    "numOutputRows" -> SQLMetrics.createMetric(sparkContext, "number of output rows"),
    "batches" -> SQLMetrics.createMetric(sparkContext, "batches of rows to Python"),
    "answers" -> SQLMetrics.createMetric(sparkContext, "batches of groups from Python"),
    "emptied" -> SQLMetrics.createMetric(sparkContext, "times that groups were emitted for memory"),
    "spillSize" -> SQLMetrics.createSizeMetric(sparkContext, "spill size"))

  override protected def doExecute(): RDD[InternalRow] =
    throw new UnsupportedOperationException("its groups are columns")

  override protected def doExecuteColumnar(): RDD[ColumnarBatch] = {
    val figures = new FoldFigures(longMetric("numOutputRows"), longMetric("batches"), longMetric("answers"),
      longMetric("emptied"), longMetric("spillSize"))
    val named = keys.map(key => key.name -> key.dataType)
    child.execute().mapPartitionsInternal(rows => new GroupBatches(rows, named, figures))
  }

  override protected def withNewChildInternal(changed: SparkPlan): FoldGroupsExec = copy(child = changed)
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
        throw failed.group.flatMap(_.key).fold(failed)(key => failed.about(GroupNames.shown(keys, key)))
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

/** Driver side: an aggregation that these operators can do, as them: of folds alone, of values and not of states with
  * headers, by keys of flat types, and not in a stream.
  */
object FoldGroups {
  def of(spark: ObjectHashAggregateExec): Option[SparkPlan] = {
    val calls = spark.aggregateExpressions
    val modes = calls.map(_.mode).distinct
    val functions = calls.map(_.aggregateFunction).collect {
      case fold: FoldFunction if fold.takes.isEmpty && fold.gives.isEmpty => fold
    }
    if (spark.isStreaming || modes.size != 1 || functions.size != calls.size ||
      !spark.groupingExpressions.forall(key => isFlat(key.dataType)) ||
      !functions.forall(fold => isKnown(fold.children.head.dataType))) None
    else Some(planned(spark, modes.head, functions))
  }

  private def isKnown(kind: DataType): Boolean = kind match {
    case ArrayType(element, _) => isKnown(element)
    case MapType(key, value, _) => isKnown(key) && isKnown(value)
    case StructType(fields) => fields.forall(field => isKnown(field.dataType))
    case _ => isFlat(kind)
  }

  private def isFlat(kind: DataType): Boolean = kind match {
    case BooleanType | ByteType | ShortType | IntegerType | LongType | FloatType | DoubleType | DateType | TimestampType |
        TimestampNTZType | StringType | BinaryType | _: DecimalType => true
    case _ => false
  }

  private def planned(spark: ObjectHashAggregateExec, mode: AggregateMode, folds: Seq[FoldFunction]): SparkPlan = {
    val takesStates = mode == PartialMerge || mode == Final
    val givesValues = mode == Final || mode == Complete
    val columns = new SinkColumns
    val keys = spark.groupingExpressions
    if (keys.nonEmpty) columns.addKey(keys)
    val buffers = spark.child.output.takeRight(folds.size)
    val described = spark.aggregateExpressions.zip(folds).zipWithIndex.map { case ((call, fold), i) =>
      val column = columns.add(if (takesStates) buffers(i) else fold.children.head)
      val mask = if (takesStates) -1 else call.filter.fold(-1)(columns.addMask)
      Json.obj("fold" -> Json.parse(fold.fold), "type" -> Json.parse(fold.children.head.dataType.json),
        "column" -> column, "is_packed" -> columns.isPacked(column),
        "is_state" -> takesStates, "mask" -> mask, "gives_state" -> !givesValues)
    }
    val question = Json.obj("question" -> "group", "keys" -> keys.map(key => Json.parse(key.dataType.json)),
      "folds" -> described, "spills" -> spark.requiredChildDistributionExpressions.isDefined)
    val rows = FoldRowsExec(columns.values, columns.forms, question.toString, spark.child)
    val names = spark.aggregateExpressions.map(_.toString)
    if (givesValues)
      ProjectExec(spark.resultExpressions,
        FoldGroupsExec(keys.map(_.toAttribute), spark.aggregateAttributes, names, rows))
    else {
      val (own, states) = spark.resultExpressions.map(_.toAttribute).splitAt(keys.size)
      FoldGroupsExec(own, states, names, rows)
    }
  }
}

/** Driver side: the columns that a task sends, each once. */
private final class SinkColumns {
  private val found = scala.collection.mutable.ArrayBuffer.empty[(Seq[Expression], SharedColumn)]

  def values: Seq[Seq[Expression]] = found.map(_._1).toSeq
  def forms: Seq[SharedColumn] = found.map(_._2).toSeq
  def isPacked(column: Int): Boolean = found(column)._2.isPacked

  def addKey(keys: Seq[Expression]): Unit = {
    val form = if (keys.size == 1) SharedColumn.of(keys.head.dataType) else SharedColumn.Packed
    found += ((keys, if (form.width > 0) form else SharedColumn.Packed)): Unit
  }

  def add(value: Expression): Int = {
    val known = found.indexWhere { case (of, form) =>
      of.size == 1 && of.head.semanticEquals(value) && form == SharedColumn.of(value.dataType)
    }
    if (known >= 0) known
    else {
      found += ((Seq(value), SharedColumn.of(value.dataType)))
      found.size - 1
    }
  }

  /** A filter's NULL leaves a row out. */
  def addMask(filter: Expression): Int = add(Coalesce(Seq(filter, Literal.FalseLiteral)))
}

/** Both sides: a group in words. */
object GroupNames {
  def shown(keys: Seq[(String, DataType)], key: InternalRow): String = keys.zipWithIndex.map { case ((name, kind), i) =>
    s"$name = ${Cast(Literal(key.get(i, kind), kind), StringType, Some("UTC")).eval()}"
  }.mkString("group (", ", ", ")")

  def shown(keys: Seq[(String, DataType)], key: Array[Byte]): String = {
    val row = new UnsafeRow(keys.size)
    row.pointTo(key, key.length)
    shown(keys, row)
  }
}
