"""Looking at Spark's plans, so that no test passes on a plan that keyfold had no part in."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame, SparkSession

from integration.faults.processes import PATIENCE


def plan_of(frame: DataFrame) -> str:
    """The physical plan as text."""
    return str(frame._jdf.queryExecution().executedPlan().toString())


def assert_ours(frame: DataFrame) -> DataFrame:
    """The same frame, once it is sure that keyfold reads for it."""
    plan = plan_of(frame)
    assert "BatchScan" in plan, plan
    assert "keyfold" in plan.lower(), plan
    return frame


def scans(frame: DataFrame) -> list[str]:
    """The lines of the plan that are scans."""
    return [line.strip() for line in plan_of(frame).splitlines() if "BatchScan" in line]


def settle(spark: SparkSession) -> None:
    """Wait until Spark's own figures tell of all that has ended: events reach them behind a job."""
    spark._jsc.sc().listenerBus().waitUntilEmpty(int(PATIENCE * 1000))


def rows_of_tasks(spark: SparkSession, group: str) -> list[int]:
    """Rows that each task of a job group's last stage wrote."""
    settle(spark)
    tracker = spark.sparkContext.statusTracker()
    jobs = sorted(tracker.getJobIdsForGroup(group))
    stages = sorted(tracker.getJobInfo(jobs[-1]).stageIds)
    tasks = spark._jsc.sc().statusStore().taskList(stages[-1], 0, 1000)
    found = [tasks.apply(i).taskMetrics().get() for i in range(tasks.size())]
    return [metrics.outputMetrics().recordsWritten() for metrics in found]


def scan_figures(frame: DataFrame, kind: str = "BatchScanExec") -> list[dict[str, int]]:
    """The figures of each scan, or another kind of operator, of a frame that was collected, in the
    order of the plan.
    """
    found: list[dict[str, int]] = []

    def walk(node: Any) -> None:
        name = node.getClass().getSimpleName()
        if name == kind:
            metrics = node.metrics()
            names = metrics.keys().toSeq()
            found.append(
                {(n := names.apply(i)): metrics.apply(n).value() for i in range(names.size())}
            )
        if name == "AdaptiveSparkPlanExec":
            walk(node.executedPlan())
        elif name.endswith("QueryStageExec"):
            walk(node.plan())
        else:
            children = node.children()
            for place in range(children.size()):
                walk(children.apply(place))

    walk(frame._jdf.queryExecution().executedPlan())
    return found
