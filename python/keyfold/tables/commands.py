"""The commands about tables: each prints rows, as a table or as lines of JSON."""

from __future__ import annotations

import argparse
import base64
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds

from keyfold.errors import TableError
from keyfold.tables import definition
from keyfold.tables.catalog import Catalog, connect
from keyfold.tables.rows.forms import Rows as RowsRead
from keyfold.tables.table import Table
from keyfold.types.sql import split

Arguments = argparse.Namespace
Rows = Iterable[Mapping[str, Any]]
_WIDEST = 60
_SHOWN = 1000  # rows that a table is made of; more begin another one


def run(arguments: Arguments) -> int:
    """Run the command that the arguments name, and print its rows; 1 if `get` finds none."""
    settings: dict[str, Any] = dict(pairs(arguments.set or (), "--set"))
    catalog = connect(arguments.warehouse, catalog=arguments.catalog, **settings)
    rows = _COMMANDS[arguments.table_command](catalog, arguments)
    if arguments.table_command == "get" and not rows:
        return _not_found(arguments)
    (_print_json if arguments.json else _print_table)(rows)
    return 0


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


def _of_file(path: str) -> Any:
    """The rows of a file, as a stream."""
    kind = Path(path).suffix.lower()
    if not Path(path).is_file():
        raise TableError(f"{path} is not a file")
    if kind in (".jsonl", ".ndjson"):
        return _json_rows(path)
    formats = {".parquet": "parquet", ".arrow": "ipc", ".feather": "ipc", ".csv": "csv"}
    if kind not in formats:
        raise TableError(f"{path}: expected a file {', '.join([*formats, '.jsonl'])}")
    found: Any = ds.dataset(path, format=formats[kind])
    return found.scanner().to_reader()


def _json_rows(path: str) -> Iterator[Any]:
    with Path(path).open(encoding="utf-8") as file:
        yield from (json.loads(line) for line in file if line.strip())


def _list(catalog: Catalog, asked: Arguments) -> Rows:
    if asked.namespace is None:
        return [{"namespace": name} for name in catalog.namespaces()]
    return [{"table": name} for name in catalog.tables(asked.namespace)]


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
    words = [part.split(None, 1) for part in split(asked.schema)]
    if any(len(pair) != 2 for pair in words):
        raise TableError(f"expected columns such as 'sku STRING, qty INT', found '{asked.schema}'")
    schema: definition.Schema = {name.strip("`"): kind for name, kind in words}
    options = pairs(asked.option or (), "--option")
    made = catalog.create_table(
        asked.table, schema, _names(asked.key), _names(asked.partitions), options
    )
    return [{"table": made.name, "location": made.location}]


def _drop(catalog: Catalog, asked: Arguments) -> Rows:
    return [{"table": asked.table, "dropped": catalog.drop_table(asked.table)}]


def _scan(catalog: Catalog, asked: Arguments) -> Rows:
    columns = _names(asked.columns) or None
    found = catalog.table(asked.table).scan(
        columns, asked.where, limit=asked.limit, **_version(asked)
    )
    return _listed(found)


def _version(asked: Arguments) -> dict[str, Any]:
    return {
        "snapshot": asked.snapshot,
        "tag": asked.tag,
        "timestamp": _moment(asked.timestamp),
    }


def _listed(found: RowsRead) -> Rows:
    return (row for batch in found.to_batches() for row in batch.to_pylist())


def _changes(catalog: Catalog, asked: Arguments) -> Rows:
    table = catalog.table(asked.table)
    columns = _names(asked.columns) or None
    return _listed(table.changes(asked.after, asked.until, columns, asked.where, view=asked.view))


def _get(catalog: Catalog, asked: Arguments) -> Rows:
    table = catalog.table(asked.table)
    given = pairs(asked.key, "key")
    texts = pa.table({name: pa.array([value]) for name, value in given.items()})
    fields = [table.schema.field(name) for name in given if name in table.schema.names]
    try:
        (key,) = texts.cast(pa.schema([f.with_nullable(True) for f in fields])).to_pylist()
    except (pa.ArrowException, ValueError) as error:
        raise TableError(f"key of table {table.name}: {error}") from None
    found = table.get(key)
    return [] if found is None else [found]


def _committed(snapshot: int | None) -> Rows:
    return [{"snapshot": snapshot}]


def _upsert(catalog: Catalog, asked: Arguments) -> Rows:
    return _committed(catalog.table(asked.table).upsert(_of_file(asked.file)))


def _delete(catalog: Catalog, asked: Arguments) -> Rows:
    keys = None if asked.file is None else _of_file(asked.file)
    return _committed(catalog.table(asked.table).delete(keys, where=asked.where))


def _compact(catalog: Catalog, asked: Arguments) -> Rows:
    table = catalog.table(asked.table)
    found = table.compact(
        asked.strategy, partitions=asked.partitions, max_bytes=asked.max_bytes
    ).to_pylist()
    return list(found)


def _rescale(catalog: Catalog, asked: Arguments) -> Rows:
    return [catalog.table(asked.table).rescale(asked.buckets)]


def _tag(catalog: Catalog, asked: Arguments) -> Rows:
    tags = catalog.table(asked.table).tags
    if not asked.delete:
        tags.create(asked.name, asked.snapshot)
    elif not tags.delete(asked.name):
        return []
    return [{"tag": asked.name}]


def _rollback(catalog: Catalog, asked: Arguments) -> Rows:
    return _committed(catalog.table(asked.table).rollback(**_version(asked)))


def _expire(catalog: Catalog, asked: Arguments) -> Rows:
    count = catalog.table(asked.table).expire(
        older_than=_moment(asked.older_than),
        retain_max=asked.retain_max,
        retain_min=asked.retain_min,
    )
    return [{"expired": count}]


def _orphans(catalog: Catalog, asked: Arguments) -> Rows:
    table = catalog.table(asked.table)
    found = table.remove_orphans(older_than=_moment(asked.older_than), dry_run=asked.dry_run)
    return list(found.to_pylist())


def _rows(made: Callable[[Table, Arguments], pa.Table]) -> Callable[[Catalog, Arguments], Rows]:
    return lambda catalog, asked: list(made(catalog.table(asked.table), asked).to_pylist())


_COMMANDS: Mapping[str, Callable[[Catalog, Arguments], Rows]] = {
    "ls": _list,
    "describe": _describe,
    "create": _create,
    "drop": _drop,
    "scan": _scan,
    "changes": _changes,
    "get": _get,
    "upsert": _upsert,
    "delete": _delete,
    "compact": _compact,
    "rescale": _rescale,
    "expire": _expire,
    "orphans": _orphans,
    "tag": _tag,
    "rollback": _rollback,
    "health": _rows(lambda table, _: table.health()),
    "snapshots": _rows(lambda table, _: table.snapshots()),
    "files": _rows(lambda table, _: table.files()),
    "show": _rows(lambda table, asked: table.metadata(asked.name)),
}


def _print_json(rows: Rows) -> None:
    for row in rows:
        print(json.dumps(row, default=_plain, ensure_ascii=False))


def _plain(value: Any) -> Any:
    """A value that JSON lacks."""
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return str(value) if isinstance(value, Decimal) else value.isoformat()


def _print_table(rows: Rows) -> None:
    held: list[Mapping[str, Any]] = []
    for row in rows:
        held.append(row)
        if len(held) == _SHOWN:
            _print_rows(held)
            held = []
    if held:
        _print_rows(held)


def _print_rows(rows: list[Mapping[str, Any]]) -> None:
    names = list(dict.fromkeys(name for row in rows for name in row))
    cells = [[_cell(row.get(name)) for name in names] for row in rows]
    widths = [max(map(len, column)) for column in zip(names, *cells, strict=True)]
    is_number = [
        all(isinstance(row.get(name), int | float | Decimal | None) for row in rows)
        for name in names
    ]
    for line in (names, ["-" * width for width in widths], *cells):
        padded = [
            text.rjust(width) if right else text.ljust(width)
            for text, width, right in zip(line, widths, is_number, strict=True)
        ]
        print("  ".join(padded).rstrip(), file=sys.stdout)


def _cell(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, list | dict | bytes):
        value = json.dumps(value, default=_plain, ensure_ascii=False)
    text = value.isoformat(" ") if isinstance(value, datetime) else str(value)
    text = text.replace("\n", "\\n")
    return text if len(text) <= _WIDEST else f"{text[: _WIDEST - 1]}…"
