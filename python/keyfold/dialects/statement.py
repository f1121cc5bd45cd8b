"""A CREATE TABLE of any dialect, and its spelling in Spark SQL."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from keyfold.dialects.tokens import Cursor
from keyfold.wire.layout import quoted


@dataclass(frozen=True)
class Header:
    """The statement up to the columns; `at` is the token after it."""

    table: tuple[str, ...]
    if_not_exists: bool
    at: int


@dataclass(frozen=True)
class ColumnText:
    """A column; type and default are Spark's."""

    name: str
    type: str
    is_nullable: bool = True
    default: str | None = None
    comment: str | None = None


@dataclass(frozen=True)
class Statement:
    """A table to create; `query` is the text after AS."""

    header: Header
    columns: tuple[ColumnText, ...] = ()
    key: tuple[str, ...] = ()
    partitioning: tuple[str, ...] = ()
    comment: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict)
    query: str | None = None


def header(cursor: Cursor) -> Header:
    """`CREATE TABLE [IF NOT EXISTS] name`."""
    cursor.expect("CREATE", "TABLE")
    if_not_exists = cursor.accept("IF", "NOT", "EXISTS")
    return Header(cursor.path(), if_not_exists, cursor.at)


def render(statement: Statement) -> str:
    """The statement in Spark SQL."""
    head = statement.header
    clauses = [
        "CREATE TABLE IF NOT EXISTS" if head.if_not_exists else "CREATE TABLE",
        ".".join(map(quoted, head.table)),
    ]
    if statement.columns:
        parts = [_column(column) for column in statement.columns]
        if statement.key:
            parts.append(f"PRIMARY KEY ({names(statement.key)}) NOT ENFORCED")
        clauses.append(f"({', '.join(parts)})")
    if statement.partitioning:
        clauses.append(f"PARTITIONED BY ({names(statement.partitioning)})")
    if statement.comment is not None:
        clauses.append(f"COMMENT {text(statement.comment)}")
    if statement.properties:
        clauses.append(f"TBLPROPERTIES ({pairs(statement.properties)})")
    if statement.query is not None:
        clauses.append(f"AS {statement.query}")
    return " ".join(clauses)


def _column(column: ColumnText) -> str:
    parts = [quoted(column.name), column.type]
    parts += [] if column.is_nullable else ["NOT NULL"]
    parts += [] if column.default is None else [f"DEFAULT {column.default}"]
    parts += [] if column.comment is None else [f"COMMENT {text(column.comment)}"]
    return " ".join(parts)


def pairs(of: Mapping[str, str]) -> str:
    """Options as a list of `'name' = 'value'`."""
    return ", ".join(f"{text(name)} = {text(value)}" for name, value in of.items())


def names(of: Iterable[str]) -> str:
    """Names as a list of SQL identifiers."""
    return ", ".join(map(quoted, of))


def text(value: str) -> str:
    """A string as Spark writes it."""
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
