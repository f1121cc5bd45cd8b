"""Columns of CREATE and ALTER TABLE, from an Arrow schema or from SQL types by name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from numbers import Real
from typing import Any, TypeAlias

import pyarrow as pa

from keyfold.errors import KeyfoldError, TableError
from keyfold.options.values import shown
from keyfold.tables.rows import optional
from keyfold.tables.rows.conversions.unfit import matched
from keyfold.tables.where import leaves, sql
from keyfold.types import logical
from keyfold.types import spark as spark_types
from keyfold.types.arrow import from_arrow
from keyfold.types.sql import from_sql
from keyfold.wire.layout import Column, TableLayout

Schema: TypeAlias = "pa.Schema | Mapping[str, str | pa.DataType]"
_WORDS = re.compile(
    r"""(?P<type>.+?)(?P<before>\s+NOT\s+NULL)?
        (?:\s+DEFAULT\s+(?P<default>(?:'(?:[^'\\]|\\.)*'|[^'])+?))?(?P<after>\s+NOT\s+NULL)?""",
    re.IGNORECASE | re.DOTALL | re.VERBOSE,
)


def names(what: str, given: Sequence[str]) -> tuple[str, ...]:
    """A list of names. Raises TableError if it is one text, whose letters Python would take."""
    if isinstance(given, str):
        raise TableError(f"{what} is the text {given!r}; expected a list of names: [{given!r}]")
    return tuple(given)


def selected(layout: TableLayout, columns: Sequence[str] | None) -> tuple[str, ...]:
    """The names of columns that are asked for in any letter case, all by default."""
    known = layout.arrow_schema.names
    if columns is None:
        return tuple(known)
    asked = names(f"reading table {layout.name}: columns", columns)
    return tuple(matched(known, name) or name for name in asked)


def properties(options: Mapping[str, Any]) -> dict[str, str]:
    """Options as a table stores them: text. Raises TableError if one is something else that has no
    text of its own.
    """
    return {name: _text(name, value) for name, value in options.items()}


def _text(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str | Real | Decimal):
        with suppress(ValueError):  # more digits than Python prints
            return str(value)
    found = "a number of too many digits" if isinstance(value, int) else f"{value!r:.100}"
    raise TableError(
        f"option {shown(name)}: expected a text, a number, True or False, found {found}"
    )


def columns(schema: Schema) -> list[dict[str, Any]]:
    """The columns of a statement: name, type (Spark's JSON), nullable, comment. Raises
    NotSupportedError, naming the column, if a type has no counterpart.
    """
    if isinstance(schema, Mapping) and not hasattr(schema, "__arrow_c_schema__"):
        return [column(name, kind) for name, kind in schema.items()]
    if not isinstance(schema, pa.Schema):  # one of another library, such as Polars
        try:
            schema = pa.schema(schema)
        except (TypeError, ValueError, AttributeError, pa.ArrowException):
            raise _no_schema(schema) from None
    return [
        column(field.name, field.type, nullable=field.nullable, comment=_comment(field))
        for field in schema
    ]


def _no_schema(found: object) -> TableError:
    kind, advice = type(found), ""
    if optional.is_of("pandas", found):
        advice = ": pyarrow.Schema.from_pandas(frame, preserve_index=False) is that of a DataFrame"
    elif hasattr(kind, "schema"):
        advice = ": give its schema"
    return TableError(
        "schema: expected a schema of Arrow or Polars, or types by name such as {'k': 'BIGINT'}, "
        f"found {f'{kind.__module__}.{kind.__qualname__}' if advice else repr(found)[:100]}{advice}"
    )


def column(
    name: str, kind: str | pa.DataType, *, nullable: bool = True, comment: str | None = None
) -> dict[str, Any]:
    """One column; SQL text may end with NOT NULL and DEFAULT, in either order."""
    default = None
    try:
        if isinstance(kind, str):
            words = _WORDS.fullmatch(kind.strip())
            nullable = nullable and not (words and (words["before"] or words["after"]))
            default = words and words["default"]
            found: logical.DataType = from_sql(words["type"] if words else kind)
        elif isinstance(kind, pa.DataType):
            found = from_arrow(kind)
        else:
            raise TableError(
                f"expected a type in SQL, such as 'BIGINT', or of Arrow, found {kind!r:.100}"
            )
        made = {"name": name, "type": spark_types.to_spark(found), "nullable": nullable}
        if default is not None:
            made |= _default(name, found, default)
    except KeyfoldError as error:
        raise type(error)(f"column {name}: {error}") from None
    return made if comment is None else {**made, "comment": comment}


def _default(name: str, kind: logical.DataType, text: str) -> dict[str, Any]:
    """A DEFAULT of the wire: its text in SQL, and its value. Raises TableError if it is not a
    constant of the column's type.
    """
    column, why = Column(0, name, kind), ""
    try:
        constant = sql.constant(text)
        value = leaves.literal(column, constant)
        if not leaves.holds(column, constant):
            why = "it has more digits"
    except TableError as error:
        why = str(error)
    if why:
        raise TableError(
            f"DEFAULT {text} is not a constant of type {logical.describe(kind)}: {why}; Spark's "
            "ALTER TABLE takes other DEFAULTs"
        )
    return {"default": text, "default_value": {"literal": value.value, "type": value.type}}


def _comment(field: pa.Field) -> str | None:
    found = (field.metadata or {}).get(b"comment")
    return None if found is None else found.decode()


def changes(
    layout: TableLayout,
    add: Schema | None,
    drop: Sequence[str],
    rename: Mapping[str, str],
    types: Mapping[str, str | pa.DataType],
    options: Mapping[str, Any],
    comment: str | None,
) -> Iterator[dict[str, Any]]:
    """The changes of an ALTER TABLE, in this order: columns are renamed, dropped, widened and
    added, then options are set, or unset if their value is None. Columns are found in any letter
    case.
    """
    known = [*layout.arrow_schema.names, *rename.values()]

    def path(name: str) -> list[str]:
        return [matched(known, name) or name]

    for name, to in rename.items():
        yield {"change": "rename_column", "name": path(name), "to": to}
    for name in names("drop", drop):
        yield {"change": "delete_column", "name": path(name)}
    for name, kind in types.items():
        yield {"change": "update_column_type", **column(name, kind), "name": path(name)}
    for made in [] if add is None else columns(add):
        yield {"change": "add_column", **made, "name": [made["name"]]}
    for key, value in options.items():
        if value is None:
            yield {"change": "unset_property", "key": key}
        else:
            yield {"change": "set_property", "key": key, "value": _text(key, value)}
    if comment is not None:
        yield {"change": "set_property", "key": "comment", "value": comment}
