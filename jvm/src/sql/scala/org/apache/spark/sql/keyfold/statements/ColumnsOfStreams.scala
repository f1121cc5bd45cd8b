package org.apache.spark.sql.keyfold.statements

import keyfold.spark.read.KeyfoldStream
import org.apache.spark.sql.catalyst.expressions.AttributeSet
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan, Project}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.datasources.v2.StreamingDataSourceV2ScanRelation

/** Driver side: each batch of a stream of ours reads the columns that the query uses; Spark prunes none of a stream.
  * A stream that a query has twice is read whole, as Spark takes its scans for one.
  */
object ColumnsOfStreams extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = {
    val streams = plan.collect { case scan: StreamingDataSourceV2ScanRelation => scan.stream }
    if (streams.isEmpty) plan
    else plan.transform {
      case project @ Project(_, scan: StreamingDataSourceV2ScanRelation) =>
        project.copy(child = pruned(scan, project.references, streams))
      case project @ Project(_, filter @ Filter(_, scan: StreamingDataSourceV2ScanRelation)) =>
        val used = project.references ++ filter.references
        project.copy(child = filter.copy(child = pruned(scan, used, streams)))
    }
  }

  private def pruned(scan: StreamingDataSourceV2ScanRelation, used: AttributeSet, streams: Seq[Any]): LogicalPlan =
    scan.stream match {
      case stream: KeyfoldStream if streams.count(_ == stream) == 1 =>
        val needed = scan.output.filter(used.contains)
        val kept = if (needed.isEmpty) scan.output.take(1) else needed
        if (kept.size == scan.output.size) scan
        else scan.copy(output = kept, stream = stream.of(kept.map(_.name)))
      case _ => scan
    }
}
