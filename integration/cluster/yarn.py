"""Jobs on YARN by the recipes of docs/clusters.md: `python -m integration.cluster.yarn`.

A resource manager and a node manager are processes of their own, from Hadoop's minicluster. What
ran is printed line by line, with seconds; the first thing that is not as promised ends it.
"""

from __future__ import annotations

import argparse
import os
import shlex
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from integration import fetched
from integration.cluster import clusters, hadoop
from integration.cluster.clusters import SPARK_HOME, Installation
from integration.faults import processes
from integration.release import packages
from tests.ports import free_port

SERVER = "org.apache.hadoop.yarn.server"
JOB = Path(__file__).with_name("jobs") / "yarn_job.py"
EXECUTOR = "org.apache.spark.executor.YarnCoarseGrainedExecutorBackend"
LOGGING = """
rootLogger.level = info
rootLogger.appenderRef.out.ref = out
appender.out.type = Console
appender.out.name = out
appender.out.layout.type = PatternLayout
appender.out.layout.pattern = %d %p %c{1} %m%n
"""
ROWS, MANY_ROWS = 200_000, 4_000_000
SUBMIT = (str(SPARK_HOME / "bin" / "spark-submit"), "--master", "yarn")
CONFS = {
    "spark.yarn.jars": f"local:{SPARK_HOME}/jars/*",
    "spark.executor.instances": "2",
    "spark.executor.memory": "512m",
    "spark.executor.memoryOverhead": "1152m",
    "spark.driver.memory": "512m",
    "spark.driver.memoryOverhead": "1g",
    "spark.yarn.am.memory": "384m",
    "spark.yarn.maxAppAttempts": "1",
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "2",
}
DEADLINE = 1200  # the first job compiles the kernels
ROOM = "384 + 256 + 512 = 1152m"  # of docs/clusters.md, for an executor of one core


class Submitted:
    """A job that was started."""

    def __init__(self, process: subprocess.Popen[bytes], folder: Path) -> None:
        self.process, self.folder = process, folder

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text(errors="replace")

    def answer(self) -> str:
        """What it left once it has ended well."""
        code = self.process.wait(DEADLINE)
        assert code == 0, f"{self.folder.name} ended with {code}:\n{self.log[-6000:]}"
        return (self.folder / "answer").read_text()

    def has_begun(self, insert: int) -> bool:
        """Whether it is at that INSERT."""
        return (self.folder / f"answer.{insert}").exists()


@dataclass(frozen=True)
class Yarn:
    """A running cluster, and the environment that jobs are submitted from."""

    folder: Path
    pids: tuple[int, int]
    environment: Installation
    submitted: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def archive(self, mode: str) -> str:
        """What jobs of that mode ship."""
        path = self.folder / f"keyfold-{mode}.tgz"
        if not path.exists():
            self.environment.keyfold("archive", *for_driver(mode), str(path))
        return str(path)

    def submit(
        self, name: str, mode: str, job: Sequence[str], archive: str = "", **confs: str
    ) -> Submitted:
        """Start a job; `conf_name` reads names of confs. Without an archive, executors run the
        Python that submits.
        """
        folder = self.folder / name
        folder.mkdir()
        shipped = ["--archive", archive, *for_driver(mode)] if archive else []
        lake = str(folder / "lake")
        own = shlex.split(self.environment.keyfold("conf", "--warehouse", lake, *shipped))
        given = {
            **CONFS,
            "spark.yarn.stagingDir": str(self.folder / "staging"),
            "spark.job.answer": str(folder / "answer"),
            "spark.job.rows": str(ROWS),
            "spark.job.keys": "1000",
        }
        given |= {conf_name(conf): value for conf, value in confs.items()}
        named = [f"--conf={conf}={value}" for conf, value in given.items()]
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(
                [*SUBMIT, "--deploy-mode", mode, *own, *named, *job],
                cwd=folder,
                env=self._environment(mode),
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        self.submitted.append(process)
        return Submitted(process, folder)

    def _environment(self, mode: str) -> dict[str, str]:
        """That of spark-submit."""
        driver = {"PYSPARK_DRIVER_PYTHON": str(self.environment.python)} if mode == "client" else {}
        conf = str(self.folder / "conf")
        return clusters.bare_environment(
            HADOOP_CONF_DIR=conf, SPARK_LOCAL_IP=clusters.HOSTS[0], **driver
        )

    def executors(self) -> list[int]:
        """The JVMs of executors that run."""
        commands = {pid: processes.command(pid) for pid in processes.descendants(self.pids[1])}
        is_java = {pid for pid, words in commands.items() if words and words[0].endswith("java")}
        return [pid for pid in is_java if EXECUTOR in commands[pid]]


def conf_name(text: str) -> str:
    """A conf's name, whose dots are underscores there, and underscores two of them."""
    return text.replace("__", "/").replace("_", ".").replace("/", "_")


def for_driver(mode: str) -> list[str]:
    """The argument of `archive` and `conf` if the driver runs on the cluster."""
    return ["--for-driver"] if mode == "cluster" else []


@contextmanager
def running(folder: Path, installed: Installation) -> Iterator[Yarn]:
    """A resource manager and a node manager, and what is submitted to them."""
    jar = next(fetched.fetched("hdfs", "hadoop-client-minicluster-*.jar").glob("*.jar"))
    _configure(folder)
    own = fetched.fetched("yarn", "bcprov-*.jar") / "*"  # the resource manager makes certificates
    path = os.pathsep.join(map(str, [folder / "conf", jar, own, SPARK_HOME / "jars" / "*"]))
    environment = clusters.bare_environment(CLASSPATH=path, HADOOP_CONF_DIR=str(folder / "conf"))
    java = ["java", "-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
    java += [f"-Dlog4j2.configurationFile={folder / 'conf' / 'log4j2.properties'}"]
    java += ["--add-opens=java.base/java.lang=ALL-UNNAMED"]
    daemons: list[subprocess.Popen[bytes]] = []
    submitted: list[subprocess.Popen[bytes]] = []
    try:
        for program in ("resourcemanager.ResourceManager", "nodemanager.NodeManager"):
            with (folder / f"{program.partition('.')[0]}.log").open("wb") as log:
                daemons.append(
                    subprocess.Popen(
                        [*java, f"{SERVER}.{program}"], env=environment, stdout=log, stderr=log
                    )
                )
        manager = folder / "resourcemanager.log"

        def is_there() -> bool:
            ended = [daemon.args for daemon in daemons if daemon.poll() is not None]
            assert not ended, f"{ended}:\n{manager.read_text(errors='replace')[-6000:]}"
            return "registered with capability" in manager.read_text()

        _until(is_there, manager)
        yield Yarn(folder, (daemons[0].pid, daemons[1].pid), installed, submitted)
    finally:
        for process in (*submitted, *reversed(daemons)):
            below = processes.descendants(process.pid)
            process.kill()
            process.wait()
            for pid in processes.alive(below):
                processes.kill(pid)


def _configure(folder: Path) -> None:
    (folder / "conf").mkdir()
    manager, host = "yarn.resourcemanager", clusters.HOSTS[0]
    settings = {
        "fs.defaultFS": "file:///",
        "hadoop.tmp.dir": str(folder / "tmp"),
        f"{manager}.hostname": host,
        f"{manager}.scheduler.class": f"{SERVER}.resourcemanager.scheduler.fifo.FifoScheduler",
        "yarn.nodemanager.hostname": host,
        "yarn.nodemanager.address": f"{host}:0",
        "yarn.nodemanager.localizer.address": f"{host}:0",
        "yarn.nodemanager.webapp.address": f"{host}:0",
        "yarn.nodemanager.local-dirs": str(folder / "local"),
        "yarn.nodemanager.log-dirs": str(folder / "containers"),
        "yarn.nodemanager.resource.memory-mb": "6144",
        "yarn.nodemanager.resource.cpu-vcores": "8",
        "yarn.nodemanager.vmem-check-enabled": "false",
        "yarn.nodemanager.resource.memory.enforced": "false",  # by looking, not by cgroups
        "yarn.nodemanager.container-monitor.interval-ms": "500",
        "yarn.nodemanager.disk-health-checker.enable": "false",
        "yarn.scheduler.minimum-allocation-mb": "64",
        "yarn.application.classpath": "",
    }
    for name in ("address", "scheduler.address", "resource-tracker.address", "admin.address"):
        settings[f"{manager}.{name}"] = f"{host}:{free_port()}"
    settings[f"{manager}.webapp.address"] = f"{host}:0"
    (folder / "conf" / "log4j2.properties").write_text(LOGGING)
    hadoop.write_settings(folder / "conf", settings, "core-site.xml", "yarn-site.xml")


def _until(is_so: Callable[[], bool], log: Path) -> None:
    assert processes.wait_until(is_so, DEADLINE), log.read_text(errors="replace")[-6000:]


def told(what: str, since: float) -> float:
    """Print what ran; the time now."""
    now = time.monotonic()
    print(f"{now - since:6.1f} s  {what}", flush=True)
    return now


def main() -> None:
    """All of it, on a cluster of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--wheel", type=Path, help="a wheel that is there, else one is built")
    given: Path | None = parser.parse_args().wheel
    with tempfile.TemporaryDirectory(prefix="yarn-", dir=os.environ.get("TMPDIR")) as name:
        folder, since = Path(name), time.monotonic()
        (folder / "wheel").mkdir()
        wheel = packages.build(folder / "wheel") if given is None else given
        environment = clusters.installed(folder, wheel)
        with running(folder, environment) as yarn:
            since = told("a resource manager and a node manager", since)
            for mode in ("client", "cluster"):
                archive = yarn.archive(mode)
                found = yarn.submit(mode, mode, [str(JOB)], archive, **python_of(archive)).answer()
                assert found == expected(ROWS), found
                since = told(f"PySpark in {mode} mode: {found}, overhead {ROOM}", since)
            _killed(yarn)
            since = told("an executor killed while it wrote: the rows count once", since)
            _too_little(yarn)
            told("a container beyond its memory: YARN ends it, and the job says so", since)


def python_of(archive: str) -> dict[str, str]:
    """The conf that gives a driver in PySpark, if it runs on the cluster, the archive's Python."""
    return {"spark_yarn_appMasterEnv_PYSPARK__PYTHON": f"{Path(archive).stem}/bin/python"}


def expected(rows: int) -> str:
    """The answer of a job that folds so many rows twice."""
    return f"1000 {2 * rows}"


def _killed(yarn: Yarn) -> None:
    job = yarn.submit("killed", "client", [str(JOB)], spark_job_rows=str(MANY_ROWS))
    _until(lambda: job.has_begun(1) and bool(yarn.executors()), job.folder / "log")
    os.kill(yarn.executors()[0], signal.SIGKILL)
    found = job.answer()
    assert found == expected(MANY_ROWS), found
    assert "Lost executor" in job.log, job.log[-6000:]


def _too_little(yarn: Yarn) -> None:
    confs = {"spark_executor_memoryOverhead": "64m", "spark_executor_cores": "4"}
    confs |= {"spark_task_maxFailures": "1", "spark_executor_instances": "1"}
    confs |= {"spark_job_rows": str(4 * MANY_ROWS), "spark_job_keys": str(4 * MANY_ROWS)}
    job = yarn.submit("little", "client", [str(JOB)], **confs)
    code = job.process.wait(DEADLINE)
    assert code != 0, "a container of 576 MiB was enough"
    assert "physical memory" in job.log, job.log[-6000:]


if __name__ == "__main__":
    main()
