"""Which rows of a table and of a source match: an equality join by Arrow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from keyfold.errors import NotSupportedError
from keyfold.tables.rows.keys import keys_of
from keyfold.tables.statements.expressions import AssignedValues

_Places = npt.NDArray[np.int64]
_OF_TARGET, _OF_SOURCE = "of target", "of source"
_NOT_MATCHED = (pa.types.is_nested, pa.types.is_floating)


class Matches:
    """The rows of a source by the columns that are equal; one with a NULL there matches nothing."""

    def __init__(
        self, values: AssignedValues, source: pa.RecordBatch, on: Mapping[str, str]
    ) -> None:
        self._layout, self._names = values.layout, [f"on {number}" for number in range(len(on))]
        self._on = tuple(on)
        columns = [values.layout.column(name) for name in on]
        for column in columns:
            if any(check(column.arrow_field.type) for check in _NOT_MATCHED):
                raise NotSupportedError(
                    f"{values.doing} table {values.layout.name}: on names column {column.name}, "
                    f"of type {column.arrow_field.type}; nested and floating values are not matched"
                )
        self._arrays = [
            values.converted(column, source.column(of), source)
            for column, of in zip(columns, on.values(), strict=True)
        ]
        places = pa.array(np.arange(source.num_rows, dtype=np.int64))
        self._rows = pa.table([*self._arrays, places], [*self._names, _OF_SOURCE])

    def keys(self) -> pa.RecordBatch | None:
        """The keys that the source may match, each once; None if no whole key is compared."""
        key = self._layout.primary_key
        if not key or not {*key} <= {*self._on}:
            return None
        columns = {name: self._arrays[self._on.index(name)] for name in key}
        distinct = pa.table(columns).drop_null().group_by(list(key)).aggregate([])
        return keys_of(self._layout, distinct.select(list(key)), "looking up in")

    def pairs(self, rows: pa.RecordBatch) -> tuple[_Places, _Places]:
        """The places of rows of the table and of the source that match, in the order of the former
        and then of the latter.
        """
        places = pa.array(np.arange(rows.num_rows, dtype=np.int64))
        columns: list[Any] = [rows.column(name) for name in self._on]
        target = pa.table([*columns, places], [*self._names, _OF_TARGET])
        found = target.join(self._rows, self._names, join_type="inner", use_threads=False)
        one, other = (found.column(name).to_numpy() for name in (_OF_TARGET, _OF_SOURCE))
        order = np.lexsort((other, one))
        return one[order], other[order]
