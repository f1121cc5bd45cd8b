"""Consumers: streams that have names, whose next snapshot is kept from expiring.

Their files are Paimon's: `consumer/consumer-<name>` has the next snapshot to read.
"""

from __future__ import annotations

import json

from keyfold.errors import CorruptDataError
from keyfold.storage.metadata.documents import document
from keyfold.storage.table import Table
from keyfold.stores.files import Files

_PREFIX = "consumer-"


def next_of(table: Table, consumer: str) -> int | None:
    """The next snapshot that a consumer is to read, None if it has not begun."""
    return _next_snapshot(table.files, _path(table, consumer))


def advance(table: Table, consumer: str, following: int) -> None:
    """Note the next snapshot of a consumer."""
    table.check_unchanged()
    text = json.dumps({"nextSnapshot": following})
    table.files.replace(_path(table, consumer), text.encode())


def least_consumed(files: Files, location: str) -> int | None:
    """The oldest snapshot that a consumer needs: the one before the next that it is to read, which
    shows what has changed. None without consumers.
    """
    folder = f"{location}/consumer"
    names = [name for name in files.names(folder) if name.startswith(_PREFIX)]
    positions = (_next_snapshot(files, f"{folder}/{name}") for name in names)
    return min((position - 1 for position in positions if position is not None), default=None)


def _path(table: Table, consumer: str) -> str:
    return f"{table.layout.home}/consumer/{_PREFIX}{consumer}"


def _next_snapshot(files: Files, path: str) -> int | None:
    try:
        return int(document(files.read(path))["nextSnapshot"])
    except FileNotFoundError:
        return None
    except (ValueError, TypeError, KeyError) as error:
        raise CorruptDataError(f"consumer file {path} can't be read: {error}") from error
