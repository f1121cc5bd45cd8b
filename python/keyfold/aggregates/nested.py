"""What the aggregates over ARRAY<ROW> and MAP columns share: elements, options, results, truths."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import types

from keyfold.aggregates.declare import Accepts, BadRecord, Inputs, Ops, Parameter, Settings
from keyfold.kernels.buffers import Mask, Rows, pack, validity
from keyfold.kernels.codes import codes, ranks
from keyfold.kernels.ops import RETRACT, SKIP
from keyfold.options.values import names, one_of
from keyfold.types.logical import Array, DataType, Row

NO_LIMIT = int(np.iinfo(np.int64).max)
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
    "What a NULL in the nested key means: a key like others (`merge`, when not named), a row to "
    "drop (`ignore`), an error (`error`).",
)


@dataclass(frozen=True)
class Elements:
    """The flat elements of a list or map column: row r holds offsets[r] to offsets[r + 1]."""

    offsets: Rows
    valid: Mask
    ops: Ops
    order: Rows
    starts: Rows

    @property
    def rows(self) -> tuple[Ops, Rows, Rows, Rows, Mask]:
        """The arguments every kernel of `keyfold.kernels.entries` begins with."""
        return self.ops, self.order, self.starts, self.offsets, self.valid

    @property
    def results(self) -> tuple[Rows, Rows, Mask]:
        """Room for the elements that stay, the groups' bounds in them and the groups' validity."""
        groups = len(self.starts) - 1
        most = int(np.diff(self.offsets)[self.order].sum()) if len(self.order) else 0
        return (
            np.empty(most, dtype=np.int64),
            np.empty(groups + 1, dtype=np.int64),
            np.empty(groups, dtype=np.uint8),
        )


def elements_of(inputs: Inputs) -> Elements:
    """Where the elements of a list or map column lie in its children, which are taken whole."""
    offsets = inputs.column.offsets.to_numpy().astype(np.int64)
    return Elements(offsets, validity(inputs.column), inputs.ops, inputs.order, inputs.starts)


def table_of(kind: pa.DataType, bounds: Rows, out_valid: Mask, children: pa.Array) -> pa.Array:
    """A list or map column of this type, from its elements, their bounds and its validity."""
    buffers = [pack(out_valid), pa.py_buffer(bounds.astype(np.int32))]
    return pa.Array.from_buffers(kind, len(out_valid), buffers, children=[children])


@dataclass(frozen=True)
class NestedKey:
    """The key of nested rows, from the options of one column."""

    fields: tuple[str, ...]
    null_strategy: str

    def elements(self, inputs: Inputs, rows: pa.StructArray) -> tuple[Rows, int, Mask]:
        """Codes of the nested rows by their key, how many, and which of the rows are used.

        BadRecord where a NULL in a key is an error.
        """
        columns = [rows.field(name) for name in self.fields]
        found, count = codes(columns)
        used = validity(rows)
        if self.null_strategy == "merge" or not any(column.null_count for column in columns):
            return found, count, used
        whole = np.logical_and.reduce([validity(column) for column in columns])
        if self.null_strategy == "error":
            self._refuse(inputs, (used == 1) & ~whole)
        return found, count, (used & whole).astype(np.uint8)

    def _refuse(self, inputs: Inputs, broken: Any) -> None:
        sums = np.concatenate(([0], np.cumsum(broken)))
        offsets = inputs.column.offsets.to_numpy()
        per_row = sums[offsets[1:]] - sums[offsets[:-1]]
        counts = (inputs.ops != SKIP) & (inputs.ops != RETRACT) & (per_row[inputs.order] > 0)
        sizes = np.diff(inputs.starts)
        counts &= np.repeat(sizes > 1, sizes)
        if counts.any():
            group = int(np.searchsorted(inputs.starts, np.flatnonzero(counts)[0], side="right")) - 1
            raise BadRecord(group, NULL_KEYS)

    def of(self, row: dict[str, Any]) -> tuple[Any, ...] | None:
        """The key of one nested row in plain Python; None for a row to drop."""
        key = tuple(row[name] for name in self.fields)
        if None not in key or self.null_strategy == "merge":
            return key
        if self.null_strategy == "error":
            raise ValueError(NULL_KEYS)
        return None


def nested_key(settings: Settings) -> NestedKey | None:
    """The key the options name, None without one."""
    fields = settings[NESTED_KEY.name]
    if fields is None:
        return None
    return NestedKey(fields, settings[NULL_STRATEGY.name] or "merge")


def check_fields(kind: DataType, parameter: str, found: Sequence[str]) -> None:
    """ValueError where an option names a field that the ARRAY<ROW> column lacks."""
    assert isinstance(kind, Array)
    assert isinstance(kind.element, Row)
    known = [field.name for field in kind.element.fields]
    for name in found:
        if name not in known:
            raise ValueError(
                f"{parameter} names the field {name}, the nested row has {', '.join(known)}"
            )


def order_of(rows: pa.StructArray, fields: Sequence[str]) -> Rows:
    """Numbers that order nested rows by these fields, NULL first; all one without fields."""
    if not fields:
        return np.zeros(len(rows), dtype=np.int64)
    return ranks([rows.field(name) for name in fields])
