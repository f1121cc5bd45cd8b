"""Conditions on rows, decoded once: Spark's predicates under Spark's own names.

On the wire a column is {"column": path}, a constant {"literal": value, "type": Spark's type}, and a
predicate {"op": operator, "args": [...]} of columns and constants, or of predicates.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from keyfold.lazy import cached_property
from keyfold.types.literals import Constant, Members, Unknown, members_of, value_of
from keyfold.types.logical import DataType

Part: TypeAlias = "Predicate | Named | Constant"


@dataclass(frozen=True)
class Named:
    """A column, or a field of one: then the path has several names."""

    path: tuple[str, ...]

    @property
    def name(self) -> str:
        """A column's own name. A field gets a name that no column has, even one with dots."""
        return self.path[0] if len(self.path) == 1 else "\0".join(["", *self.path])


@dataclass(frozen=True)
class Predicate:
    """An operator: AND, OR and NOT of predicates, any other of a column and constants, or of parts
    that only Spark understands.
    """

    op: str
    args: tuple[Any, ...] = ()
    _members: dict[DataType, Members] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @cached_property
    def columns(self) -> frozenset[str]:
        """The names of all columns in it."""
        own = {arg.name for arg in self.args if isinstance(arg, Named)}
        return frozenset(own).union(*(a.columns for a in self.args if isinstance(a, Predicate)))

    @property
    def column(self) -> str:
        """The column that is compared with constants. Raises Unknown if the parts are others."""
        first, *rest = self.args or (None,)
        if not isinstance(first, Named) or not all(isinstance(arg, Constant) for arg in rest):
            raise Unknown
        return first.name

    def value(self, kind: DataType) -> Any:
        """The one constant as a value of the column's type. Raises Unknown if there is another
        number of them, or its type is another.
        """
        if len(self.args) != 2:
            raise Unknown
        return value_of(self.args[1], kind)

    def members(self, kind: DataType) -> Members:
        """All constants as values of the column's type, made once: a list of a thousand is asked
        about every file, row group and batch. Raises Unknown if the type of one is another.
        """
        found = self._members.get(kind)
        if found is None:
            found = self._members[kind] = members_of(self.args[1:], kind)
        return found

    def to_json(self) -> Any:
        """The predicate as it travels."""
        return {"op": self.op, "args": [_sent(arg) for arg in self.args]}

    @staticmethod
    def from_json(json: Any) -> Predicate:
        """The inverse of `to_json`."""
        return Predicate(json["op"], tuple([_received(arg) for arg in json.get("args", ())]))


def _sent(part: Part) -> Any:
    if isinstance(part, Predicate):
        return part.to_json()
    if isinstance(part, Named):
        return {"column": list(part.path)}
    return {"literal": part.value, "type": part.type}


def _received(json: Any) -> Part:
    if "column" in json:
        return Named(tuple(json["column"]))
    if "literal" in json:
        return Constant.from_json(json)
    return Predicate.from_json(json)


def decoded(json: Sequence[Any] | None) -> tuple[Predicate, ...]:
    """The predicates of a question."""
    return tuple(map(Predicate.from_json, json or ()))


def conjuncts(predicates: Sequence[Predicate]) -> Iterator[Predicate]:
    """The predicates, which must all hold, with ANDs taken apart."""
    for predicate in predicates:
        if predicate.op == "AND":
            yield from conjuncts(predicate.args)
        else:
            yield predicate
