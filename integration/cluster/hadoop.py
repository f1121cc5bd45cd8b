"""A Hadoop file system on this machine: two name nodes of one service and two data nodes.

Each is a process. The first name node is active; the other takes over when it is told to. They
share their edits by a folder, which Hadoop has beside journal nodes.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from xml.sax.saxutils import escape

import pyspark

from integration import fetched
from tests.ports import free_port

SERVER = "org.apache.hadoop.hdfs.server"
TOOLS = "org.apache.hadoop.hdfs.tools"
DEADLINE = 300
DATA_NODES = 2
PROVIDER = "org.apache.hadoop.hdfs.server.namenode.ha.ConfiguredFailoverProxyProvider"
SERVICE, NAME_NODES = "lake", ("nn1", "nn2")


@dataclass
class Cluster:
    """Its processes, the URI of the active name node, and what a client of the service needs."""

    uri: str
    folder: Path
    environment: dict[str, str]
    service: dict[str, str]
    nodes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def admin(self, program: str, *command: str) -> None:
        """Run one of Hadoop's tools."""
        java = ["java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", f"{TOOLS}.{program}"]
        done = subprocess.run(
            [*java, *command],
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=DEADLINE,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr

    def start(self, program: str, *arguments: str, **settings: str) -> subprocess.Popen[bytes]:
        """A process of Hadoop's, with settings of its own."""
        given = [f"-D{name.replace('__', '.')}={value}" for name, value in settings.items()]
        # No more threads and memory than a few files need.
        java = ["java", "-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
        with (self.folder / "log").open("ab") as log:
            return subprocess.Popen(
                [*java, f"{SERVER}.{program}", *given, *arguments],
                env=self.environment,
                stdout=log,
                stderr=log,
            )


@contextmanager
def running(folder: Path) -> Iterator[Cluster]:
    """A cluster whose files are in a folder."""
    (folder / "conf").mkdir()
    places = {name: f"127.0.0.1:{free_port()}" for name in NAME_NODES}
    service = {
        "dfs.nameservices": SERVICE,
        f"dfs.ha.namenodes.{SERVICE}": ",".join(NAME_NODES),
        **{f"dfs.namenode.rpc-address.{SERVICE}.{n}": place for n, place in places.items()},
    }
    _configure(folder / "conf", folder, service)
    first, second = NAME_NODES
    cluster = Cluster(f"hdfs://{places[first]}", folder, environment(folder), service)
    try:
        formatting = _name_node(cluster, first, "-format", "-nonInteractive")
        assert formatting.wait(DEADLINE) == 0, (folder / "log").read_text()[-3000:]
        shutil.copytree(folder / first, folder / second)
        cluster.nodes.extend(_name_node(cluster, name) for name in NAME_NODES)
        for number in range(DATA_NODES):
            cluster.nodes.append(
                cluster.start(
                    "datanode.DataNode",
                    dfs__datanode__data__dir=str(folder / f"data-{number}"),
                )
            )
        _wait(cluster)
        yield cluster
    finally:
        for node in cluster.nodes:
            node.kill()
            node.wait()


def environment(folder: Path) -> dict[str, str]:
    """That of Hadoop's programs with the settings in `conf` of the folder."""
    jar = next(fetched.fetched("hdfs", "hadoop-client-minicluster-*.jar").glob("*.jar"))
    jars = Path(pyspark.__file__).parent / "jars"
    return os.environ | {"CLASSPATH": os.pathsep.join(map(str, [folder / "conf", jar, jars / "*"]))}


def _name_node(cluster: Cluster, name: str, *arguments: str) -> subprocess.Popen[bytes]:
    own = {"dfs__ha__namenode__id": name, "dfs__namenode__name__dir": str(cluster.folder / name)}
    return cluster.start("namenode.NameNode", *arguments, **own)


def until(cluster: Cluster, done: Callable[[], object]) -> None:
    """Ask until it raises no error, as long as all processes run."""
    since = time.monotonic()
    while True:
        try:
            done()
        except (OSError, RuntimeError):
            log = (cluster.folder / "log").read_text(errors="replace")[-3000:]
            assert time.monotonic() < since + DEADLINE, log
            assert all(node.poll() is None for node in cluster.nodes), log
            time.sleep(0.2)
        else:
            return


def _configure(folder: Path, data: Path, service: dict[str, str]) -> None:
    anywhere = "127.0.0.1:0"
    settings = {
        **service,
        "fs.defaultFS": f"hdfs://{SERVICE}",
        f"dfs.client.failover.proxy.provider.{SERVICE}": PROVIDER,
        "dfs.namenode.shared.edits.dir": f"file://{data}/shared",
        "dfs.ha.fencing.methods": "shell(/bin/true)",
        "dfs.namenode.edits.noeditlogchannelflush": "true",
        "dfs.namenode.http-address": anywhere,
        "dfs.datanode.address": anywhere,
        "dfs.datanode.http.address": anywhere,
        "dfs.datanode.ipc.address": anywhere,
        "dfs.replication": str(DATA_NODES),
        "dfs.heartbeat.interval": "1",
        "dfs.namenode.avoid.write.stale.datanode": "true",
        "dfs.namenode.stale.datanode.interval": "3000",
        "dfs.namenode.safemode.min.datanodes": str(DATA_NODES),
        "dfs.namenode.safemode.extension": "0",
    }
    write_settings(folder, settings, "core-site.xml", "hdfs-site.xml")


def write_settings(folder: Path, settings: Mapping[str, str], *files: str) -> None:
    """Hadoop's files of settings in the folder, which have all of them alike."""
    lines = [
        f"<property><name>{name}</name><value>{escape(value)}</value></property>"
        for name, value in settings.items()
    ]
    text = f"<configuration>{''.join(lines)}</configuration>"
    for name in files:
        (folder / name).write_text(text, encoding="utf-8")


def _wait(cluster: Cluster) -> None:
    """Make the first name node active, and wait until it takes writes: it is safe only once all
    data nodes are there.
    """
    import hdfs_native  # noqa: PLC0415 - tests of other rooms need none

    address = cluster.uri.removeprefix("hdfs://").split(":")
    until(cluster, lambda: socket.create_connection((address[0], int(address[1]))).close())
    cluster.admin("DFSHAAdmin", "-transitionToActive", NAME_NODES[0])
    client = hdfs_native.Client(cluster.uri)
    until(cluster, lambda: client.mkdirs("/is-there", create_parent=True))
