"""The columns whose functions Spark may leave to a scan, and by which it may group there."""

from __future__ import annotations

from keyfold.predicates.condition import is_exact
from keyfold.types.literals import FLOATING
from keyfold.types.logical import Atomic
from keyfold.types.type_table import INTEGERS
from keyfold.wire.layout import TableLayout

_SMALL = [name for name, bits in INTEGERS.items() if bits < 64]
# An average of more digits has a sum that may overflow where Spark's own would not.
_MOST_DIGITS = 28


def _atomic(layout: TableLayout) -> list[tuple[str, Atomic]]:
    return [(c.name, c.type) for c in layout.columns if isinstance(c.type, Atomic)]


def groups(layout: TableLayout) -> list[str]:
    """The columns to group by, and to take MIN and MAX of: any but CHAR, which Spark pads."""
    return [
        name for name, kind in _atomic(layout) if is_exact(layout, name) or kind.name in FLOATING
    ]


def sums(layout: TableLayout) -> dict[str, str]:
    """The columns to sum, with the types in which Spark goes on adding."""
    return {name: found for name, kind in _atomic(layout) if (found := _sum(kind)) is not None}


def _sum(kind: Atomic) -> str | None:
    if kind.name == "DECIMAL":
        return f"decimal({kind.length},{kind.scale or 0})"
    if kind.name in FLOATING:
        return "double"
    return "bigint" if kind.name in INTEGERS else None


def averages(layout: TableLayout) -> list[str]:
    """The columns whose average is their sum by their count. That of BIGINT is not: Spark adds in
    DOUBLE for it, which does not overflow.
    """
    return [
        name
        for name, kind in _atomic(layout)
        if kind.name in (*_SMALL, *FLOATING)
        or (kind.name == "DECIMAL" and (kind.length or 0) <= _MOST_DIGITS)
    ]
