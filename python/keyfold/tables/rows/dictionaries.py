"""Dictionaries as rows: each has the columns that it names, in any letter case."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from keyfold.errors import TableError
from keyfold.tables.rows.conversions.unfit import matched, shown
from keyfold.wire.layout import TableLayout
from keyfold.write.targets import target_text

Row = Mapping[Any, Any]


@dataclass(frozen=True)
class Dictionaries:
    """The names of the dictionaries of one call, as columns of its table; `refused` makes errors of
    what is wrong.
    """

    layout: TableLayout
    refused: Callable[[str], TableError]
    _found: dict[tuple[Any, ...], tuple[str, ...]] = field(default_factory=dict)

    def names(self, row: Any) -> tuple[str, ...]:
        """The columns that a dictionary names; a name that is none of the table's stays as it is.
        Raises TableError if it is not a dictionary, or names a column twice.
        """
        if not isinstance(row, Mapping):
            raise self.refused(f"expected dictionaries, as the first row is, found {shown(row)}")
        given = tuple(row)
        found = self._found.get(given)
        if found is None:
            known, names = [column.name for column in self.layout.columns], map(str, given)
            found = self._found[given] = tuple(matched(known, n) or n for n in names)
            if repeated := [name for place, name in enumerate(found) if name in found[:place]]:
                raise self.refused(f"column {repeated[0]} comes twice in the row {shown(row)}")
        return found

    def union(self, rows: Sequence[Row]) -> tuple[str, ...]:
        """The columns that any of the dictionaries names, in the order in which they come."""
        return tuple(dict.fromkeys(name for row in rows for name in self.names(row)))

    def differ(self, rows: Sequence[Row]) -> bool:
        """Whether some dictionaries lack what others name."""
        return len({frozenset(self.names(row)) for row in rows}) > 1

    def renamed(self, row: Row) -> Row:
        """The dictionary by the names of columns."""
        names = self.names(row)
        return row if names == tuple(row) else dict(zip(names, row.values(), strict=True))

    def texts(self, rows: Sequence[Row], every: Sequence[str]) -> pa.Array:
        """The column `_NAMED` of the rows; NULL says that a row names `every` column."""
        named = [self.names(row) for row in rows]
        shapes = {names: place for place, names in enumerate(dict.fromkeys(named))}
        texts = [None if len(names) == len(every) else target_text(names) for names in shapes]
        places = np.array([shapes[names] for names in named], dtype=np.int64)
        return pa.array(texts, pa.utf8()).take(pa.array(places))
