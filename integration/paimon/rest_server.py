"""The REST catalog server of Paimon's own tests (RESTCatalogServer of paimon-core), as a process.

It keeps tables in a local folder and publishes snapshots under a lock.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from integration.fetched import fetched
from integration.paimon import gateway
from tests.option_names import option_names

TOKEN = "a-token-that-nobody-may-read"


@contextmanager
def running(folder: Path, **config: str) -> Iterator[dict[str, str]]:
    """The options of a catalog on the server; `config` is what it tells its clients, with _ for -
    and __ for a dot.
    """
    told = {"prefix": "p", "warehouse": "shop"}
    told |= option_names(config)
    with gateway.started(_jars()) as java:
        rest = java.jvm.org.apache.paimon.rest
        settings = rest.responses.ConfigResponse(told, {})
        login = rest.auth.BearTokenAuthProvider(TOKEN)
        server = rest.RESTCatalogServer(str(folder), login, settings, "shop")
        server.start()
        url = server.getUrl()
        java.close()  # tests fork, and need no connection to it
        yield {
            "type": "rest",
            "uri": url,
            "warehouse": "shop",
            "token.provider": "bear",
            "token": TOKEN,
        }


def _jars() -> Path:
    """What the server needs besides Paimon itself, fetched where it is not there yet."""
    return fetched("rest", "paimon-core-*-tests.jar")
