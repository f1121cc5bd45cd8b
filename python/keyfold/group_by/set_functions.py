"""The aggregates over bitmaps, sketches and quantile states that queries call: `bitmap_union` and
its kin. They have no place in a table: a column there has a function that unites states.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from keyfold.errors import FunctionError, NotSupportedError
from keyfold.group_by.folds import call_of, folding
from keyfold.types.logical import describe
from keyfold.types.spark import from_spark

Types = Sequence[Any]
_BIGINTS = ("byte", "short", "integer", "long", "void")  # cast to BIGINT without loss
_BINARY, _LONG, _LARGEINT = "binary", "long", "decimal(38,0)"


def _bytes(types: Types) -> Types | None:
    return [_BINARY] if len(types) == 1 else None


def _number(types: Types) -> Types | None:
    """A whole number; those that a bitmap can't hold are skipped, as in Doris."""
    (one, *others) = types
    if others or not isinstance(one, str):
        return None
    is_whole = one.startswith("decimal(") and one.endswith(",0)")
    return [_LONG] if one in _BIGINTS else [_LARGEINT] if is_whole else None


def _of_values(types: Types) -> Types | None:
    """A bitmap, a column, and values that it is compared with."""
    if len(types) < 3 or not isinstance(types[1], str) or types[1] == _BINARY:
        return None
    return [_BINARY, *[types[1]] * (len(types) - 1)]


def _shown(kind: Any) -> str:
    """The name of a type, also of one that no table has."""
    try:
        return describe(from_spark(kind)).upper()
    except NotSupportedError:
        return str(kind["type"] if isinstance(kind, dict) else kind).upper()


@dataclass(frozen=True)
class SetFunction:
    """One of these: its name and aliases, its arguments, the kind of its result, what `call_of`
    knows its argument as, what it gives, and the types in which it takes arguments of some types.
    """

    names: tuple[str, ...]
    arguments: str
    result: str
    of: str
    summary: str
    nulls: str
    takes: Callable[[Types], Types | None] = _bytes

    @property
    def name(self) -> str:
        """The first of its names."""
        return self.names[0]

    @property
    def counts(self) -> bool:
        """Whether its result is a number, else a state."""
        return self.result == "BIGINT"

    def described(self) -> dict[str, Any]:
        """The function as the JVM knows it before its arguments."""
        return {
            "name": self.name,
            "names": list(self.names),
            "is_of_sets": True,
            "lines": [
                f"Usage: {self.name}{self.arguments} -> {self.result}",
                "Kind: aggregate",
                f"Gives: {self.summary}",
                f"NULL: {self.nulls}",
                f"Names: {', '.join(self.names)}",
            ],
        }

    def bound(self, texts: Sequence[str]) -> dict[str, Any]:
        """A call with arguments of these types (Spark's JSON texts): see `bind_aggregate`. Raises
        FunctionError if it does not take them.
        """
        types = [json.loads(text) for text in texts]
        taken = self.takes(types) if types else None
        if taken is None:
            found = ", ".join(map(_shown, types))
            raise FunctionError(f"function {self.name} takes {self.arguments}, found ({found})")
        fold = {"name": self.name, "of": self.of}
        call = fold | ({"values": len(types) - 2} if self.takes is _of_values else {})
        nothing = folding(call_of(call), 0).values(0, 1)[0].as_py()
        return {
            "fold": call,
            "name": self.name,
            "result": json.dumps(_LONG if self.counts else _BINARY),
            "arguments": [json.dumps(kind) for kind in taken],
            "empty": str(nothing) if self.counts else nothing.hex(),
            "in_scans": False,
            "is_of_sets": True,
        }


def _of_bitmaps(
    names: str,
    of: str,
    summary: str,
    arguments: str = "(bitmap)",
    takes: Callable[[Types], Types | None] = _bytes,
    counts: bool = False,
) -> SetFunction:
    nulls = "rows of a NULL are skipped" if takes is _of_values else "skipped"
    nothing = "0" if counts else "an empty bitmap"
    result = "BIGINT" if counts else "bitmap"
    said = f"{nulls}; {nothing} over nothing"
    return SetFunction(tuple(names.split()), arguments, result, of, summary, said, takes)


_WHOLE, _VALUES = "(whole number)", "(bitmap, column, value, …)"
_UNION, _SHARED = "bitmap_union_count", "intersect_count"
_ALL = (
    _of_bitmaps("bitmap_union rb_or_agg", "bitmaps", "the union of a group's bitmaps"),
    _of_bitmaps(
        f"{_UNION} orthogonal_{_UNION}",
        "bitmaps",
        "how many numbers the union of a group's bitmaps holds",
        counts=True,
    ),
    _of_bitmaps("bitmap_intersect rb_and_agg", "algebra", "what all of a group's bitmaps share"),
    _of_bitmaps(
        "group_bitmap_xor rb_xor_agg",
        "algebra",
        "the numbers in an odd number of a group's bitmaps",
    ),
    _of_bitmaps(
        "bitmap_agg rb_build_agg",
        "numbers",
        "the bitmap of a group's numbers from 0 to 2^64-1",
        _WHOLE,
        _number,
    ),
    _of_bitmaps(
        "bitmap_union_int",
        "numbers",
        "how many different numbers from 0 to 2^64-1 a group has",
        _WHOLE,
        _number,
        counts=True,
    ),
    _of_bitmaps(
        f"{_SHARED} orthogonal_bitmap_{_SHARED}",
        "shared",
        "how many numbers the rows of each value of the column share",
        _VALUES,
        _of_values,
        counts=True,
    ),
    _of_bitmaps(
        "orthogonal_bitmap_intersect",
        "shared",
        "the numbers that the rows of each value of the column share",
        _VALUES,
        _of_values,
    ),
    SetFunction(
        ("hll_union", "hll_raw_agg"),
        "(HLL)",
        "HLL",
        "sketches",
        "the union of a group's sketches",
        "skipped; an empty HLL over nothing",
    ),
    SetFunction(
        ("hll_union_agg",),
        "(HLL)",
        "BIGINT",
        "sketches",
        "about how many different values a group's sketches have seen",
        "skipped; 0 over nothing",
    ),
    SetFunction(
        ("quantile_union", "percentile_union"),
        "(quantile state)",
        "quantile state",
        "quantiles",
        "the state of all numbers of a group's states",
        "skipped; an empty state over nothing",
    ),
)
SET_FUNCTIONS = {name: one for one in _ALL for name in one.names}
