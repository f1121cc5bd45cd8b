"""Locks of tables, as rows of the database that all clients of a JDBC catalog look at.

Paimon's Java takes the lock of a table to make, alter and rename it, and to publish a snapshot
where the store has no rename (JdbcCatalogLock, paimon_distributed_locks). A lock is over after its
time, by the database's clock, so that a killed job holds nobody up for longer.
"""

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from typing import TypeVar
from urllib.parse import urlsplit

from keyfold.errors import NotSupportedError, StoreError, TableError
from keyfold.options.values import boolean, duration, whole
from keyfold.storage.jdbc.address import POSTGRESQL, SQLITE, TYPE, is_jdbc
from keyfold.storage.jdbc.database import Connection, Database, DuplicateError, database_of
from keyfold.stores.store_kinds import KINDS

CATALOG_KEY, DEFAULT_KEY = "catalog-key", "jdbc"
ENABLED, LOCK_TYPE, LONGEST = "lock.enabled", "lock.type", "lock-key-max-length"
MOST_SLEEP, TIMEOUT = "lock-check-max-sleep", "lock-acquire-timeout"
NAMES = (ENABLED, LOCK_TYPE, LONGEST, MOST_SLEEP, TIMEOUT)
TABLE = "paimon_distributed_locks"
_FIRST_SLEEP = 0.1
_CREATE = (
    f"CREATE TABLE {TABLE} (lock_id VARCHAR({{longest}}) NOT NULL, "
    "acquired_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP NOT NULL, "
    "expire_time_seconds BIGINT DEFAULT 0 NOT NULL, PRIMARY KEY (lock_id))"
)
_AGE = {
    SQLITE: "strftime('%s', 'now') - strftime('%s', acquired_at)",
    POSTGRESQL: "EXTRACT(EPOCH FROM AGE(NOW(), acquired_at))",
}
Value = TypeVar("Value")


@dataclass(frozen=True)
class Locks:
    """The locks of one catalog's tables; a wait for one ends after `seconds`."""

    database: Database
    key: str
    seconds: float
    most_sleep: float

    @contextlib.contextmanager
    def held(self, namespace: str, table: str) -> Iterator[None]:
        """A context in which nobody else has the lock of a table. Raises StoreError if somebody
        has it for longer than we wait.
        """
        name = f"{self.key}.{namespace}.{table}"
        since = self._acquired(name)
        try:
            yield
        finally:
            with contextlib.suppress(StoreError):  # it is over by itself
                self._release(name, since)

    def _acquired(self, name: str) -> object:
        end, sleep = time.monotonic() + self.seconds, _FIRST_SLEEP
        while True:
            with self.database.connection() as connection:
                since = self._tried(connection, name)
            if since is not None:
                return since
            if time.monotonic() >= end:
                raise StoreError(
                    f"the lock {name} in {TABLE} of the catalog's database is another's for "
                    f"longer than {TIMEOUT} ({self.seconds:.0f} s): run the job again, or delete "
                    "its row if no job has it"
                )
            time.sleep(min(sleep, self.most_sleep))
            sleep *= 2

    def _tried(self, connection: Connection, name: str) -> object | None:
        """The time since when we have it, None if another has."""
        age = _AGE[connection.address.kind]
        connection.change(
            f"DELETE FROM {TABLE} WHERE {age} > expire_time_seconds AND lock_id = ?", name
        )
        try:
            connection.change(
                f"INSERT INTO {TABLE} (lock_id, expire_time_seconds) VALUES (?, ?)",
                name,
                int(self.seconds),
            )
        except DuplicateError:
            return None
        found = connection.ask(f"SELECT acquired_at FROM {TABLE} WHERE lock_id = ?", name)
        return found[0][0] if found else None

    def _release(self, name: str, since: object) -> None:
        with self.database.connection() as connection:
            connection.change(
                f"DELETE FROM {TABLE} WHERE lock_id = ? AND acquired_at = ?", name, since
            )


def create_statement(options: Mapping[str, str]) -> str:
    """The statement that makes the table of locks."""
    longest = setting(options, LONGEST, whole(1), 255)
    return _CREATE.format(longest=longest)


def locks_of(options: Mapping[str, str], location: str) -> Locks | None:
    """The locks of the tables of a catalog at a place; None if it has none.

    Without `lock.enabled` only object stores have them, as in Paimon.
    """
    kind = options.get(LOCK_TYPE) or TYPE
    is_object_store = urlsplit(location).scheme in KINDS
    if not setting(options, ENABLED, boolean, is_object_store):
        return None
    if kind.lower() != TYPE:
        raise NotSupportedError(f"{LOCK_TYPE} {kind} is not supported, expected {TYPE}")
    return Locks(
        database_of(options),
        options.get(CATALOG_KEY) or DEFAULT_KEY,
        setting(options, TIMEOUT, duration, 8 * 60.0),
        setting(options, MOST_SLEEP, duration, 8.0),
    )


def setting(
    options: Mapping[str, str], name: str, parse: Callable[[str], Value], default: Value
) -> Value:
    """The value of a catalog's setting. Raises TableError if it is not one."""
    text = options.get(name)
    if text is None:
        return default
    try:
        return parse(text.strip())
    except ValueError as error:
        raise TableError(
            f"the catalog's setting {name}: expected {error}, found {text!r}"
        ) from None


def lock_of(
    options: Mapping[str, str], location: str, namespace: str, table: str
) -> Callable[[], AbstractContextManager[None]]:
    """A maker of contexts in which a snapshot of a table is published: its lock is held if the
    catalog has locks, and the table is not named by its path alone.
    """
    found = locks_of(options, location) if namespace and is_jdbc(options) else None
    return contextlib.nullcontext if found is None else partial(found.held, namespace, table)
