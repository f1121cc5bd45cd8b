"""Plans of everything in a Spark session: by the driver's process and by tasks of a Spark job.

Seconds of the clock, and of the processor of the JVM and all of its Python; then the memory of the
fork server and of the driver's process. The first call of each begins in processes that have read
no manifest yet: `many_files` asks for both, each in a session of its own. Tasks plan no table of a
single manifest.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import mean
from typing import Any

import keyfold
from integration import sessions
from integration.bench.growth import resident
from integration.bench.measure import MB
from integration.bench.processor_time import used_by_all
from integration.faults import processes
from integration.faults.harness import jvm_of

TIMES = 2
CORES = "spark.sql.leafNodeDefaultParallelism"
HOW = {"process": "one process", "tasks": "tasks"}


def measured(folder: Path, files: int, how: str) -> dict[str, Any]:
    """The times of the first plan in a session, of later ones, and of two at once; and the MB, at
    most and at the end, of the processes that stay. Nothing if tasks would not plan the table.
    """
    warehouse = str(folder)
    asked = {"spark.driver.memory": "3g", CORES: "16"}  # two cores would not be worth tasks
    builder = sessions.builder(folder / f"by-{how}", **asked)
    spark = keyfold.configure(builder, warehouse=warehouse).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    spark.range(10).count()
    least = 1 if how == "tasks" else files * 10
    reader = spark.read.option("keyfold.plan-in-tasks.files", least)
    reader.table("keyfold.default.t").where("p = 0")._jdf.queryExecution().analyzed()
    (server,) = processes.children(jvm_of(spark)) & processes.workers(jvm_of(spark))
    (driver,) = processes.children(server)  # no task has begun yet

    by_tasks: list[bool] = []

    def planned(_: int = 0) -> tuple[float, float]:
        began, before = time.perf_counter(), used_by_all()
        plan = reader.table("keyfold.default.t")._jdf.queryExecution()
        by_tasks.append("planned by" in str(plan.executedPlan().toString()))
        return time.perf_counter() - began, used_by_all() - before

    def memory(pid: int) -> tuple[float, float]:
        return processes.peak_memory(pid) / MB, resident(pid)

    first, later = planned(), [planned() for _ in range(TIMES)]
    alone = memory(driver)
    with ThreadPoolExecutor(2) as threads:
        both = list(threads.map(planned, range(2)))
    times = {"first": [first], "later": later, "two at once": both}
    megabytes = {"driver": alone, "two at once": memory(driver), "server": memory(server)}
    spark.stop()
    if set(by_tasks) != {how == "tasks"}:
        assert not any(by_tasks), by_tasks
        return {}
    return {
        "times": {name: list(map(mean, zip(*of, strict=True))) for name, of in times.items()},
        "megabytes": megabytes,
    }
