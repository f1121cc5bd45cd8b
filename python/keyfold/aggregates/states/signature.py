"""The signature of a state: the function and the types of its arguments, `max_by(INT,INT)`, and the
options of a fold, `collect(ARRAY<INT>,distinct => 'true')`.

A column declares it, where an argument may be NOT NULL; its canonical text is in each state's
header, behind two bytes of magic, a version and its length, perhaps with constants behind it.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from keyfold.aggregates.states.state import StateFunction
from keyfold.aggregates.states.state_functions import functions
from keyfold.errors import KeyfoldError, TableError
from keyfold.types.logical import DataType, describe
from keyfold.types.sql import from_sql, split

Find = Callable[[str], StateFunction | None]

MAGIC, VERSION = b"KS", 1
FIXED = 5  # magic, version, length
_TEXT = re.compile(r"^\s*(\w+)\s*\((.*)\)\s*$", re.DOTALL)
_OPTION = re.compile(r"^(\w+)\s*=>\s*'([^']*)'$")
_NULLABILITY = re.compile(r"\s+(NOT\s+)?NULL\s*$", re.IGNORECASE)


@dataclass(frozen=True)
class Signature:
    """A function, the types of its arguments, which of them must not be NULL, and its options by
    name, as texts.
    """

    function: StateFunction
    types: tuple[DataType, ...]
    required: tuple[bool, ...] = ()
    options: tuple[tuple[str, str], ...] = ()

    @property
    def text(self) -> str:
        """The canonical text, without NOT NULL, which two signatures of equal states share."""
        parts = [*map(describe, self.types), *self._options]
        return f"{self.function.name}({','.join(parts)})"

    @property
    def declared(self) -> str:
        """The text with NOT NULL, as a column keeps it."""
        flags = self.required or (False,) * len(self.types)
        parts = [
            describe(kind) + (" NOT NULL" if flag else "")
            for kind, flag in zip(self.types, flags, strict=True)
        ]
        return f"{self.function.name}({', '.join([*parts, *self._options])})"

    @property
    def _options(self) -> list[str]:
        return [f"{name} => '{text}'" for name, text in self.options]

    @property
    def fields(self) -> Sequence[DataType]:
        """The types of the fields of its states."""
        return self.function.fields(self.types)

    def header(self, constants: str = "") -> bytes:
        """The first bytes of its states."""
        return header_of(self.text + constants)


def bind(name: str, types: Sequence[DataType], find: Find) -> Signature:
    """The signature of a call. Raises TableError if no such function has states, or not of these
    types.
    """
    function = find(name)
    if function is None:
        known = ", ".join(sorted({one.name for one in functions().values()}))
        raise TableError(
            f"function {name} has no states; those that have are the aggregates of keyfold and of "
            f"your own, and {known}"
        )
    count = len(types)
    if function.constants and count > 1:
        types = types[: count - len(function.constants)]
    try:
        return Signature(function, tuple(function.takes(types)))
    except ValueError as error:
        raise TableError(f"{name}_state {error}") from None


def parse(text: str, find: Find) -> Signature:
    """The signature that a column declares: `max_by(int NOT NULL, int)`. Raises TableError if it
    is not one.
    """
    match = _TEXT.match(text)
    if match is None:
        raise TableError(f"expected a function and types, as max_by(int, int), found '{text}'")
    parts = split(match[2])
    options = [option for part in parts if (option := _OPTION.match(part))]
    kinds = [part for part in parts if not _OPTION.match(part)]
    bare = [_NULLABILITY.sub("", f" {part}").strip() for part in kinds]
    required = [bool(re.search(r"\bNOT\s+NULL\s*$", part, re.IGNORECASE)) for part in kinds]
    try:
        found = bind(match[1], [from_sql(part) for part in bare], find)
    except TableError:
        raise
    except KeyfoldError as error:
        raise TableError(f"the state {text}: {error}") from None
    flags = tuple(required[: len(found.types)])
    named = tuple((option[1], option[2]) for option in options)
    return Signature(found.function, found.types, flags, named)


def constants_of(function: StateFunction, given: Sequence[str | None]) -> Mapping[str, str]:
    """The constant arguments of a call. Raises TableError if one is missing, or is a percentage
    that there is not.
    """
    found = {}
    for place, (name, default) in enumerate(function.constants):
        text = given[place] if place < len(given) else default
        if text is None:
            raise TableError(f"{function.name}_state needs its constant argument {name}")
        if name == "p" and not _is_part(text):
            raise TableError(
                f"{function.name}_state: its constant argument p is {text}; "
                "expected a number from 0 to 1"
            )
        found[name] = text
    return found


def _is_part(text: str) -> bool:
    try:
        return 0 <= float(text) <= 1
    except ValueError:
        return False


def header_of(text: str) -> bytes:
    """The first bytes of states, by their signature with constants."""
    encoded = text.encode()
    return MAGIC + bytes([VERSION]) + len(encoded).to_bytes(2, "little") + encoded


def text_of(state: bytes) -> str | None:
    """The signature and constants in a state's header; None of bytes that are not a state."""
    if state[:2] != MAGIC or len(state) < FIXED or state[2] != VERSION:
        return None
    end = FIXED + int.from_bytes(state[3:FIXED], "little")
    return state[FIXED:end].decode(errors="replace") if end <= len(state) else None


def described(state: bytes) -> str:
    """The words of an error for a value that should be a state."""
    text = text_of(state)
    if text is not None:
        return f"a state of {text}"
    if state[:2] == MAGIC and len(state) >= FIXED and state[2] != VERSION:
        return f"a state of version {state[2]}, of which version {VERSION} is known here"
    return f"bytes that are not a state: {state[:16]!r}"
