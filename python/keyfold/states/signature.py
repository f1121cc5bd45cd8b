"""The signature of a state: the function and the types of its arguments, `max_by(INT,INT)`.

A column declares it, where an argument may be NOT NULL; its canonical text is in each state's
header, behind two bytes of magic, a version and its length, perhaps with constants behind it.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from keyfold.errors import KeyfoldError, TableError
from keyfold.states.declare import StateFunction
from keyfold.states.functions import find, functions
from keyfold.types.logical import DataType, describe
from keyfold.types.sql import from_sql, split

MAGIC, VERSION = b"KS", 1
FIXED = 5  # magic, version, length
_TEXT = re.compile(r"^\s*(\w+)\s*\((.*)\)\s*$", re.DOTALL)
_NULLABILITY = re.compile(r"\s+(NOT\s+)?NULL\s*$", re.IGNORECASE)


@dataclass(frozen=True)
class Signature:
    """A function, the types of its arguments, and which of them must not be NULL."""

    function: StateFunction
    types: tuple[DataType, ...]
    required: tuple[bool, ...] = ()

    @property
    def text(self) -> str:
        """The canonical text, without NOT NULL, which two signatures of equal states share."""
        return f"{self.function.name}({','.join(map(describe, self.types))})"

    @property
    def declared(self) -> str:
        """The text with NOT NULL, as a column keeps it."""
        flags = self.required or (False,) * len(self.types)
        parts = [
            describe(kind) + (" NOT NULL" if flag else "")
            for kind, flag in zip(self.types, flags, strict=True)
        ]
        return f"{self.function.name}({', '.join(parts)})"

    @property
    def fields(self) -> Sequence[DataType]:
        """The types of the fields of its states."""
        return self.function.fields(self.types)

    def header(self, constants: str = "") -> bytes:
        """The first bytes of its states."""
        text = (self.text + constants).encode()
        return MAGIC + bytes([VERSION]) + len(text).to_bytes(2, "little") + text


def bind(name: str, types: Sequence[DataType]) -> Signature:
    """The signature of a call. Raises TableError if no such function has states, or not of these
    types.
    """
    function = find(name)
    if function is None:
        known = ", ".join(sorted({one.name for one in functions().values()}))
        raise TableError(f"function {name} has no states; those that have are {known}")
    count = len(types)
    if function.constants and count > 1:
        types = types[: count - len(function.constants)]
    try:
        return Signature(function, tuple(function.takes(types)))
    except ValueError as error:
        raise TableError(f"{name}_state {error}") from None


def parse(text: str) -> Signature:
    """The signature that a column declares: `max_by(int NOT NULL, int)`. Raises TableError if it
    is not one.
    """
    match = _TEXT.match(text)
    if match is None:
        raise TableError(f"expected a function and types, as max_by(int, int), found '{text}'")
    parts = split(match[2])
    bare = [_NULLABILITY.sub("", f" {part}").strip() for part in parts]
    required = [bool(re.search(r"\bNOT\s+NULL\s*$", part, re.IGNORECASE)) for part in parts]
    try:
        found = bind(match[1], [from_sql(part) for part in bare])
    except TableError:
        raise
    except KeyfoldError as error:
        raise TableError(f"the state {text}: {error}") from None
    flags = tuple(required[: len(found.types)])
    return Signature(found.function, found.types, flags)


def constants_of(function: StateFunction, given: Sequence[str | None]) -> Mapping[str, str]:
    """The constant arguments of a call. Raises TableError if one is missing."""
    found = {}
    for place, (name, default) in enumerate(function.constants):
        text = given[place] if place < len(given) else default
        if text is None:
            raise TableError(f"{function.name}_state needs its constant argument {name}")
        found[name] = text
    return found


def text_of(state: bytes) -> str | None:
    """The signature and constants in a state's header; None of bytes that are not a state."""
    if state[:2] != MAGIC or len(state) < FIXED or state[2] != VERSION:
        return None
    end = FIXED + int.from_bytes(state[3:FIXED], "little")
    return state[FIXED:end].decode(errors="replace") if end <= len(state) else None
