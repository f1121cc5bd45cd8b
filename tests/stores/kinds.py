"""The object stores of the tests: options of a catalog on each, and what differs between them."""

from collections.abc import Iterator
from contextlib import contextmanager

from tests.stores import azurite, server

KINDS = ("s3", "google", "azure")
SECRETS = (server.SECRET, server.TOKEN, azurite.KEY, azurite.sas_token())
ENDPOINTS = {"s3": "s3.endpoint", "gs": "gcs.endpoint", "abfss": "azure.endpoint"}
BUCKETS = {server.BUCKET, azurite.CONTAINER}


@contextmanager
def running(kind: str) -> Iterator[dict[str, str]]:
    """The options of a catalog whose warehouse is on a server of that kind."""
    if kind == "azure":
        with azurite.running() as endpoint:
            host = f"{azurite.ACCOUNT}.dfs.core.windows.net"
            yield {
                "warehouse": f"abfss://{azurite.CONTAINER}@{host}/lake",
                "azure.endpoint": endpoint,
                f"fs.azure.account.key.{host}": azurite.KEY,
            }
    elif kind == "google":
        with server.started() as options:
            yield server.google(options)
    else:
        with server.running() as options:
            yield options


def endpoint_of(options: dict[str, str]) -> str:
    """The name of the setting that says where the store is."""
    return ENDPOINTS[options["warehouse"].partition("://")[0]]


def at(options: dict[str, str], endpoint: str) -> dict[str, str]:
    """The options for the store at another endpoint."""
    return options | {endpoint_of(options): endpoint}


def with_page_of(options: dict[str, str], most: int) -> tuple[dict[str, str], str]:
    """Options whose requests may be changed on their way, and a query that lists so many names at
    once.
    """
    if not options["warehouse"].startswith("abfss:"):
        return options, f"max-keys={most}"
    keyless = {name: value for name, value in options.items() if "account.key" not in name}
    return keyless | {"azure.sas-token": azurite.sas_token()}, f"maxresults={most}"
