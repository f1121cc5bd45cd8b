"""What an aggregate declares: its name, the types it takes, its kind of column result and its
definition.

Every kind is given one `Inputs` and answers for each group. `definition` is the slow obvious truth
in plain Python: it folds the records of one key, (op, value) in merge order, to a value.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import types

from keyfold.kernels.buffers import Rows

# What a record does to the accumulator: nothing, add its value, take it back, start again from it.
SKIP, ADD, RETRACT, RESET = 0, 1, -1, 2

Ops = npt.NDArray[np.int8]
Records = Sequence[tuple[int, Any]]


@dataclass(frozen=True)
class Inputs:
    """One column of some keys: group g is rows order[starts[g]:starts[g + 1]], ops[i] belongs to
    order[i].
    """

    column: pa.Array
    ops: Ops
    order: Rows
    starts: Rows

    @property
    def groups(self) -> int:
        """The number of groups."""
        return len(self.starts) - 1


@dataclass(frozen=True)
class Accepts:
    """A class of Arrow types, with the words an error names it by."""

    words: str
    test: Callable[[pa.DataType], bool]


ANY = Accepts("any type", lambda kind: True)
NUMERIC = Accepts(
    "'NumericType'",
    lambda kind: types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind),
)
COMPARABLE = Accepts("comparable", lambda kind: not types.is_nested(kind))
BOOLEAN = Accepts("'BooleanType'", types.is_boolean)


@dataclass(frozen=True)
class _Declaration:
    name: str
    accepts: Accepts
    definition: Callable[[Records], Any]
    is_retractable: bool = False
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True)
class Pick(_Declaration):
    """The value is that of one row: `pick` gives a row number for each group, -1 for null."""

    pick: Callable[[Inputs], Rows] = lambda inputs: inputs.order


@dataclass(frozen=True)
class FoldResult:
    """A column with one value a group; `overflowed` is the first group whose value has no place in
    the type, or -1.
    """

    array: pa.Array
    overflowed: int = -1


@dataclass(frozen=True)
class Fold(_Declaration):
    """The value is computed from fixed-width numbers: `fold` gives the column."""

    fold: Callable[[Inputs], FoldResult] = lambda inputs: FoldResult(inputs.column)


@dataclass(frozen=True)
class Gather(_Declaration):
    """The value is made of several rows: `gather` gives row numbers and the groups' offsets into
    them.

    `finish` gets the gathered values, taken once, those offsets and the column's type, and gives
    the column: a list, a text.
    """

    gather: Callable[[Inputs], tuple[Rows, Rows]] = lambda inputs: (inputs.order, inputs.starts)
    finish: Callable[[pa.Array, Rows, pa.DataType], pa.Array] = lambda taken, offsets, kind: taken


@dataclass(frozen=True)
class Combine(_Declaration):
    """The value is an opaque state: `combine` folds the records of one key; the one slow kind."""

    combine: Callable[[Records], bytes | None] = lambda records: None


Aggregate = Pick | Fold | Gather | Combine
