"""ALTER TABLE … COLUMN: one change of a column, or of a field inside one, to a schema.

Files stay as they are and are read by field ids, which nothing here changes. So a change is refused
if stored rows could not follow it, or if it would change how they fold.
"""

import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from keyfold.errors import KeyfoldError, NotSupportedError
from keyfold.options.declared import DEFAULT_PREFIX, INITIAL_PREFIX
from keyfold.options.parsing import parse
from keyfold.storage.schema import column_references, fields
from keyfold.storage.schema.defaults import stored_text
from keyfold.storage.schema.definition import new_column
from keyfold.storage.schema.fields import Fields
from keyfold.storage.schema.schemas import StoredSchema
from keyfold.types import logical
from keyfold.types import paimon as paimon_types
from keyfold.types import spark as spark_types
from keyfold.wire.layout import Column, TableLayout, sql_name

Change = Mapping[str, Any]


@dataclass(frozen=True)
class Stored:
    """The stored rows when a table is altered: whether there are any and, asked for only if it
    matters, whether there may be a -D of some columns among them.
    """

    has_data: bool
    may_delete_columns: Callable[[], bool]


def change_column(schema: StoredSchema, change: Change, stored: Stored) -> StoredSchema:
    """The schema after one change. Raises KeyfoldError, naming table and column, if refused."""
    name = change["name"]
    path = (name,) if isinstance(name, str) else tuple(name)
    one = _Change(schema, change, path, stored)
    try:
        return _CHANGES[change["change"]](one)
    except KeyfoldError as error:
        text = str(error).removeprefix(f"table {schema.layout.name}: ")
        text = text.removeprefix(f"table {schema.layout.name}, ")
        text = text.removeprefix(f"column {path[-1]}: ")
        words = f"ALTER TABLE {schema.layout.name}, column {sql_name(*path)}: {text}"
        raise type(error)(words) from None


@dataclass(frozen=True)
class _Change:
    schema: StoredSchema
    asked: Change
    path: tuple[str, ...]
    stored: Stored

    @property
    def layout(self) -> TableLayout:
        return self.schema.layout

    @property
    def name(self) -> str:
        """The last name of the path."""
        return self.path[-1]

    @property
    def is_top(self) -> bool:
        """Whether a column of the table is changed, not a field inside one."""
        return len(self.path) == 1

    @property
    def is_key(self) -> bool:
        """Whether that column is part of the key or partitioning."""
        layout = self.layout
        return self.is_top and self.name in (*layout.primary_key, *layout.partition_keys)

    def with_fields(self, change: Callable[[Fields], Fields]) -> StoredSchema:
        """The schema with the siblings at the path changed."""
        root = fields.changed_fields(_row(self.layout), self.path[:-1], change)
        return _with_row(self.schema, root)

    def with_type(self, change: Callable[[logical.DataType], logical.DataType]) -> StoredSchema:
        """The schema with the type at the path changed."""
        return _with_row(self.schema, fields.changed(_row(self.layout), self.path, change))

    def with_options(self, schema: StoredSchema, options: Mapping[str, str]) -> StoredSchema:
        """The schema with other options, and what columns take from these."""
        columns = tuple(
            replace(
                column,
                default=options.get(DEFAULT_PREFIX + column.name),
                initial=options.get(INITIAL_PREFIX + column.name),
            )
            for column in schema.layout.columns
        )
        layout = replace(schema.layout, columns=columns, options=dict(options))
        return replace(schema, layout=layout)


def _row(layout: TableLayout) -> logical.Row:
    return logical.Row(
        tuple(logical.Field(c.id, c.name, c.type, c.comment) for c in layout.columns)
    )


def _with_row(schema: StoredSchema, row: logical.DataType) -> StoredSchema:
    assert isinstance(row, logical.Row)
    known = {column.id: column for column in schema.layout.columns}
    columns = tuple(
        replace(
            known.get(field.id, Column(field.id, field.name, field.type)),
            name=field.name,
            type=field.type,
            comment=field.comment,
        )
        for field in row.fields
    )
    return replace(schema, layout=replace(schema.layout, columns=columns))


def _add(one: _Change) -> StoredSchema:
    if not one.asked.get("nullable", True):
        raise NotSupportedError("it must be nullable, stored rows have no value")
    if one.asked.get("if_not_exists") and _is_there(one):
        return one.schema
    ids = itertools.count(one.schema.highest_field_id + 1)
    column = new_column(one.layout.name, {**one.asked, "name": one.name}, ids)
    field = logical.Field(column.id, column.name, column.type, column.comment or None)
    place = one.asked.get("position")
    made = one.with_fields(lambda siblings: fields.placed(siblings, field, place))
    made = replace(made, highest_field_id=next(ids) - 1)
    return made if column.default is None else _with_default(one, made, column.default)


def _is_there(one: _Change) -> bool:
    """Whether the table has just that column, as another job has added it since it was loaded."""
    if any(one.asked.get(more) for more in ("default", "comment", "position")):
        return False
    asked = spark_types.from_spark(one.asked["type"])
    columns = one.layout.columns if one.is_top else ()
    given = {c.name for c in columns if (c.default, c.initial) != (None, None)}
    return any(
        field.name.lower() == one.name.lower()
        and field.name not in given
        and field.type.nullable
        and spark_types.to_spark(field.type) == spark_types.to_spark(asked)
        for field in _siblings(one)
    )


def _with_default(one: _Change, made: StoredSchema, default: str) -> StoredSchema:
    _check_default(one)
    options = {**made.layout.options, DEFAULT_PREFIX + one.name: default}
    if one.stored.has_data:
        value = _initial(one)
        if value["literal"] is not None:
            options[INITIAL_PREFIX + one.name] = json.dumps(value, ensure_ascii=False)
    made, kind = one.with_options(made, options), made.layout.column(one.name).type
    return replace(made, literals=_literals(made, one.name, stored_text(one.asked, kind)))


def _check_default(one: _Change) -> None:
    if not one.is_top:
        raise NotSupportedError("a field of a STRUCT takes no DEFAULT")


def _initial(one: _Change) -> Mapping[str, Any]:
    """The literal that rows already stored get: a constant, which is the same in every record."""
    value: Any = one.asked.get("default_value")
    if not isinstance(value, Mapping) or "literal" not in value:
        raise NotSupportedError(
            "its DEFAULT is no constant of an atomic type, which rows already stored could have: "
            "add it without, then ALTER COLUMN … SET DEFAULT"
        )
    if one.stored.may_delete_columns():
        raise NotSupportedError(
            "its DEFAULT can't be given to rows already stored while a -D of some columns may be "
            "among them, as it says which rows are left: CALL sys.compact (in Python "
            "table.compact()) first, or add it without, then ALTER COLUMN … SET DEFAULT"
        )
    return value


def _literals(schema: StoredSchema, name: str, text: str | None) -> dict[str, str]:
    others = {key: value for key, value in schema.literals.items() if key != name}
    return others if text is None else {**others, name: text}


def _drop(one: _Change) -> StoredSchema:
    siblings = _siblings(one)
    if one.asked.get("if_exists") and one.name not in [field.name for field in siblings]:
        return one.schema
    if one.is_key:
        raise NotSupportedError("it is part of the primary key or partitioning, which stay")
    _check_needed(one, "dropped")
    made = one.with_fields(lambda found: fields.without(found, one.name))
    if not one.is_top:
        return made
    made = replace(made, literals=_literals(made, one.name, None))
    return one.with_options(made, column_references.without(made.layout.options, one.name))


def _siblings(one: _Change) -> Fields:
    found = fields.type_at(_row(one.layout), one.path[:-1])
    return found.fields if isinstance(found, logical.Row) else ()


def _check_needed(one: _Change, words: str) -> None:
    options = one.layout.options
    if one.is_top:
        needing = [*column_references.needing(options, one.name)]
    else:
        needing = [*column_references.needing_field(options, one.path[0], one.name)]
    if needing:
        raise NotSupportedError(f"option {needing[0]} names it, so it can't be {words}")


def _rename(one: _Change) -> StoredSchema:
    to = one.asked["to"]
    if one.is_key and one.stored.has_data:
        raise NotSupportedError(
            f"it is part of the primary key or partitioning, and files hold it as _KEY_{one.name} "
            "or in their path: it can't be renamed once the table holds data"
        )
    made = one.with_fields(lambda siblings: fields.with_field(siblings, one.name, to=to))
    if not one.is_top:
        options = column_references.renamed_field(made.layout.options, one.path[0], one.name, to)
        return one.with_options(made, options)
    literals = {to if name == one.name else name: text for name, text in made.literals.items()}
    made = one.with_options(made, column_references.renamed(made.layout.options, one.name, to))
    layout = replace(
        made.layout,
        primary_key=tuple(to if n == one.name else n for n in made.layout.primary_key),
        partition_keys=tuple(to if n == one.name else n for n in made.layout.partition_keys),
    )
    return replace(made, layout=layout, literals=literals)


def _move(one: _Change) -> StoredSchema:
    place = one.asked["position"]
    return one.with_fields(lambda siblings: fields.moved(siblings, one.name, place))


def _comment(one: _Change) -> StoredSchema:
    comment = one.asked.get("comment")
    return one.with_fields(lambda found: fields.with_field(found, one.name, comment=comment))


def _set_default(one: _Change) -> StoredSchema:
    """Set the DEFAULT of rows written from now on; stored rows read what they did before."""
    _check_default(one)
    kind = one.layout.column(one.name).type
    text, key = one.asked.get("default"), DEFAULT_PREFIX + one.name
    options = {name: value for name, value in one.layout.options.items() if name != key}
    made = one.with_options(one.schema, options if text is None else {**options, key: text})
    literal = None if text is None else stored_text(one.asked, kind)
    return replace(made, literals=_literals(made, one.name, literal))


def _widen(one: _Change) -> StoredSchema:
    """Change to a type that holds every stored value; files are cast when they are read."""
    _check_widened(one)

    def wider(found: logical.DataType) -> logical.DataType:
        made = spark_types.from_spark(one.asked["type"], found.nullable)
        paimon_types.check_storable(made, one.name)
        if not logical.holds(made, found):
            raise NotSupportedError(
                f"changing it from {logical.describe(found)} to {logical.describe(made)} is not "
                "supported: it takes a type that holds every value of the old one"
            )
        return made

    return one.with_type(wider)


def _check_widened(one: _Change) -> None:
    ordering: Sequence[str] = parse(one.layout).sequence_fields if one.is_top else ()
    for place, is_there in (
        ("part of the primary key or partitioning", one.is_key),
        ("a sequence.field", one.name in ordering),
    ):
        if is_there:
            raise NotSupportedError(f"it is {place}, its type is fixed")


def _set_nullable(one: _Change) -> StoredSchema:
    nullable = bool(one.asked["nullable"])
    found = fields.type_at(_row(one.layout), one.path)
    if found.nullable == nullable:
        return one.schema
    if one.is_key:
        raise NotSupportedError(
            "it is part of the primary key: primary-key.nullable at CREATE decides whether it may "
            "be NULL"
        )
    if not nullable and one.stored.has_data:
        raise NotSupportedError(
            "it can't become NOT NULL once the table holds data: rows stored, or being written by "
            "another job, may hold NULL"
        )
    return one.with_type(lambda kind: logical.with_nullability(kind, nullable))


_CHANGES: Mapping[str, Callable[[_Change], StoredSchema]] = {
    "add_column": _add,
    "delete_column": _drop,
    "rename_column": _rename,
    "update_column_comment": _comment,
    "update_column_default": _set_default,
    "update_column_nullability": _set_nullable,
    "update_column_position": _move,
    "update_column_type": _widen,
}
