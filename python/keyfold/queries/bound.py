"""An aggregate as a query calls it, `keyfold.listagg(c, delimiter => ';')`, bound to a type.

The driver binds it once, from names and texts. A `BoundCall` goes with each task, together with the
code of a user's function. Types, options and their errors are those of a column of a table.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import pyarrow as pa

from keyfold.aggregates import aggregates, spelling
from keyfold.aggregates.declare import Aggregate, Parameter
from keyfold.authored.sources import Sources
from keyfold.errors import FunctionError
from keyfold.merge.functions import Words, bound, named
from keyfold.options import provided
from keyfold.types import arrow as arrow_types
from keyfold.types.logical import Array, Atomic, DataType, Map, Row, describe, with_nullability
from keyfold.types.spark import from_spark, to_spark

CATALOG = "keyfold"
_OF_LISTAGG = "list_agg_"


def short_name(parameter: Parameter) -> str:
    """The name of an option as an argument: `skip_blank` of `list-agg-skip-blank`."""
    return spelling(parameter.name).removeprefix(_OF_LISTAGG)


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
            return bound(named(_where(self.name), self.name), self.type, self.options, _words(self))

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
    options = _options(declared, given, positional)
    is_own = spelling(name) not in aggregates()
    code = sources.for_options({"": declared.name}) if is_own else None
    call = BoundCall(declared.name, _loose(from_spark(json.loads(types[0]))), options, code)
    assert call.aggregate is not None  # bound, which raises what is wrong
    return call


def _where(name: str) -> str:
    return f"function {CATALOG}.{name}"


def _words(call: BoundCall) -> Words:
    return Words(
        _where(call.name),
        _where(call.name),
        "argument",
        lambda name: f"{_where(call.name)}, option {name}",
    )


def _options(
    declared: Aggregate, given: Mapping[str, str], positional: Sequence[str | None]
) -> dict[str, str]:
    """The texts of options that are not at their defaults, by the names of their declaration."""
    if len(positional) > len(declared.parameters):
        known = _known(declared)
        raise FunctionError(
            f"{_where(declared.name)}: expected one column and at most "
            f"{len(declared.parameters)} options ({known}), found {len(positional)}"
        )
    texts: dict[Parameter, str | None] = dict(zip(declared.parameters, positional, strict=False))
    for name, text in given.items():
        parameter = _parameter(declared, name)
        if texts.get(parameter) is not None:
            raise FunctionError(f"{_where(declared.name)}: option {name} is given twice")
        texts[parameter] = text
    found = {parameter.name: texts.get(parameter) for parameter in declared.parameters}
    defaults = {parameter.name: parameter.default for parameter in declared.parameters}
    return {n: text for n, text in found.items() if text is not None and text != defaults[n]}


def _parameter(declared: Aggregate, name: str) -> Parameter:
    known = {
        own: parameter
        for parameter in declared.parameters
        for own in (spelling(parameter.name), short_name(parameter))
    }
    found = known.get(spelling(name))
    if found is None:
        near = difflib.get_close_matches(spelling(name), known, 1, 0.6)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise FunctionError(
            f"{_where(declared.name)}: option {name} is unknown{hint} "
            f"(its options: {_known(declared)})"
        )
    return found


def _known(declared: Aggregate) -> str:
    return ", ".join(map(short_name, declared.parameters)) or "none"


def _loose(kind: DataType) -> DataType:
    """The type of a result: texts without a length, and every part may be NULL but keys of maps."""
    match kind:
        case Array(element):
            return Array(_loose(element))
        case Map(key, value):
            return Map(with_nullability(_loose(key), False), _loose(value))
        case Row(fields):
            return Row(tuple(replace(field, type=_loose(field.type)) for field in fields))
        case Atomic(name="CHAR" | "VARCHAR"):
            return Atomic("STRING")
    return with_nullability(kind, True)
