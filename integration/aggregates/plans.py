"""The operators of a query that has run, and their figures."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyspark.sql import DataFrame


def operators(plan: Any) -> Iterator[Any]:
    """The nodes of a physical plan, those of adaptive stages included."""
    name = plan.getClass().getSimpleName()
    if name == "AdaptiveSparkPlanExec":
        yield from operators(plan.executedPlan())
        return
    if name in ("ShuffleQueryStageExec", "BroadcastQueryStageExec", "ResultQueryStageExec"):
        yield from operators(plan.plan())
        return
    yield plan
    children = plan.children()
    for i in range(children.size()):
        yield from operators(children.apply(i))


def named(frame: DataFrame, name: str) -> list[Any]:
    """The operators of a class."""
    plan = frame._jdf.queryExecution().executedPlan()
    return [node for node in operators(plan) if node.getClass().getSimpleName() == name]


def figure(nodes: list[Any], name: str) -> int:
    """The sum of a metric."""
    return sum(node.metrics().apply(name).value() for node in nodes)
