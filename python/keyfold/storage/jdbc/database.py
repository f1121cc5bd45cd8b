"""Statements to the database of a JDBC catalog; each use has a connection of its own.

Nothing stays open: catalogs are used by threads, and by processes that were forked. A statement is
committed by itself, but inside `transaction`.
"""

import contextlib
import importlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from types import ModuleType
from typing import Any

from keyfold.errors import EnvironmentMismatchError, StoreError
from keyfold.storage.jdbc.address import SQLITE, Address, address_of

_DRIVERS = {"sqlite": "sqlite3", "postgresql": "psycopg"}
_WAIT_SECONDS = 20.0  # for other writers of an SQLite file
_HIDDEN = "***"


class DuplicateError(Exception):
    """The database has a row of that key already."""


@dataclass(frozen=True)
class Connection:
    """An open connection. Statements have `?` in the places of values."""

    driver: ModuleType
    address: Address
    opened: Any = field(repr=False)

    def ask(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """The rows of a query."""
        with self._executed(statement, values) as cursor:
            return [tuple(row) for row in cursor.fetchall()]

    def change(self, statement: str, *values: object) -> int:
        """The number of rows that a statement changed. Raises DuplicateError if a key is there."""
        with self._executed(statement, values) as cursor:
            return int(cursor.rowcount)

    def make_tables(self, statements: Mapping[str, str]) -> None:
        """Make the tables of these names that are missing, by their statements."""
        for name in statements:
            if self._is_table(name):
                continue
            try:
                self.change(statements[name])
            except (StoreError, DuplicateError):
                if not self._is_table(name):  # nobody made it meanwhile
                    raise

    def _is_table(self, name: str) -> bool:
        try:
            self.ask(f"SELECT 1 FROM {name} WHERE 1 = 0")
        except StoreError:
            return False
        return True

    @contextlib.contextmanager
    def _executed(self, statement: str, values: tuple[object, ...]) -> Iterator[Any]:
        text = statement if self.address.kind == SQLITE else statement.replace("?", "%s")
        try:
            with contextlib.closing(self.opened.cursor()) as cursor:
                cursor.execute(text, values)
                yield cursor
        except self.driver.IntegrityError as error:
            raise DuplicateError from error
        except self.driver.Error as error:
            raise refusal(self.address, error) from None

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """A context whose changes are there at its end, or not at all if it raises.

        Nobody reads an SQLite file meanwhile: a query that is open keeps us from beginning, and not
        from the end, when folders have moved.
        """
        self.change("BEGIN EXCLUSIVE" if self.address.kind == SQLITE else "BEGIN")
        try:
            yield
        except BaseException:
            with contextlib.suppress(StoreError):
                self.change("ROLLBACK")
            raise
        self.change("COMMIT")


def refusal(address: Address, error: Exception) -> StoreError:
    """The error: the database does not do what it was asked. It holds no password."""
    text, password = " ".join(str(error).split()), address.given.get("password")
    text = text.replace(password, _HIDDEN) if password else text
    advice = "look at uri, jdbc.user and jdbc.password of the catalog, and at the rights there"
    if address.kind == SQLITE and "locked" in text:
        advice = (
            "an SQLite file has one writer at a time, and Paimon's Java keeps others out as long "
            "as its catalog is open: close that first, or take PostgreSQL"
        )
    said = f"answered {type(error).__name__}: {text}"
    return StoreError(f"the catalog's database {address.shown} {said}; {advice}")


@dataclass(frozen=True)
class Database:
    """The database of a catalog."""

    address: Address

    @contextlib.contextmanager
    def connection(self) -> Iterator[Connection]:
        """A connection, closed after its block. Raises StoreError if there is none."""
        driver = _driver(self.address.kind)
        more: dict[str, Any] = {"autocommit": True}
        if self.address.kind == SQLITE:
            more = {"isolation_level": None, "timeout": _WAIT_SECONDS}
        try:
            opened = driver.connect(**self.address.given, **more)
        except driver.Error as error:
            raise refusal(self.address, error) from None
        with contextlib.closing(opened):
            found = Connection(driver, self.address, opened)
            if self.address.kind != SQLITE:
                _set_zone(found)
            yield found


def _set_zone(connection: Connection) -> None:
    """Make times those of this machine's clock, as Java's driver does: the times of locks have no
    zone.
    """
    offset = datetime.now().astimezone().utcoffset()
    minutes = 0 if offset is None else int(offset.total_seconds() // 60)
    text = f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}"
    connection.change(f"SET TIME ZONE INTERVAL '{text}' HOUR TO MINUTE")


def _driver(kind: str) -> ModuleType:
    """Python's driver, imported by the first catalog that needs it."""
    try:
        return importlib.import_module(_DRIVERS[kind])
    except ImportError as error:
        raise EnvironmentMismatchError(
            f"a JDBC catalog in {kind} needs the Python package {_DRIVERS[kind]} ({error}): "
            f"pip install 'keyfold[{kind}]'"
        ) from error


def database_of(options: Mapping[str, str]) -> Database:
    """The database that a catalog's options name."""
    return _database(frozenset(options.items()))


@lru_cache(maxsize=16)
def _database(options: frozenset[tuple[str, str]]) -> Database:
    return Database(address_of(dict(options)))
