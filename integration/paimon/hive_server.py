"""A real Hive Metastore, whose classes are among pyspark's jars, in a process of Paimon's Java."""

from __future__ import annotations

import contextlib
import socket
import threading
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError

from integration.faults import processes
from tests.ports import free_port

SETTINGS = {
    "javax.jdo.option.ConnectionURL": "jdbc:derby:memory:names;create=true",
    "datanucleus.schema.autoCreateAll": "true",
    "hive.metastore.schema.verification": "false",
    "datanucleus.connectionPoolingType": "NONE",  # pyspark lacks the usual one
}


def started(java: Any, folder: Path, **more: str) -> str:
    """The uri of one that serves until the process of the gateway ends. `more` are settings, with
    `__` for a dot.
    """
    jvm, port = java.jvm, free_port()
    conf = jvm.org.apache.hadoop.hive.conf.HiveConf()
    own = {"hive.metastore.warehouse.dir": str(folder / "default")}
    own |= {name.replace("__", "."): value for name, value in more.items()}
    for name, value in (SETTINGS | own).items():
        conf.set(name, value)
    bridge = jvm.org.apache.hadoop.hive.shims.ShimLoader.getHadoopThriftAuthBridge()
    ended: list[Py4JError] = []

    def serve() -> None:
        try:
            jvm.org.apache.hadoop.hive.metastore.HiveMetaStore.startMetaStore(port, bridge, conf)
        except Py4JError as error:  # also when the process ends while it serves
            ended.append(error)

    threading.Thread(target=serve, daemon=True).start()

    def is_there() -> bool:
        assert not ended, f"the metastore ended: {ended[0]}"
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            return True
        return False

    assert processes.wait_until(is_there, processes.DEADLINE), "the metastore does not answer"
    return f"thrift://127.0.0.1:{port}"
