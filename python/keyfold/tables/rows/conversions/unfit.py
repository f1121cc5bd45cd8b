"""A value that its column does not take: which one it is, and what the column takes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import pyarrow as pa

from keyfold.types.arrow import to_arrow
from keyfold.types.logical import Array, Atomic, DataType, Map, Row, describe

Given: TypeAlias = "pa.Array | list[Any]"
Convert = Callable[[Given], pa.Array]

_SHOWN = 100  # characters of a value


class Unfit(Exception):
    """Values of a column or a nested field (`path`), of which one does not fit its type."""

    def __init__(self, path: str, kind: DataType, given: Given, why: str = "") -> None:
        super().__init__(path)
        self.path, self.kind, self.given, self.why = path, kind, given, why

    def told(self, convert: Callable[[Given, DataType, str], pa.Array]) -> str:
        """The sentence about the first of the values that does not fit."""
        one = self.given[:1]
        if len(self.given) > 1:
            place, _ = first_unfit(self.given, lambda some: convert(some, self.kind, self.path))
            one = self.given[place : place + 1]
        found = shown(one[0]) if len(one) else "None"
        of = ""
        if isinstance(self.given, pa.Array) and not self.given.type.equals(to_arrow(self.kind)):
            of = f" of Arrow type {self.given.type}"
        why = self.why or f"expected {takes(self.kind)}"
        return (
            f"column {self.path}, of type {describe(self.kind)}, does not take {found}{of}: {why}"
        )


def shown(value: Any) -> str:
    """A value in a message, as Python writes it."""
    if isinstance(value, pa.Scalar):
        try:
            value = value.as_py()
        except (ValueError, OverflowError, TypeError):  # which Python has no value for
            return str(value)
    text = repr(value)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"


def first_unfit(given: Given, convert: Convert) -> tuple[int, Unfit | None]:
    """The place of the first value that `convert` refuses, and its error if it is asked alone."""
    low, high, error = 0, len(given), None
    while high - low > 1:
        middle = (low + high) // 2
        try:
            convert(given[low:middle])
            low = middle
        except Unfit:
            high = middle
    try:
        convert(given[low:high])
    except Unfit as found:
        error = found
    return low, error


def takes(kind: DataType) -> str:
    """The values that a type takes, in words."""
    match kind:
        case Array(element):
            null = "" if element.nullable else " without NULL"
            return f"a list{null}"
        case Map():
            return "a dictionary, or a list of pairs, with each key once and none NULL"
        case Row(fields):
            return f"a dictionary with the fields {', '.join(field.name for field in fields)}"
        case Atomic():
            return kind.spelled(kind.facts.takes)


def matched(names: Iterable[str], given: str) -> str | None:
    """The one of the names that is meant: the same one, else the only one in other letter case."""
    known = list(names)
    if given in known:
        return given
    alike = [name for name in known if name.lower() == str(given).lower()]
    return alike[0] if len(alike) == 1 else None
