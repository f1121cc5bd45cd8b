"""A standalone cluster of real processes: a master, two workers of a core, and what is submitted.

The workers stand for two machines, 127.0.0.1 and 127.0.0.2: Spark starts no speculative attempt on
the machine of the first one. Their own Python lacks keyfold, whatever has it that runs the tests.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow
import pyspark

from integration.faults import processes
from integration.release import packages
from integration.sessions import INTERPRETED, LOGGING, QUICK_JVM

SPARK_HOME = Path(pyspark.__file__).parent
HOSTS = ("127.0.0.1", "127.0.0.2")
KEPT = ("HOME", "JAVA_HOME", "LANG", "KEYFOLD_CACHE_DIR", "XDG_CACHE_HOME")
STARTED = re.compile(r"Starting Spark master at (spark://\S+)")
EXECUTOR = "org.apache.spark.executor.CoarseGrainedExecutorBackend"
CONNECT_SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"
SERVES = re.compile(r"Spark Connect server started at: (\S+:\d+)")
REGISTERED = re.compile(r"Registering worker \S+ with 1 cores")


def bare_environment(**more: str) -> dict[str, str]:
    """That of a machine with Java and a Python that lacks keyfold; nothing of this process' own."""
    path = f"{Path(sys.base_prefix) / 'bin'}:/usr/local/bin:/usr/bin:/bin"
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    return {**kept, "PATH": path, "SPARK_HOME": str(SPARK_HOME), **more}


@dataclass(frozen=True)
class Cluster:
    """A running one: where it is reached, its processes, and a folder for what jobs leave."""

    master: str
    pids: tuple[int, ...]
    folder: Path

    def to_json(self) -> str:
        """For a program that is started on it."""
        return json.dumps([self.master, self.pids, str(self.folder)])

    @staticmethod
    def from_json(text: str) -> Cluster:
        """What `to_json` wrote."""
        master, pids, folder = json.loads(text)
        return Cluster(master, tuple(pids), Path(folder))

    def confs(self) -> dict[str, str]:
        """Those of an application that fits: two executors of a core."""
        return {
            "spark.master": self.master,
            "spark.cores.max": "2",
            "spark.executor.cores": "1",
            "spark.executor.memory": "512m",
            "spark.driver.memory": "640m",
            "spark.driver.host": HOSTS[0],
            "spark.driver.bindAddress": HOSTS[0],
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.sql.shuffle.partitions": "2",
            **INTERPRETED,
            "spark.sql.session.timeZone": "UTC",
            "spark.sql.catalogImplementation": "in-memory",
            "spark.scheduler.minRegisteredResourcesRatio": "1.0",  # both executors before any task
            "spark.scheduler.maxRegisteredResourcesWaitingTime": "240s",
            "spark.executor.extraJavaOptions": QUICK_JVM,
            "spark.driver.extraJavaOptions": f"{QUICK_JVM} {LOGGING}",
        }

    def executors(self) -> dict[int, str]:
        """Executors and the machine each stands on."""
        found = {}
        for pid in processes.children(*self.pids):
            words = processes.command(pid)
            if EXECUTOR in words:
                found[pid] = words[words.index("--hostname") + 1]
        return found

    def left(self) -> set[int]:
        """What executors started, or are themselves, that still runs."""
        below = {pid: processes.command(pid) for pid in processes.descendants(*self.pids)}
        return {pid for pid, words in below.items() if {EXECUTOR, processes.BRIDGE} & {*words}}


@contextmanager
def standalone(folder: Path) -> Iterator[Cluster]:
    """The cluster, stopped with the block."""
    daemons: list[subprocess.Popen[bytes]] = []
    try:
        log = folder / "master.log"
        daemons.append(_daemon(log, "master.Master", "--host", HOSTS[0], "--port", "0"))
        master = _awaited(log, STARTED, 1)[0]
        for number, host in enumerate(HOSTS):
            place = ["--host", host, "--work-dir", str(folder / f"work-{number}")]
            size = ["--cores", "1", "--memory", "600m"]
            daemons.append(
                _daemon(folder / f"worker-{number}.log", "worker.Worker", *place, *size, master)
            )
        _awaited(log, REGISTERED, len(HOSTS))
        yield Cluster(master, tuple(daemon.pid for daemon in daemons), folder)
    finally:
        _stop(daemons)


def _daemon(log: Path, name: str, *arguments: str) -> subprocess.Popen[bytes]:
    command = [str(SPARK_HOME / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}"]
    environment = bare_environment(
        SPARK_DAEMON_MEMORY="256m",
        SPARK_DAEMON_JAVA_OPTS=QUICK_JVM,
        SPARK_LOCAL_DIRS=str(log.parent / "local"),
        SPARK_LOCAL_IP=HOSTS[0],
    )
    with log.open("wb") as output:
        return subprocess.Popen(
            [*command, *arguments, "--webui-port", "0"],
            cwd=log.parent,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )


def _awaited(log: Path, line: re.Pattern[str], count: int) -> list[str]:
    """What a log says, once it says it so often."""
    found = processes.wait_until(
        lambda: len(line.findall(log.read_text())) >= count, processes.DEADLINE
    )
    assert found, f"{log.name} has no {count} lines {line.pattern}:\n{log.read_text()}"
    return line.findall(log.read_text())


def _stop(daemons: Sequence[subprocess.Popen[bytes]]) -> None:
    """Workers first, and what they still run with them."""
    below = processes.descendants(*(daemon.pid for daemon in daemons))
    for daemon in reversed(daemons):
        daemon.terminate()
    for daemon in daemons:
        try:
            daemon.wait(20)
        except subprocess.TimeoutExpired:
            daemon.kill()
            daemon.wait()
    for pid in processes.alive(below):
        processes.kill(pid)


@dataclass(frozen=True)
class Installation:
    """An environment into which keyfold's wheel was installed, beside the packages it needs."""

    python: Path

    def keyfold(self, *arguments: str) -> str:
        """What `python -m keyfold` prints."""
        done = subprocess.run(
            [str(self.python), "-m", "keyfold", *arguments],
            env=bare_environment(),
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.strip()

    def command(self, program: str, cluster: Cluster, warehouse: Path, archive: str) -> list[str]:
        """spark-submit or its kin with what `python -m keyfold conf` prints."""
        shipped = ["--archive", archive] if archive else []
        own = shlex.split(self.keyfold("conf", "--warehouse", str(warehouse), *shipped))
        confs = [f"--conf={name}={value}" for name, value in cluster.confs().items()]
        return [str(SPARK_HOME / "bin" / program), *own, *confs]

    def environment(self, cluster: Cluster) -> dict[str, str]:
        """That of a driver."""
        return bare_environment(
            PYSPARK_DRIVER_PYTHON=str(self.python),
            SPARK_LOCAL_DIRS=str(cluster.folder / "local"),
            SPARK_LOCAL_IP=HOSTS[0],
        )

    def run(self, cluster: Cluster, command: Sequence[str], folder: Path) -> str:
        """Run a driver to its end; what it printed."""
        done = subprocess.run(
            command,
            cwd=folder,
            env=self.environment(cluster),
            capture_output=True,
            text=True,
            timeout=processes.DEADLINE,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    @contextmanager
    def connect_server(
        self, cluster: Cluster, warehouse: Path, confs: Mapping[str, str]
    ) -> Iterator[str]:
        """A Spark Connect server on the cluster; the address of it."""
        command = self.command("spark-submit", cluster, warehouse, "")
        command += [f"--conf={name}={value}" for name, value in confs.items()]
        command += ["--class", CONNECT_SERVER, "--conf=spark.connect.grpc.binding.port=0"]
        command += [f"--conf=spark.connect.grpc.binding.address={HOSTS[0]}"]
        command += [f"--conf=spark.driver.extraJavaOptions={QUICK_JVM}"]
        log = warehouse.with_name("connect.log")
        with log.open("wb") as output:
            server = subprocess.Popen(
                command,
                cwd=warehouse.parent,
                env=self.environment(cluster),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        try:
            yield f"sc://{_awaited(log, SERVES, 1)[0]}"
        finally:
            _stop([server])


def installed(folder: Path, wheel: Path) -> Installation:
    """A new environment with this checkout's wheel; its other packages are those of this one, which
    may have Spark in one folder and the rest in another.
    """
    environment = folder / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True)
    (libraries,) = environment.glob("lib/python*/site-packages")
    beside = dict.fromkeys((SPARK_HOME.parent, Path(pyarrow.__file__).parents[1]))
    (libraries / "beside.pth").write_text("".join(f"{folder}\n" for folder in beside))
    install = ["install", "--no-deps", "--no-index", "--no-compile", "--target", str(libraries)]
    subprocess.run([*packages.PIP, *install, str(wheel)], check=True)
    return Installation(environment / "bin" / "python")
