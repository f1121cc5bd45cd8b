"""A JVM with Paimon's Java library, driven from Python through py4j, which pyspark brings."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from py4j.java_gateway import GatewayParameters, JavaGateway

from integration.paimon.library import QUIET, SMALL, SPARK_JARS, library


@contextmanager
def started(jars: Path) -> Iterator[JavaGateway]:
    """The gateway to a process that has the jars of that folder too. The process ends with the
    block; what it serves goes on if the gateway is closed before.
    """
    path = f"{jars}/*:{library()}:{SPARK_JARS}/*"
    command = ["java", *SMALL, f"-Dlog4j2.configurationFile=file:{QUIET}", "-cp", path]
    command += ["py4j.GatewayServer", "--die-on-broken-pipe", "0"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            port = int(process.stdout.readline())
            parameters = GatewayParameters(
                port=port, auto_convert=True, enable_memory_management=False
            )
            found: Any = JavaGateway(gateway_parameters=parameters)
            try:
                yield found
            finally:
                found.close()
        finally:
            process.kill()
