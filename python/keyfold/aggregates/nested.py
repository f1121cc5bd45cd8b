"""Common to the aggregates over ARRAY<ROW> and MAP columns: elements, options, results, rules."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import types

from keyfold.aggregates.declaration import (
    Accepts,
    BadRecord,
    FoldResult,
    Inputs,
    Parameter,
    Settings,
)
from keyfold.kernels.array_tuples import Gathered
from keyfold.kernels.buffers import Mask, Rows, pack, validity
from keyfold.kernels.groups.codes import ranks
from keyfold.kernels.ops import RESET, RETRACT, SKIP
from keyfold.options.values import names, one_of
from keyfold.types.logical import Array, DataType, Row

NULL_KEYS = "Nested key contains null values. Primary key fields must not be null."
IS_TABLE = Accepts(
    "'Array<Row>'", lambda kind: types.is_list(kind) and types.is_struct(kind.value_type)
)
NESTED_KEY = Parameter(
    "nested-key",
    names,
    None,
    "Fields that make a nested row's key; without them rows are added.",
    names_fields=True,
)
NULL_STRATEGY = Parameter(
    "nested-key-null-strategy",
    one_of("merge", "ignore", "error"),
    None,
    "A NULL in the nested key is: a key like others (`merge`, if not set), a row to "
    "drop (`ignore`), an error (`error`).",
)


def column_of(inputs: Inputs, kept: Gathered) -> FoldResult:
    """A list or map column with the elements that stay."""
    column, end = inputs.column, kept.bounds[-1]
    return table_of(column.type, kept, column.values.take(pa.array(kept.elements[:end])))


def table_of(kind: pa.DataType, kept: Gathered, children: pa.Array) -> FoldResult:
    """A list or map column of this type with these elements."""
    buffers = [pack(kept.valid), pa.py_buffer(kept.bounds.astype(np.int32))]
    return FoldResult(pa.Array.from_buffers(kind, len(kept.valid), buffers, children=[children]))


@dataclass(frozen=True)
class NestedKey:
    """The key of nested rows, from the options of one column."""

    fields: tuple[str, ...]
    null_strategy: str

    def used(self, inputs: Inputs) -> Mask:
        """The nested rows that count. Raises BadRecord if a key has a NULL and that is an error."""
        rows = inputs.column.values
        columns = self.columns(inputs)
        used: Mask = validity(rows)
        if self.null_strategy == "merge" or not any(column.null_count for column in columns):
            return used
        whole = np.logical_and.reduce([validity(column) for column in columns])
        if self.null_strategy == "error":
            self._refuse(inputs, (used == 1) & ~whole)
        used = (used & whole).astype(np.uint8)
        return used

    def columns(self, inputs: Inputs) -> list[pa.Array]:
        """The key fields of the nested rows."""
        return [inputs.column.values.field(name) for name in self.fields]

    def _refuse(self, inputs: Inputs, broken: Any) -> None:
        sums = np.concatenate(([0], np.cumsum(broken)))
        offsets = inputs.column.offsets.to_numpy()
        per_row = sums[offsets[1:]] - sums[offsets[:-1]]
        counts = (per_row[inputs.order] > 0) & _is_applied(inputs)
        sizes = np.diff(inputs.starts)
        counts &= np.repeat(sizes > 1, sizes)
        if counts.any():
            group = int(np.searchsorted(inputs.starts, np.flatnonzero(counts)[0], side="right")) - 1
            raise BadRecord(group, NULL_KEYS)

    def of(self, row: dict[str, Any]) -> tuple[Any, ...] | None:
        """The key of one nested row in plain Python; None if the row is to be dropped."""
        key = tuple(row[name] for name in self.fields)
        if None not in key or self.null_strategy == "merge":
            return key
        if self.null_strategy == "error":
            raise ValueError(NULL_KEYS)
        return None


def _is_applied(inputs: Inputs) -> npt.NDArray[np.bool_]:
    """Whether each record changes its group: a retraction does if there is an array before it."""
    ops = inputs.ops
    begins = ops == RESET
    begins[inputs.starts[inputs.starts < len(ops)]] = True
    since = np.maximum.accumulate(np.where(begins, np.arange(len(ops)), 0))
    adds = (ops != SKIP) & (ops != RETRACT) & (validity(inputs.column)[inputs.order] == 1)
    before = np.concatenate(([0], np.cumsum(adds)))
    is_there = before[:-1] > before[since]
    applied: npt.NDArray[np.bool_] = (ops != SKIP) & ((ops != RETRACT) | is_there)
    return applied


def nested_key(settings: Settings) -> NestedKey | None:
    """The key that the options name; None if they name no key."""
    fields = settings[NESTED_KEY.name]
    if fields is None:
        return None
    return NestedKey(fields, settings[NULL_STRATEGY.name] or "merge")


def check_fields(kind: DataType, parameter: str, found: Sequence[str]) -> None:
    """Raises ValueError if an option names a field that the ARRAY<ROW> column lacks."""
    assert isinstance(kind, Array)
    assert isinstance(kind.element, Row)
    known = [field.name for field in kind.element.fields]
    for name in found:
        if name not in known:
            raise ValueError(
                f"{parameter} names the field {name}, the nested row has {', '.join(known)}"
            )


def order_of(rows: pa.StructArray, fields: Sequence[str]) -> Rows:
    """Numbers that order nested rows by these fields, NULL first. Without fields all are equal."""
    if not fields:
        return np.zeros(len(rows), dtype=np.int64)
    return ranks([rows.field(name) for name in fields])
