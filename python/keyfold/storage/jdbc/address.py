"""A JDBC address and its properties, as Python's drivers take them.

A catalog names its database as Paimon does: `uri`, and what Java's driver would be given under
names that begin with `jdbc.`. What a driver of Java takes and ours can't is refused by name.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, unquote

from keyfold.errors import NotSupportedError, TableError

TYPE = "jdbc"
PROPERTY = "jdbc."  # options that begin so are properties of the driver
SQLITE, POSTGRESQL = "sqlite", "postgresql"
_CONNECT_SECONDS = "10"
_SAME = ("user", "password", "sslmode", "sslrootcert", "sslcert", "sslkey")
_UNUSED = ("user", "password")  # SQLite's driver passes over them


@dataclass(frozen=True)
class Address:
    """One database: the kind of it, and what its driver's `connect` is given.

    `shown` is the address without properties, which may hold a password.
    """

    kind: str
    shown: str
    given: Mapping[str, Any] = field(repr=False)


def is_jdbc(options: Mapping[str, str]) -> bool:
    """Whether a catalog's options name a JDBC catalog."""
    return (options.get("metastore") or options.get("type") or "").lower() == TYPE


def address_of(options: Mapping[str, str]) -> Address:
    """The database of a catalog. Raises TableError or NotSupportedError if it can't be used."""
    uri = (options.get("uri") or "").strip()
    start, _, rest = uri.removeprefix(PROPERTY.replace(".", ":")).partition(":")
    if not uri.startswith("jdbc:") or not rest:
        raise TableError(
            "a JDBC catalog needs the setting uri: expected jdbc:sqlite:/path/of/a/file or "
            f"jdbc:postgresql://host:port/database, found {_without_properties(uri)!r}"
        )
    if start not in _READERS:
        raise NotSupportedError(
            f"the catalog's uri {_without_properties(uri)}: databases of jdbc:{start} are not "
            f"supported, expected {' or '.join(f'jdbc:{kind}' for kind in _READERS)}"
        )
    place, _, query = rest.partition("?")
    shown = _without_properties(uri)
    named = {n.removeprefix(PROPERTY): v for n, v in options.items() if n.startswith(PROPERTY)}
    properties = named | dict(parse_qsl(query, keep_blank_values=True))
    return _READERS[start](shown, place, properties)


def _without_properties(uri: str) -> str:
    """The text without properties, and without what stands before an `@`: no place of a login, but
    of mistakes. A password may have a `?`, so an `@` after one hides all of the place.
    """
    kept, _, query = uri.partition("?")
    kind = ":".join(uri.split(":")[:2]) if uri.startswith("jdbc:") else ""
    if "@" in query:
        return f"{kind}:***"
    return kept if "@" not in kept else f"{kind}:***@{kept.rpartition('@')[2]}"


def _sqlite(shown: str, place: str, properties: Mapping[str, str]) -> Address:
    path = place.removeprefix("file:")
    if not path.startswith("/"):
        raise TableError(
            f"the catalog's uri {shown}: expected the whole path of a file, as the processes of a "
            "job have folders of their own"
        )
    _check_known(shown, properties, _UNUSED)
    return Address(SQLITE, shown, {"database": path})


def _postgresql(shown: str, place: str, properties: Mapping[str, str]) -> Address:
    hosts, _, database = place[2:].partition("/") if place.startswith("//") else ("", "", place)
    servers = [_host_and_port(one) for one in hosts.split(",")]
    is_plain = all(name.isalnum() for name in properties)  # else a password had a `?`
    if "@" in place or not is_plain or not all(port.isdigit() for _, port in servers):
        raise NotSupportedError(
            f"the catalog's uri {shown}: expected jdbc:postgresql://host:port/database; a login "
            "before the host is not supported: set jdbc.user and jdbc.password"
        )
    given = {
        "host": ",".join(host for host, _ in servers),
        "port": ",".join(port for _, port in servers),
        "dbname": unquote(database),
        "connect_timeout": _CONNECT_SECONDS,
    }
    _check_known(shown, properties, (*_SAME, *_POSTGRESQL))
    for name in (one for one in (*_POSTGRESQL, *_SAME) if one in properties):
        value = properties[name]
        given |= _POSTGRESQL[name](value) if name in _POSTGRESQL else {name: value}
    return Address(POSTGRESQL, shown, {name: text for name, text in given.items() if text})


def _host_and_port(text: str) -> tuple[str, str]:
    host, colon, port = text.rpartition(":")
    if not colon or text.endswith("]"):
        host, port = text, "5432"
    return host.strip("[]") or "localhost", port


def _check_known(shown: str, properties: Mapping[str, str], known: tuple[str, ...]) -> None:
    unknown = sorted(properties.keys() - set(known))
    if unknown:
        raise NotSupportedError(
            f"the catalog's uri {shown}: property {PROPERTY}{unknown[0]} is not supported "
            f"(supported: {', '.join(PROPERTY + name for name in known)})"
        )


def _schema(name: str) -> dict[str, str]:
    escaped = name.replace("\\", "\\\\").replace(" ", "\\ ")
    return {"options": f"-c search_path={escaped}"}


# Properties of PostgreSQL's Java driver that libpq has under other names; of two with one meaning
# the later one counts, and before all of them `sslmode`.
_POSTGRESQL: dict[str, Callable[[str], dict[str, str]]] = {
    "ssl": lambda text: {"sslmode": "verify-full"} if text.lower() in ("", "true") else {},
    "connectTimeout": lambda text: {"connect_timeout": text},
    "loginTimeout": lambda text: {"connect_timeout": text},
    "ApplicationName": lambda text: {"application_name": text},
    "currentSchema": _schema,
}
_READERS = {SQLITE: _sqlite, POSTGRESQL: _postgresql}
