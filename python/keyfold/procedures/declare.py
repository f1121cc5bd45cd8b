"""The declaration of a procedure: its name, what it takes and gives, and its function.

Spark's CALL, the methods of Python's tables and the page about operations are made of it. The
function is given a `ProcedureCall` and the arguments by name, and returns rows: objects by the
names of the result's columns.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa

from keyfold.compact.task_runner import TaskRunner
from keyfold.errors import TableError
from keyfold.options.values import duration, given
from keyfold.storage.catalogs.interface import Catalog
from keyfold.storage.table import Table
from keyfold.types.arrow import to_arrow
from keyfold.types.sql import from_sql
from keyfold.wire.specs import Epoch

Rows = list[dict[str, Any]]
OPTIONS, CONDITION, TABLE_NAME = "OPTIONS", "CONDITION", "TABLE_NAME"
_MOST_THREADS = 8


class Caller(TaskRunner, Protocol):
    """The process that calls a procedure, as far as procedures ask it."""

    def analyzed(self, columns: list[str]) -> Mapping[str, Any]:
        """Let Spark count the rows of the table and the values of some columns: `rows`, and the
        figures of each of the `columns`.
        """


@dataclass(frozen=True)
class ProcedureCall:
    """One call: the table as the caller loaded it, and as it is whenever `newest` is asked; the
    epoch is that of the caller's token.
    """

    table: Table
    newest: Callable[[], Table]
    caller: Caller
    epoch: Epoch | None = None

    @property
    def threads(self) -> int:
        """The threads that work on files in the process of the call, the driver's in Spark."""
        return min(self.caller.parallelism, _MOST_THREADS)


@dataclass(frozen=True)
class CatalogCall:
    """A call that is about no single table."""

    catalog: Catalog
    caller: Caller


@dataclass(frozen=True)
class ProcedureParameter:
    """A parameter after `table`. An argument that is left out or NULL is the default.

    The type is one of Spark's, and its values arrive as Python's: a TIMESTAMP in milliseconds since
    1970. OPTIONS are a map, or a text 'name=value,…', and arrive as a dictionary. A CONDITION is
    SQL over the columns that the table is partitioned by, and arrives as predicates; False if no
    partition can satisfy it. A TABLE_NAME, which in Spark may be one of the current namespace,
    arrives as 'namespace.table', or as a path.
    """

    name: str
    type: str
    doc: str
    default: Any = None
    is_required: bool = False


@dataclass(frozen=True)
class Procedure:
    """`purpose` is what DESCRIBE PROCEDURE shows, and `doc` what the page about operations says.
    `result` has the columns of the rows with their types in SQL. A procedure that may be called
    `again` changes nothing before it asks its caller for something: if the process dies before,
    the caller asks the next one. `short` is a shorter name that the command line has too. One that
    needs Spark is called by Spark only. One that `takes_token` changes rows, and does nothing if
    the table has the token already; others that change rows say so. One `of_catalog` is about no
    single table.
    """

    name: str
    purpose: str
    parameters: tuple[ProcedureParameter, ...]
    result: Mapping[str, str]
    function: Callable[..., Rows]
    doc: str
    again: bool = False
    short: str = ""
    needs_spark: bool = False
    takes_token: bool = False
    changes_rows: bool = False
    of_catalog: bool = False

    def rows(self, call: ProcedureCall | CatalogCall, given: Mapping[str, Any]) -> Rows:
        """The rows of a call with these arguments. Raises TableError if one is missing."""
        arguments = {}
        for parameter in self.parameters:
            value = given.get(parameter.name)
            if value is None and parameter.is_required:
                raise TableError(f"{self.name}: argument {parameter.name} is missing, or NULL")
            arguments[parameter.name] = _value(self.name, parameter, value)
        return self.function(call, **arguments)

    @property
    def schema(self) -> pa.Schema:
        """The columns of the rows."""
        return pa.schema([(name, to_arrow(from_sql(kind))) for name, kind in self.result.items()])

    def to_json(self) -> dict[str, Any]:
        """The declaration as the JVM reads it."""
        return {
            "name": self.name,
            "purpose": self.purpose,
            "parameters": [
                {"name": one.name, "type": one.type, "doc": one.doc} for one in self.parameters
            ],
            "result": [{"name": name, "type": kind} for name, kind in self.result.items()],
            "again": self.again,
            "of_table": not self.of_catalog,
            "changes_rows": self.takes_token or self.changes_rows,
        }


def _value(procedure: str, parameter: ProcedureParameter, value: Any) -> Any:
    if value is None:
        return parameter.default
    if parameter.type == OPTIONS and isinstance(value, str):
        pairs = [part.partition("=") for part in value.split(",") if part.strip()]
        for name, equals, text in pairs:
            if not equals:
                raise TableError(
                    f"{procedure}: {parameter.name} holds '{name}{text}'; expected name=value, "
                    "more of them after commas, or a map"
                )
        return {name.strip(): text.strip() for name, _, text in pairs}
    return value


def listed(text: str, known: Collection[str]) -> list[str]:
    """Names with commas between them, or the one of the known names that has such commas."""
    return [text] if text in known else [name.strip() for name in text.split(",")]


def duration_of(parameter: str, text: str | None) -> float | None:
    """The seconds that an argument such as '7 d' says. Raises TableError if it says none."""
    return None if text is None else given(parameter, text, duration, TableError)


CALL_OPTIONS = ProcedureParameter(
    "options", OPTIONS, "table options for this call, as 'name=value,…' or a map"
)
