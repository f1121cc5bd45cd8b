"""The Bloom filters that a table asks for of its data files (Paimon's `file-index.bloom-filter`):
of which columns, and how large.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from keyfold.errors import NotSupportedError, TableError
from keyfold.options.declared import TableOptions
from keyfold.options.names import BLOOM
from keyfold.options.unparsed import INDEXED
from keyfold.options.values import given, whole
from keyfold.types.logical import Atomic, DataType, describe
from keyfold.types.type_table import BINARIES, INTEGERS, TEXTS
from keyfold.wire.layout import TableLayout

_ITEMS, _FPP = 1_000_000, 0.1
_MOST_BITS = 1 << 30  # of one filter, which is in memory while its file is written
_HASHED = {*INTEGERS, *TEXTS, *BINARIES, "FLOAT", "DOUBLE", "DATE", "TIME"}
_OTHER_INDEX = re.compile(r"^file-index\.(?!bloom-filter\.)[^.]+\..+$")


@dataclass(frozen=True)
class BloomFilterSize:
    """The size of a column's filter: for how many values, and which share of all
    others may seem to be in the file.
    """

    items: int
    fpp: float

    @property
    def bits(self) -> int:
        """The number of bits: whole bytes."""
        found = -self.items * math.log(self.fpp) / (math.log(2) * math.log(2))
        return int(found) + 8 - int(found) % 8

    @property
    def probes(self) -> int:
        """The number of bits that each value sets."""
        return max(1, math.floor(self.bits / self.items * math.log(2) + 0.5))


def bloom_filters(layout: TableLayout, options: TableOptions) -> dict[str, BloomFilterSize]:
    """The filters of new files by column. Columns that can't have one have none: another engine's
    table may name them. Raises TableError if the size of a filter can't be read.
    """
    named = options[INDEXED]
    return {name: _size(layout, name) for name in named if _lack(layout, name) is None}


def is_hashed(kind: DataType) -> bool:
    """Whether values of a type may be in a filter."""
    if not isinstance(kind, Atomic):
        return False
    return kind.name in _HASHED or kind.name.startswith("TIMESTAMP")


def check_bloom_filters(layout: TableLayout, options: TableOptions) -> None:
    """Raises TableError, or NotSupportedError, if a column that is named can't have a filter, or an
    option is about the filter of a column that has none.
    """
    where = f"option {INDEXED.name} of table {layout.name}"
    for name in options[INDEXED]:
        lack = _lack(layout, name)
        if lack is not None:
            error = NotSupportedError if "[" in name else TableError
            raise error(f"{where}: {lack}")
        if _size(layout, name).bits > _MOST_BITS:
            raise TableError(
                f"{where}: the filter of column {name} would take more than {_MOST_BITS >> 23} "
                f"MiB for each file; expected a lower file-index.bloom-filter.{name}.items, or a "
                "higher .fpp"
            )
    for option in layout.options:
        found = BLOOM.match(option)
        if found is not None and found[1] not in options[INDEXED]:
            raise TableError(
                f"option {option} of table {layout.name}: column {found[1]} is not declared in "
                f"{INDEXED.name}; name it there"
            )


def check_index_option(table: str, name: str, text: str) -> bool:
    """Whether this is an option of the filter of one column; raises TableError if its value does
    not parse, NotSupportedError if it is about an index of another kind.
    """
    if _OTHER_INDEX.match(name):
        raise NotSupportedError(
            f"option {name} of table {table} is known to Paimon but not supported here: indexes of "
            f"files are Bloom filters ({INDEXED.name})"
        )
    found = BLOOM.match(name)
    if found is not None:
        given(f"option {name} of table {table}", text, _PARSERS[found[2]])
    return found is not None


def _lack(layout: TableLayout, name: str) -> str | None:
    """The reason why a column can't have a filter, None if it can."""
    if not layout.has_column(name):
        if name.endswith("]") and "[" in name:
            return f"an index of the values of a map ({name}) is not supported; name whole columns"
        return f"column {name} can not be found in table schema"
    kind = layout.column(name).type
    if is_hashed(kind):
        return None
    return (
        f"column {name} is {describe(kind)}; expected whole numbers, FLOAT, DOUBLE, text, bytes, "
        "DATE or TIMESTAMP"
    )


def _size(layout: TableLayout, name: str) -> BloomFilterSize:
    start = f"{INDEXED.name.removesuffix('columns')}{name}."
    found: dict[str, float] = {}
    for last, parse in _PARSERS.items():
        text = layout.options.get(start + last)
        if text is not None:
            where = f"option {start}{last} of table {layout.name}"
            found[last] = given(where, text, parse)
    return BloomFilterSize(int(found.get("items", _ITEMS)), found.get("fpp", _FPP))


def _part(text: str) -> float:
    """A number between 0 and 1."""
    found = (
        float(text)
        if re.fullmatch(r"\s*(\d*\.?\d+|\d+\.)(e-?\d+)?\s*", text, re.IGNORECASE)
        else 0.0
    )
    if not 0 < found < 1:
        raise ValueError("a number between 0 and 1")
    return found


_PARSERS: Mapping[str, Callable[[str], float]] = {"items": whole(1), "fpp": _part}
