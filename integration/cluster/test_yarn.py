"""Jobs on YARN, in client and in cluster mode, on machines that have keyfold at the same path.

With archives, killed executors and containers beyond their memory they take minutes:
`python -m integration.cluster.yarn`.
"""

from __future__ import annotations

from pathlib import Path

from integration.cluster import clusters, yarn
from integration.sessions import INTERPRETED, QUICK_JVM
from keyfold.kernels import jit

ROWS = 20_000


def test_jobs(wheel_file: Path, jar: Path, tmp_path: Path) -> None:
    """One in PySpark and one in Scala, at the same time."""
    quick = {name.replace(".", "_"): value for name, value in INTERPRETED.items()}
    quick |= {f"spark_{who}_extraJavaOptions": QUICK_JVM for who in ("driver", "executor")}
    quick |= {"spark_yarn_am_extraJavaOptions": QUICK_JVM, "spark_job_rows": str(ROWS)}
    quick["spark_executor_instances"] = "1"
    kernels = str((jit.CACHE_DIRECTORY or tmp_path).parent)
    for of in ("executorEnv", "yarn_appMasterEnv"):
        quick[f"spark_{of}_{jit.CACHE_VARIABLE.replace('_', '__')}"] = kernels
    environment = clusters.installed(tmp_path, wheel_file)
    scala = ["--class", "keyfold.jobs.OnYarn", str(jar)]
    with yarn.running(tmp_path, environment) as cluster:
        jobs = (
            cluster.submit("client", "client", [str(yarn.JOB)], **quick),
            cluster.submit("cluster", "cluster", scala, **quick),
        )
        for job in jobs:
            assert job.answer() == yarn.expected(ROWS)
