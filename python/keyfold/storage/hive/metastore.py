"""The questions that a Hive Metastore is asked, each over a connection of its own.

Nothing stays open: catalogs are used by threads, and by processes that were forked. The calls are
those that Hive 2.3 has and newer ones still take.
"""

import getpass
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TypeVar
from urllib.parse import urlsplit

from keyfold.errors import StoreError, TableError
from keyfold.storage.hive import thrift
from keyfold.storage.hive.thrift import ProtocolError, Service, Struct, UnknownCallError

TYPE = "hive"
_PORT = 9083
_SECONDS, _SECONDS_TO_CONNECT = 60.0, 10.0
_ADVICE = "look at the catalog's setting uri and at the metastore's log"
Address = tuple[str, int]
Answer = TypeVar("Answer")
_answered: dict[tuple[Address, ...], Address] = {}  # which of several was the last to do so


class UnknownNameError(Exception):
    """The metastore has no such namespace or table."""


class TakenNameError(Exception):
    """The metastore has something of that name already."""


class RefusedError(StoreError):
    """The metastore answered, and did not do what it was asked."""


# Field numbers of Hive's structs that are read or set.
class DATABASE:
    """Hive's namespace."""

    NAME, DESCRIPTION, LOCATION, PARAMETERS, OWNER = 1, 2, 3, 4, 6


class TABLE:
    """Hive's table."""

    NAME, DATABASE, OWNER, CREATED, ACCESSED, RETENTION, STORAGE = 1, 2, 3, 4, 5, 6, 7
    PARTITION_KEYS, PARAMETERS, KIND = 8, 9, 12


class STORAGE:
    """The place of a table, and how Hive reads it."""

    COLUMNS, LOCATION, INPUT, OUTPUT, COMPRESSED, BUCKETS, SERDE = 1, 2, 3, 4, 5, 6, 7
    BUCKET_COLUMNS, SORT_COLUMNS, PARAMETERS = 8, 9, 10


@dataclass(frozen=True)
class Metastore:
    """A metastore at one of several addresses, asked as a user."""

    addresses: tuple[Address, ...]
    user: str

    # ---- namespaces ----

    def databases(self) -> list[str]:
        """Names of all namespaces."""
        return _texts(self._ask("get_all_databases", {}))

    def database(self, name: str) -> Struct | None:
        """A namespace; None if there is none of that name."""
        found = self._found("get_database", {1: UnknownNameError}, thrift.text(name))
        return found and thrift.struct_of(found, 0)

    def create_database(self, database: Struct) -> None:
        """Raises TakenNameError if it is there."""
        self._ask("create_database", {1: TakenNameError}, thrift.record(database))

    def alter_database(self, name: str, database: Struct) -> None:
        """Raises UnknownNameError if it is gone."""
        given = thrift.text(name), thrift.record(database)
        self._ask("alter_database", {2: UnknownNameError}, *given)

    def drop_database(self, name: str) -> None:
        """Drop an empty namespace, without its folder. Raises UnknownNameError if it is gone."""
        given = thrift.text(name), thrift.flag(False), thrift.flag(False)
        self._ask("drop_database", {1: UnknownNameError}, *given)

    # ---- tables ----

    def tables(self, database: str) -> list[Struct]:
        """All tables and views of a namespace."""
        names = _texts(self._ask("get_all_tables", {}, thrift.text(database)))
        request = {1: thrift.text(database), 2: thrift.texts(names)}
        found = self._ask("get_table_objects_by_name_req", {}, thrift.record(request))
        return thrift.items_of(thrift.struct_of(found, 0), 1)

    def table(self, database: str, name: str) -> Struct | None:
        """A table or view; None if there is none of that name."""
        request = {1: thrift.text(database), 2: thrift.text(name)}
        found = self._found("get_table_req", {2: UnknownNameError}, thrift.record(request))
        return found and thrift.struct_of(thrift.struct_of(found, 0), 1)

    def create_table(self, table: Struct) -> None:
        """Raises TakenNameError if the name is taken, UnknownNameError if the namespace is gone."""
        self._ask("create_table", {1: TakenNameError, 4: UnknownNameError}, thrift.record(table))

    def alter_table(self, database: str, name: str, table: Struct) -> None:
        """Change a table, also its name. Raises RefusedError if that can't be."""
        context = {1: thrift.pairs({"DO_NOT_UPDATE_STATS": "true"})}
        given = thrift.text(database), thrift.text(name), thrift.record(table)
        self._ask("alter_table_with_environment_context", {}, *given, thrift.record(context))

    def drop_table(self, database: str, name: str) -> bool:
        """Drop a table without its folder; False if it is gone."""
        given = thrift.text(database), thrift.text(name), thrift.flag(False)
        return self._found("drop_table", {1: UnknownNameError}, *given) is not None

    # ---- calls ----

    def _found(
        self, call: str, meant: Mapping[int, type[Exception]], *given: thrift.Typed
    ) -> Struct | None:
        try:
            return self._ask(call, meant, *given)
        except UnknownNameError:
            return None

    def _ask(self, call: str, meant: Mapping[int, type[Exception]], *given: thrift.Typed) -> Struct:
        """The answer to a call; `meant` are the errors of the fields of its exceptions."""
        user = thrift.text(self.user), thrift.texts([self.user])
        with closing(self._connected()) as connection:
            self._said("set_ugi", lambda: connection.call("set_ugi", *user))
            answer = self._said(call, lambda: connection.call(call, *given))
        failed = [field for field in answer if field]
        if not failed:
            return answer
        words = thrift.text_of(thrift.struct_of(answer, failed[0]), 1)
        if failed[0] in meant:
            raise meant[failed[0]](words)
        raise RefusedError(f"{self.shown} refused {call}: {words}; {_ADVICE}")

    def _connected(self) -> Service:
        failures = []
        for host, port in self._in_order:
            try:
                connection = Service(host, port, _SECONDS_TO_CONNECT, _SECONDS)
            except OSError as error:
                failures.append(f"{host}:{port}: {error}")
                continue
            _answered[self.addresses] = host, port
            return connection
        raise StoreError(f"{self.shown} can't be reached ({'; '.join(failures)}); {_ADVICE}")

    @property
    def _in_order(self) -> list[Address]:
        """The addresses, first that of the server that answered last."""
        last = _answered.get(self.addresses)
        return sorted(self.addresses, key=lambda address: address != last)

    def _said(self, call: str, ask: Callable[[], Answer]) -> Answer:
        try:
            return ask()
        except UnknownCallError as error:
            raise RefusedError(f"{self.shown} refused {call}: {error}; {_ADVICE}") from error
        # an endless struct; a map of things that have no hash
        except (OSError, ProtocolError, RecursionError, TypeError) as error:
            raise StoreError(
                f"{self.shown} did not answer {call} ({type(error).__name__}: {error}); {_ADVICE}: "
                "a server that asks for SASL or Kerberos, or speaks HTTP, is not supported"
            ) from error

    @property
    def shown(self) -> str:
        """The metastore in messages."""
        named = ", ".join(f"thrift://{host}:{port}" for host, port in self.addresses)
        return f"the Hive Metastore {named}"


def _texts(answer: Struct) -> list[str]:
    return [
        bytes(name).decode("utf-8", "replace") for name in thrift.items_of(answer, 0, thrift.STRING)
    ]


def metastore_of(options: Mapping[str, str]) -> Metastore:
    """The metastore that a catalog's options name. Raises TableError if they name none."""
    uri = options.get("uri") or ""
    addresses = [_address(uri, one.strip()) for one in uri.split(",")]
    return Metastore(tuple(addresses), os.environ.get("HADOOP_USER_NAME") or getpass.getuser())


def _address(uri: str, text: str) -> Address:
    place = urlsplit(text)
    try:
        port = place.port or _PORT
    except ValueError:
        port = 0
    if place.scheme != "thrift" or not place.hostname or not port or place.path.strip("/"):
        raise TableError(
            f"a Hive catalog needs the setting uri: expected thrift://host:{_PORT}, or several of "
            f"these between commas, found {uri!r}"
        )
    return place.hostname, port


def columns(fields: Sequence[tuple[str, str, str | None]]) -> thrift.Typed:
    """Columns by name, Hive's type and comment."""
    return thrift.structs(
        [
            {1: thrift.text(name), 2: thrift.text(kind)}
            | ({} if comment is None else {3: thrift.text(comment)})
            for name, kind, comment in fields
        ]
    )
