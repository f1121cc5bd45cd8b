"""A Hadoop file system on this machine: a name node and two data nodes, each a process."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from xml.sax.saxutils import escape

import pyspark

from integration import fetched

SERVER = "org.apache.hadoop.hdfs.server"
DEADLINE = 120
DATA_NODES = 2


@dataclass
class Cluster:
    """Its processes, and the URI of the name node."""

    uri: str
    folder: Path
    environment: dict[str, str]
    nodes: list[subprocess.Popen[bytes]] = field(default_factory=list)

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
    jar = next(fetched.fetched("hdfs", "hadoop-client-minicluster-*.jar").glob("*.jar"))
    jars = Path(pyspark.__file__).parent / "jars"
    (folder / "conf").mkdir()
    port = _free_port()
    uri = f"hdfs://127.0.0.1:{port}"
    _configure(folder / "conf", uri, folder)
    path = os.pathsep.join(map(str, [folder / "conf", jar, jars / "*"]))
    cluster = Cluster(uri, folder, os.environ | {"CLASSPATH": path})
    try:
        formatting = cluster.start("namenode.NameNode", "-format", "-nonInteractive")
        assert formatting.wait(DEADLINE) == 0, (folder / "log").read_text()[-3000:]
        cluster.nodes.append(cluster.start("namenode.NameNode"))
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


def _configure(folder: Path, uri: str, data: Path) -> None:
    anywhere = "127.0.0.1:0"
    settings = {
        "fs.defaultFS": uri,
        "dfs.namenode.name.dir": str(data / "names"),
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
    lines = [
        f"<property><name>{name}</name><value>{escape(value)}</value></property>"
        for name, value in settings.items()
    ]
    text = f"<configuration>{''.join(lines)}</configuration>"
    for name in ("core-site.xml", "hdfs-site.xml"):
        (folder / name).write_text(text, encoding="utf-8")


def _wait(cluster: Cluster) -> None:
    """Wait until the name node takes writes: it is safe only once all data nodes are there."""
    import hdfs_native  # noqa: PLC0415 - tests of other rooms need none

    client = hdfs_native.Client(cluster.uri)
    since = time.monotonic()
    while True:
        try:
            client.mkdirs("/is-there", create_parent=True)
        except (OSError, RuntimeError):
            log = (cluster.folder / "log").read_text(errors="replace")[-3000:]
            assert time.monotonic() < since + DEADLINE, log
            assert all(node.poll() is None for node in cluster.nodes), log
            time.sleep(0.2)
        else:
            return


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
        return port
