"""An aggregate as a query calls it, `keyfold.listagg(c, delimiter => ';')`, bound to a type.

The driver binds it once, from names and texts. A `BoundCall` goes with each task, together with the
code of a user's function. Types, options and their errors are those of a column of a table.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from keyfold.aggregates import aggregates, spelling
from keyfold.aggregates.agg_state import AGG_STATE
from keyfold.aggregates.binding import Words, bound, loose, named, options_of
from keyfold.aggregates.declaration import Aggregate
from keyfold.errors import FunctionError
from keyfold.lazy import cached_property
from keyfold.options import provided
from keyfold.types import arrow as arrow_types
from keyfold.types.logical import DataType, describe
from keyfold.types.spark import from_spark, to_spark
from keyfold.user_functions.sources import Sources

CATALOG = "keyfold"


def functions() -> list[Aggregate]:
    """keyfold's aggregates that queries call, by name. Aggregate states have functions of their
    own: `x_merge` and its kin.
    """
    known = dict.fromkeys(aggregates().values())
    return sorted((one for one in known if one is not AGG_STATE), key=lambda one: one.name)


@dataclass(frozen=True)
class BoundCall:
    """One call. Options are the texts of those that differ from their defaults, by their names as
    options of tables; `code` is what the executors need of the session's functions.
    """

    name: str
    type: DataType
    options: Mapping[str, str]
    code: Mapping[str, Any] | None = None

    @cached_property
    def arrow_type(self) -> pa.DataType:
        """The type of its values and of its results."""
        return arrow_types.to_arrow(self.type)

    @cached_property
    def aggregate(self) -> Aggregate:
        """Its implementation. Raises TableError or FunctionError if it can't be bound."""
        with provided.by(Sources.from_json(self.code)):
            own = named(self.words, self.name)
            return bound(own, self.type, self.options, Words.of_call(self.words))

    @property
    def words(self) -> str:
        """The function, for a message."""
        return _where(self.name)

    @property
    def signature(self) -> str:
        """Name, type and options as one text."""
        options = "".join(f";{name}={text}" for name, text in self.options.items())
        return f"{self.name}({describe(self.type)}){options}"

    def to_json(self) -> dict[str, Any]:
        """The call as JSON; that of equal calls is equal."""
        found = {"name": self.name, "type": to_spark(self.type), "options": dict(self.options)}
        return found if self.code is None else {**found, "code": self.code}

    @staticmethod
    def from_json(found: Mapping[str, Any]) -> BoundCall:
        """The inverse of `to_json`."""
        kind = from_spark(found["type"])
        return BoundCall(found["name"], kind, found["options"], found.get("code"))


def bind(
    name: str,
    types: Sequence[str],
    given: Mapping[str, str],
    positional: Sequence[str | None],
    sources: Sources,
) -> BoundCall:
    """The call of a function with arguments of these types (Spark's JSON texts), with options by
    name, and with those that follow the column, in the order of their declaration.

    Raises TableError or FunctionError if there is no such function, or it does not take these.
    """
    declared = named(_where(name), name)
    if len(types) != 1:
        raise FunctionError(
            f"{_where(name)}: expected one column, then options, found {len(types)} columns"
        )
    options = options_of(_where(declared.name), declared, given, positional)
    is_own = spelling(name) not in aggregates()
    code = sources.for_options({"": declared.name}) if is_own else None
    kind = declared.result_of_any or loose(from_spark(json.loads(types[0])))
    call = BoundCall(declared.name, kind, options, code)
    assert call.aggregate is not None  # bound, which raises what is wrong
    return call


def _where(name: str) -> str:
    return f"function {CATALOG}.{name}"
