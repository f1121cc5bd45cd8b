"""The layout of a table: name, place, columns, keys and options at one schema version.

`keyfold.storage` makes it when a table is loaded. It is sent as JSON inside every scan and write,
opaque to the JVM.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from keyfold.errors import TableError
from keyfold.lazy import cached_property
from keyfold.types import arrow as arrow_types
from keyfold.types import logical
from keyfold.wire.codec import Wire

# Hidden folders beside tables: one that is being built, or, for a day, one that was replaced.
STAGING = ".staging-"
_NEEDS_NO_QUOTES = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def quoted(name: str) -> str:
    """A name as an SQL identifier, which may be any word of SQL."""
    doubled = name.replace("`", "``")
    return f"`{doubled}`"


def sql_name(*parts: str) -> str:
    """A name in SQL as people read it: parts joined by dots, in backticks where they need them. An
    empty part is left out, as tables named by their path have no namespace.
    """
    return ".".join(
        part if _NEEDS_NO_QUOTES.fullmatch(part) else quoted(part) for part in parts if part
    )


BRANCH_MARK = "$branch_"  # before the name of a branch, behind that of the table


def home(location: str, branch: str) -> str:
    """The folder of the schemas, snapshots and tags of a branch ("" is the table itself). Manifests
    and data files of all branches lie together, below `location`.
    """
    return f"{location}/branch/branch-{branch}" if branch else location


@dataclass(frozen=True)
class Column(Wire):
    """One table column. `default` is the SQL text of its DEFAULT. `initial` is the value of rows
    stored before the column was added, a literal of the wire as JSON text; None is NULL.
    """

    id: int
    name: str
    type: logical.DataType
    comment: str | None = None
    default: str | None = None
    initial: str | None = None

    @cached_property
    def arrow_field(self) -> pa.Field:
        """Name, Arrow type and nullability."""
        return pa.field(self.name, arrow_types.to_arrow(self.type), self.type.nullable)


@dataclass(frozen=True)
class TableLayout(Wire):
    """One schema version of one table; `name` is its full name in SQL."""

    name: str
    location: str
    schema_id: int
    columns: tuple[Column, ...]
    primary_key: tuple[str, ...] = ()
    partition_keys: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)
    comment: str | None = None
    identity: str = ""  # changes when the table is dropped and made anew, or altered
    branch: str = ""
    # Settings of the object store's client (`stores.settings`): of the session, not the table.
    store: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)

    @property
    def home(self) -> str:
        """The folder of its schemas, snapshots and tags."""
        return home(self.location, self.branch)

    @cached_property
    def key(self) -> tuple[str, ...]:
        """The trimmed primary key: primary-key columns except partition columns, in order."""
        return tuple(name for name in self.primary_key if name not in self.partition_keys)

    @cached_property
    def spans_partitions(self) -> bool:
        """Whether a key is one across partitions: it lacks a partition column."""
        return bool(self.primary_key) and not {*self.partition_keys} <= {*self.primary_key}

    def of_key(self, partition: Sequence[Any]) -> tuple[Any, ...]:
        """The values of a partition that are part of the primary key."""
        named = zip(self.partition_keys, partition, strict=True)
        return tuple(value for name, value in named if name in self.primary_key)

    @cached_property
    def nullable_key(self) -> tuple[bool, ...]:
        """Whether each column of `key` may hold NULL, which is then one more value of it."""
        return tuple(self.column(name).type.nullable for name in self.key)

    @cached_property
    def arrow_schema(self) -> pa.Schema:
        """All columns, in table order."""
        return pa.schema([column.arrow_field for column in self.columns])

    @cached_property
    def _by_name(self) -> dict[str, Column]:
        return {column.name: column for column in self.columns}

    def column(self, name: str) -> Column:
        """The column of that name. Raises TableError, which names all columns, if it is missing."""
        found = self._by_name.get(name)
        if found is None:
            raise TableError(
                f"table {self.name} has no column {name}; it has {', '.join(self._by_name)}"
            )
        return found

    def has_column(self, name: str) -> bool:
        """Whether a column of exactly that name exists."""
        return name in self._by_name
