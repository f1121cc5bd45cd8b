package org.apache.spark.sql.keyfold.lookups

import scala.collection.mutable.ArrayBuffer
import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import keyfold.spark.read.KeyfoldScan
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec
import org.apache.spark.sql.execution.metric.SQLMetrics

/** Driver side: puts a KeyReadExec above queries that read few whole keys and nothing else. */
object KeyReads extends ColumnarRule {
  private val MostKeys = 64

  override def postColumnarTransitions: Rule[SparkPlan] = {
    case limit: CollectLimitExec => limit.withNewChildren(limit.children.map(read))
    case plan => read(plan)
  }

  private def read(plan: SparkPlan): SparkPlan = if (isOfKeys(plan)) KeyReadExec(plan) else plan

  private def isOfKeys(plan: SparkPlan): Boolean = plan match {
    case project: ProjectExec => project.projectList.forall(isPlain) && isOfKeys(project.child)
    case rows: ColumnarToRowExec => isOfKeys(rows.child)
    case batches: BatchScanExec => batches.runtimeFilters.isEmpty &&
      Some(batches.scan).collect { case scan: KeyfoldScan => scan.keysAsked }.flatten.exists(_ <= MostKeys)
    case _ => false
  }

  /** Whether it is as quick and as harmless on the driver: no code of the user, no query of its own. */
  private def isPlain(expression: Expression): Boolean = expression.deterministic &&
    !expression.exists(one => one.isInstanceOf[UserDefinedExpression] || one.isInstanceOf[PlanExpression[_]])
}

/** Driver side: rows of few keys that a program collects, read by a worker beside the driver as one of a task would: a
  * job takes longer than that. If it fails, the job below answers, or says why not; an RDD is always made of that.
  */
final case class KeyReadExec(child: SparkPlan) extends UnaryExecNode {
  override def output: Seq[Attribute] = child.output
  override protected def stringArgs: Iterator[Any] = Iterator(output)
  override protected def doExecute(): RDD[InternalRow] = child.execute()

  override def executeCollect(): Array[InternalRow] = {
    val scan = child.collectFirst { case one: BatchScanExec => one }.get
    if (scan.inputPartitions.size > 1) child.executeCollect() // tasks read at the same time
    else try above(child, read(scan)) catch { case NonFatal(_) => child.executeCollect() }
  }

  override def executeTake(count: Int): Array[InternalRow] = executeCollect().take(count)

  /** The rows of a projection above the scan. */
  private def above(plan: SparkPlan, found: Array[InternalRow]): Array[InternalRow] = plan match {
    case project: ProjectExec =>
      val columns = UnsafeProjection.create(project.projectList, project.child.output)
      above(project.child, found).map(columns(_).copy())
    case compiled: WholeStageCodegenExec => above(compiled.child, found)
    case _ => found
  }

  private def read(scan: BatchScanExec): Array[InternalRow] = {
    val kept = UnsafeProjection.create(scan.output, scan.output)
    val figures = ArrayBuffer.from(scan.scan.reportDriverMetrics)
    val found = scan.inputPartitions.toArray.flatMap { part =>
      val reader = scan.readerFactory.createColumnarReader(part)
      try {
        val rows = Iterator.continually(reader).takeWhile(_.next())
          .flatMap(_.get().rowIterator.asScala).map(kept(_).copy(): InternalRow).toArray
        figures ++= reader.currentMetricsValues
        rows
      } finally reader.close()
    }
    scan.longMetric("numOutputRows").add(found.length)
    figures.foreach(figure => scan.longMetric(figure.name).add(figure.value))
    val query = sparkContext.getLocalProperty(SQLExecution.EXECUTION_ID_KEY)
    SQLMetrics.postDriverMetricUpdates(sparkContext, query, scan.metrics.values.toSeq)
    found
  }

  override protected def withNewChildInternal(changed: SparkPlan): KeyReadExec = copy(child = changed)
}
