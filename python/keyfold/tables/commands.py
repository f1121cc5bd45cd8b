"""The commands about tables: each prints rows, as a table or as lines of JSON."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timezone
from typing import Any

import pyarrow as pa

from keyfold.errors import NoSuchNamespaceError, NoSuchTableError, TableError
from keyfold.procedures.declare import CONDITION
from keyfold.tables import calls, column_definitions
from keyfold.tables.arguments import CALLED, OF_CATALOG
from keyfold.tables.connection import Catalog, connect
from keyfold.tables.loading import files
from keyfold.tables.printing import Rows, listed, print_json, print_table
from keyfold.tables.rows.conversions.unfit import matched
from keyfold.tables.rows.forms import Readable
from keyfold.tables.rows.texts.atoms import Unread
from keyfold.tables.rows.texts.nested import of_cell
from keyfold.tables.rows.timestamps import millis_of
from keyfold.tables.table import Table
from keyfold.tables.where.condition import partition_filters
from keyfold.types.sql import from_sql, split

Arguments = argparse.Namespace
_NUMBERS = {"threads", "memory", "lookup_memory"}


def run(arguments: Arguments) -> int:
    """Run the command that the arguments name, and print its rows; 1 if `get` finds none."""
    settings = _settings(pairs(arguments.set or (), "--set"))
    catalog = connect(arguments.warehouse, catalog=arguments.catalog, **settings)
    rows = _COMMANDS[arguments.table_command](catalog, arguments)
    if arguments.table_command == "get" and not rows:
        return _not_found(arguments)
    (print_json if arguments.json else print_table)(rows)
    return 0


def _settings(given: Mapping[str, str]) -> dict[str, Any]:
    """The settings of a connection. Raises TableError if one has another argument or value."""
    found: dict[str, Any] = dict(given)
    for name in ("warehouse", "catalog"):
        if name in found:
            raise TableError(f"--set: {name} has an argument of its own, --{name}")
    for name in _NUMBERS & found.keys():
        if not re.fullmatch("[0-9]{1,18}", found[name]):
            raise TableError(f"--set: expected a whole number for {name}, found '{found[name]}'")
        found[name] = int(found[name])
    if "modules" in found:
        found["modules"] = _names(found["modules"])
    return found


def _not_found(asked: Arguments) -> int:
    if asked.json:
        print("null")
    text = f"table {asked.table} has no row of the key {', '.join(asked.key)}"
    print(f"keyfold: {text}", file=sys.stderr)
    return 1


def pairs(texts: Iterable[str], what: str) -> dict[str, str]:
    """NAME=VALUE each. Raises TableError if one is not."""
    found = [text.partition("=") for text in texts]
    for name, equals, value in found:
        if not equals or not name:
            raise TableError(f"{what}: expected NAME=VALUE, found '{name}{equals}{value}'")
    return {name: value for name, _, value in found}


def _names(text: str | None) -> list[str]:
    return [name.strip() for name in (text or "").split(",") if name.strip()]


def _moment(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise TableError(f"expected a time such as 2026-11-01T12:00:00, found '{text}'") from None
    return found if found.tzinfo else found.replace(tzinfo=timezone.utc)


def _file_rows(table: Table, asked: Arguments) -> Any:
    """The rows of the file that a command names, as a stream."""
    types = {} if asked.types is None else _columns(asked.types, "--types")
    kinds = {name: from_sql(kind) for name, kind in types.items()}
    return files.rows_of(table._layout, asked.file, asked.format, kinds, asked.null)


def _columns(text: str, where: str) -> dict[str, str]:
    """Names and types in SQL. Raises TableError if there is a name without a type."""
    words = [part.split(None, 1) for part in split(text)]
    if any(len(pair) != 2 for pair in words):
        raise TableError(f"{where}: expected columns such as 'sku STRING, qty INT', found '{text}'")
    return {name.strip("`"): kind for name, kind in words}


def _list(catalog: Catalog, asked: Arguments) -> Rows:
    if (missing := catalog.missing_warehouse) is not None:
        raise NoSuchNamespaceError(f"the folder of the warehouse, {missing}, does not exist")
    if asked.namespace is None:
        return [{"namespace": name} for name in catalog.namespaces()]
    return [{"table": name} for name in catalog.tables(asked.namespace)]


def _report(catalog: Catalog, asked: Arguments) -> Rows:
    if asked.prometheus and asked.json:
        raise TableError("report: expected --json or --prometheus, found both")
    found = catalog.health(asked.namespace, orphans=asked.orphans)
    if asked.prometheus:
        print(found.to_prometheus(), end="")
        return ()
    rows: Rows = json.loads(found.to_json())["tables"]
    return rows


def _describe(catalog: Catalog, asked: Arguments) -> Rows:
    table = catalog.table(asked.table)
    files = table.files()
    told = {
        "primary key": ", ".join(table.primary_key),
        "partitions": ", ".join(table.partitions),
        "comment": table.comment or "",
        "location": table.location,
        "snapshot": table.snapshot,
        "files": files.num_rows,
        "bytes": sum(files.column("file_size_in_bytes").to_pylist()),
        **table.options,
    }
    yield from ({"name": name, "value": kind} for name, kind in table.columns.items())
    yield from ({"name": f"({name})", "value": str(value)} for name, value in told.items())


def _create(catalog: Catalog, asked: Arguments) -> Rows:
    schema: column_definitions.Schema = _columns(asked.schema, "schema")
    options = pairs(asked.option or (), "--option")
    made = catalog.create_table(
        asked.table, schema, _names(asked.key), _names(asked.partitions), options
    )
    return [{"table": made.name, "location": made.location}]


def _drop(catalog: Catalog, asked: Arguments) -> Rows:
    if not catalog.drop_table(asked.table):
        raise NoSuchTableError(f"table {asked.table} does not exist")
    return [{"table": asked.table, "dropped": True}]


def _scan(catalog: Catalog, asked: Arguments) -> Rows:
    columns = _names(asked.columns) or None
    found = catalog.table(asked.table).scan(
        columns, asked.where, limit=asked.limit, **_version(asked)
    )
    return _listed(found)


def _count(catalog: Catalog, asked: Arguments) -> Rows:
    found = catalog.table(asked.table).scan([], asked.where, **_version(asked))
    return [{"rows": found.count()}]


def _version(asked: Arguments) -> dict[str, Any]:
    return {
        "snapshot": asked.snapshot,
        "tag": asked.tag,
        "timestamp": _moment(asked.timestamp),
    }


def _listed(found: Readable) -> Rows:
    return (row for batch in found.to_batches() for row in listed(batch))


def _changes(catalog: Catalog, asked: Arguments) -> Rows:
    table = catalog.table(asked.table)
    columns = _names(asked.columns) or None
    return _listed(table.changes(asked.after, asked.until, columns, asked.where, view=asked.view))


def _get(catalog: Catalog, asked: Arguments) -> Rows:
    table = catalog.table(asked.table)
    key: dict[str, Any] = dict(pairs(asked.key, "key"))
    layout = table._layout
    for name, text in key.items():
        if (column := matched(layout.primary_key, name)) is not None:
            try:
                key[name] = of_cell(text, layout.column(column).type)
            except Unread as error:
                raise TableError(f"key of table {table.name}, column {column}: {error}") from None
    found = table.get(key)
    return [] if found is None else [found]


def _committed(snapshot: int | None) -> Rows:
    return [{"snapshot": snapshot}]


def _upsert(catalog: Catalog, asked: Arguments) -> Rows:
    table = catalog.table(asked.table)
    return _committed(table.upsert(_file_rows(table, asked), token=_token(asked)))


def _delete(catalog: Catalog, asked: Arguments) -> Rows:
    table = catalog.table(asked.table)
    keys = None if asked.file is None else _file_rows(table, asked)
    return _committed(table.delete(keys, where=asked.where, token=_token(asked)))


def _token(asked: Arguments) -> tuple[str, int] | None:
    """The token of a write. Raises TableError if it is not a name and a version."""
    if asked.token is None:
        return None
    name, colon, version = asked.token.rpartition(":")
    if not colon or not re.fullmatch("[0-9]{1,18}", version):
        raise TableError(f"--token: expected NAME:VERSION, as orders:7, found '{asked.token}'")
    return name, int(version)


def _call(catalog: Catalog, asked: Arguments) -> Rows:
    """The rows of a procedure."""
    procedure, table = CALLED[asked.table_command], catalog.table(asked.table)
    given = {one.name: getattr(asked, one.name) for one in procedure.parameters}
    for one in procedure.parameters:
        if one.type == "TIMESTAMP" and (moment := _moment(given[one.name])) is not None:
            given[one.name] = millis_of(one.name, moment)
        if one.type == CONDITION:
            given[one.name] = partition_filters(table._layout, given[one.name])
    token = _token(asked) if procedure.takes_token else None
    return list(calls.rows(table._session, table._load, procedure, token=token, **given))


def _call_of_catalog(catalog: Catalog, asked: Arguments) -> Rows:
    """The rows of a procedure about a catalog's tables."""
    procedure = OF_CATALOG[asked.table_command]
    given = {one.name: getattr(asked, one.name) for one in procedure.parameters}
    return calls.rows_of_catalog(catalog._session, procedure, **given)


def _rows(made: Callable[[Table, Arguments], pa.Table]) -> Callable[[Catalog, Arguments], Rows]:
    return lambda catalog, asked: list(made(catalog.table(asked.table), asked).to_pylist())


_COMMANDS: Mapping[str, Callable[[Catalog, Arguments], Rows]] = {
    "ls": _list,
    "report": _report,
    "describe": _describe,
    "create": _create,
    "drop": _drop,
    "scan": _scan,
    "count": _count,
    "changes": _changes,
    "get": _get,
    "upsert": _upsert,
    "delete": _delete,
    "snapshots": _rows(lambda table, _: table.snapshots()),
    "files": _rows(lambda table, _: table.files()),
    "show": _rows(lambda table, asked: table.metadata(asked.name)),
    **dict.fromkeys(CALLED, _call),
    **dict.fromkeys(OF_CATALOG, _call_of_catalog),
}
