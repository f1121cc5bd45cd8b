"""The object stores of the tests: options of a catalog on each, and what differs between them."""

import asyncio
import os
from collections.abc import Iterator
from contextlib import contextmanager

from keyfold.stores import settings
from keyfold.stores.objects import ObjectFiles
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


def fill(files: ObjectFiles, names: list[str]) -> None:
    """Put empty files of these names below the root, quicker than each by itself."""
    keys = [f"{settings.key_of(files.root)}/{name}" for name in names]
    if files.root.startswith("gs:") or (
        files.root.startswith("s3:") and not os.environ.get(server.OTHER)
    ):
        server.fill(files.options["endpoint"], keys)
        return

    async def put() -> None:
        for start in range(0, len(keys), 100):
            some = keys[start : start + 100]
            await asyncio.gather(*(files.client.put_async(key, b"") for key in some))

    asyncio.run(put())
