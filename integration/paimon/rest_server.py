"""The REST catalog server of Paimon's own tests (RESTCatalogServer of paimon-core), as a process.

It keeps tables in a local folder and publishes snapshots under a lock. It is driven through py4j,
which pyspark brings.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from py4j.java_gateway import GatewayParameters, JavaGateway

from integration.fetched import fetched
from integration.paimon.library import QUIET, SMALL, SPARK_JARS, library
from tests.option_names import option_names

TOKEN = "a-token-that-nobody-may-read"


@contextmanager
def running(folder: Path, **config: str) -> Iterator[dict[str, str]]:
    """The options of a catalog on the server; `config` is what it tells its clients, with _ for -
    and __ for a dot.
    """
    told = {"prefix": "p", "warehouse": "shop"}
    told |= option_names(config)
    path = f"{_jars()}/*:{library()}:{SPARK_JARS}/*"
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
            gateway = JavaGateway(gateway_parameters=parameters)
            try:
                rest = gateway.jvm.org.apache.paimon.rest
                settings = rest.responses.ConfigResponse(told, {})
                login = rest.auth.BearTokenAuthProvider(TOKEN)
                server = rest.RESTCatalogServer(str(folder), login, settings, "shop")
                server.start()
                url = server.getUrl()
            finally:
                gateway.close()
            yield {
                "type": "rest",
                "uri": url,
                "warehouse": "shop",
                "token.provider": "bear",
                "token": TOKEN,
            }
        finally:
            process.kill()


def _jars() -> Path:
    """What the server needs besides Paimon itself, fetched where it is not there yet."""
    return fetched("rest", "paimon-core-*-tests.jar")
