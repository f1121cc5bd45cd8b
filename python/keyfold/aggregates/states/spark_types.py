"""The rules of types that Spark's aggregates share."""

from collections.abc import Callable

from keyfold.aggregates.states.state import Types
from keyfold.types.logical import Atomic, DataType, Map, describe, name_of
from keyfold.types.type_table import BINARIES, INTEGERS, Family, of_family

BIGINT, DOUBLE, BOOLEAN = Atomic("BIGINT"), Atomic("DOUBLE"), Atomic("BOOLEAN")
STRING, BINARY, VOID = Atomic("STRING"), Atomic("BYTES"), Atomic("VOID")
_NUMBERS = of_family(Family.INTEGER, Family.FLOATING, Family.DECIMAL)
_MOST_DIGITS = 38
_MORE_DIGITS = 10  # what a sum of decimals has more than its numbers


def is_number(kind: DataType) -> bool:
    return name_of(kind) in _NUMBERS


def sum_of(kind: DataType) -> DataType:
    """The type in which Spark adds up numbers of a type."""
    if isinstance(kind, Atomic) and kind.name == "DECIMAL":
        digits = min((kind.length or 0) + _MORE_DIGITS, _MOST_DIGITS)
        return Atomic("DECIMAL", True, digits, kind.scale)
    return BIGINT if name_of(kind) in INTEGERS else DOUBLE


def takes(
    count: int, words: str, cast: Callable[[DataType], DataType | None]
) -> Callable[[Types], Types]:
    """The types of `count` arguments; `cast` gives None for a type that is not taken."""

    def taken(types: Types) -> Types:
        found = [cast(kind) for kind in types]
        if len(types) != count or None in found:
            shown = ", ".join(map(describe, types))
            raise ValueError(f"takes {words}, found ({shown})")
        return [kind for kind in found if kind is not None]

    return taken


def number(kind: DataType) -> DataType | None:
    """A number as it is, NULL as a DOUBLE."""
    return DOUBLE if kind == VOID else kind if is_number(kind) else None


def double(kind: DataType) -> DataType | None:
    """A number as a DOUBLE."""
    return DOUBLE if kind == VOID or is_number(kind) else None


def whole(kind: DataType) -> DataType | None:
    """A whole number."""
    return BIGINT if kind == VOID else kind if name_of(kind) in INTEGERS else None


def boolean(kind: DataType) -> DataType | None:
    return BOOLEAN if kind in (VOID, BOOLEAN) else None


def binary(kind: DataType) -> DataType | None:
    return BINARY if kind == VOID or name_of(kind) in BINARIES else None


def any_type(kind: DataType) -> DataType | None:
    return STRING if kind == VOID or name_of(kind) in ("CHAR", "VARCHAR") else kind


def ordered(kind: DataType) -> DataType | None:
    """A value that can be compared: a MAP can't."""
    return None if isinstance(kind, Map) else any_type(kind)


def text(kind: DataType) -> DataType | None:
    """A text, or what Spark casts to one."""
    return STRING if isinstance(kind, Atomic) and name_of(kind) != "BYTES" else None
