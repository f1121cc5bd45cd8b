"""ALTER TABLE: changes to the newest schema, published exclusively as the next version."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from keyfold import fluss_options, types
from keyfold.errors import ConflictError, NotSupportedError, TableError
from keyfold.layout import Column, TableLayout, sql_name
from keyfold.options import DEFAULT_PREFIX, normalize, parse
from keyfold.storage.definition import (
    Check,
    check_altered,
    literal_text,
    new_column,
    with_schema_id,
)
from keyfold.storage.schemas import Schemas, StoredSchema
from keyfold.storage.snapshots import Snapshots

_ALWAYS_FIXED = {
    "primary-key",
    "primary-key.nullable",
    "partition",
    "location",
    "provider",
    "type",
    "file.format",
}
_ALWAYS_FIXED |= set(fluss_options.FIXED)
_FIXED_WITH_DATA = {
    "bucket",
    "bucket-key",
    "merge-engine",
    "sequence.field",
    "sequence.field.sort-order",
    "sequence.snapshot-ordering",
    "rowkind.field",
    "partition.default-name",
    "partition.legacy-name",
}
_REFUSED = {
    "add_constraint": "ADD CONSTRAINT",
    "delete_column": "DROP COLUMN {}",
    "drop_constraint": "DROP CONSTRAINT {}",
    "rename_column": "RENAME COLUMN {}",
    "update_column_default": "ALTER COLUMN {} SET or DROP DEFAULT",
    "update_column_nullability": "ALTER COLUMN {} SET or DROP NOT NULL",
    "update_column_position": "ALTER COLUMN {} FIRST or AFTER",
}
_TRIES = 20

Change = Mapping[str, Any]


def alter(
    schemas: Schemas, snapshots: Snapshots, changes: Sequence[Change], check_engine: Check
) -> None:
    """Apply all changes or none; another ALTER that comes in between is built upon."""
    for _ in range(_TRIES):
        schema_id = schemas.latest_id()
        if schema_id is None:
            raise ConflictError(f"table {schemas.name} was dropped during ALTER TABLE")
        has_data = snapshots.latest_id() is not None
        current = changed = schemas.read(schema_id)
        for change in changes:
            changed = _apply(changed, change, has_data)
        settled = check_altered(current.layout, changed.layout, check_engine)
        changed = replace(changed, layout=settled)
        if schemas.publish(with_schema_id(changed, schema_id + 1)):
            return
    raise ConflictError(f"table {schemas.name}: other ALTER TABLE statements came first; run again")


def _apply(schema: StoredSchema, change: Change, has_data: bool) -> StoredSchema:
    kind = change["change"]
    if kind == "set_property":
        return _set_property(schema, change["key"], change["value"], has_data)
    if kind in ("unset_property", "remove_property"):
        return _unset_property(schema, change["key"], has_data)
    if kind == "add_column":
        return _add_column(schema, change, has_data)
    if kind == "update_column_comment":
        return _comment_column(schema, _top_name(schema.layout, change), change.get("comment"))
    if kind == "update_column_type":
        return _widen_column(schema, _top_name(schema.layout, change), change)
    name = change.get("name", "")
    words = _REFUSED[kind].format(sql_name(*([name] if isinstance(name, str) else name)))
    raise NotSupportedError(f"ALTER TABLE {schema.layout.name}: {words} is not supported")


# ---- properties ----


def _set_property(schema: StoredSchema, key: str, value: str, has_data: bool) -> StoredSchema:
    layout = schema.layout
    if key == "comment":
        return replace(schema, layout=replace(layout, comment=value or None))
    if key in _ALWAYS_FIXED:
        _check_mutable(layout, key, has_data)
    for name, text in normalize({key: value}).items():
        if layout.options.get(name) != text:
            _check_mutable(layout, name, has_data)
        layout = replace(layout, options={**layout.options, name: text})
    return replace(schema, layout=layout)


def _unset_property(schema: StoredSchema, key: str, has_data: bool) -> StoredSchema:
    layout = schema.layout
    if key == "comment":
        return replace(schema, layout=replace(layout, comment=None))
    for name in normalize({key: ""}):
        if name == "bucket" or (name in layout.options or name in _ALWAYS_FIXED):
            _check_mutable(layout, name, has_data or name == "bucket")
        options = {k: v for k, v in layout.options.items() if k != name}
        layout = replace(layout, options=options)
    return replace(schema, layout=layout)


def _check_mutable(layout: TableLayout, name: str, has_data: bool) -> None:
    if name in _ALWAYS_FIXED or name.startswith(DEFAULT_PREFIX):
        raise TableError(f"ALTER TABLE {layout.name}: property {name} can't be changed")
    if has_data and name in _FIXED_WITH_DATA:
        raise TableError(
            f"ALTER TABLE {layout.name}: property {name} can't be changed once the table holds "
            "data; make a new table and copy"
        )


# ---- columns ----


def _top_name(layout: TableLayout, change: Change) -> str:
    name = change["name"]
    parts = [name] if isinstance(name, str) else list(name)
    if len(parts) != 1:
        raise NotSupportedError(
            f"ALTER TABLE {layout.name}: changing the nested field {'.'.join(parts)} "
            "is not supported"
        )
    return str(parts[0])


def _add_column(schema: StoredSchema, change: Change, has_data: bool) -> StoredSchema:
    layout, name = schema.layout, _top_name(schema.layout, change)
    if layout.has_column(name):
        raise TableError(f"ALTER TABLE {layout.name}: column {name} exists")
    _check_addable(layout, name, change, has_data)
    ids = itertools.count(schema.highest_field_id + 1)
    column = new_column(layout.name, {**change, "name": name}, ids)
    options = dict(layout.options)
    if column.default is not None:
        options[DEFAULT_PREFIX + name] = column.default
    literal = literal_text(change)
    literals = dict(schema.literals) | ({} if literal is None else {name: literal})
    columns = _placed(layout, column, change.get("position"))
    return StoredSchema(replace(layout, columns=columns, options=options), next(ids) - 1, literals)


def _check_addable(layout: TableLayout, name: str, change: Change, has_data: bool) -> None:
    if not change.get("nullable", True):
        raise NotSupportedError(
            f"ALTER TABLE {layout.name}: column {name} must be nullable, stored rows have no value"
        )
    if change.get("default") is not None and has_data:
        raise NotSupportedError(
            f"ALTER TABLE {layout.name}: adding column {name} with a DEFAULT to a table that holds "
            "data is not supported: rows already stored would read NULL; add it without"
        )


def _placed(
    layout: TableLayout, column: Column, position: Mapping[str, str] | None
) -> tuple[Column, ...]:
    """All columns with the new one at the end (None), {"first": ""} or {"after": name}."""
    columns = list(layout.columns)
    if position is None:
        return (*columns, column)
    if "first" in position:
        return (column, *columns)
    at = columns.index(layout.column(position["after"])) + 1
    return (*columns[:at], column, *columns[at:])


def _comment_column(schema: StoredSchema, name: str, comment: str | None) -> StoredSchema:
    return _with_column(schema, replace(schema.layout.column(name), comment=comment or None))


def _widen_column(schema: StoredSchema, name: str, change: Change) -> StoredSchema:
    """Another type that holds every stored value; files are cast when they are read."""
    layout = schema.layout
    column = layout.column(name)
    _check_widened(layout, name)
    wider = types.from_spark(change["type"], column.type.nullable)
    types.check_storable(wider, name)
    if not types.holds(wider, column.type):
        raise NotSupportedError(
            f"ALTER TABLE {layout.name}: changing column {name} from "
            f"{types.describe(column.type)} to {types.describe(wider)} is not supported: "
            "it takes a type that holds every value of the old one"
        )
    return _with_column(schema, replace(column, type=wider))


def _check_widened(layout: TableLayout, name: str) -> None:
    for place, names in (
        ("in the primary key", layout.primary_key),
        ("a sequence.field", parse(layout).sequence_fields),
    ):
        if name in names:
            raise NotSupportedError(
                f"ALTER TABLE {layout.name}: column {name} is {place}, its type is fixed"
            )


def _with_column(schema: StoredSchema, changed: Column) -> StoredSchema:
    columns = tuple(
        changed if column.id == changed.id else column for column in schema.layout.columns
    )
    return replace(schema, layout=replace(schema.layout, columns=columns))
