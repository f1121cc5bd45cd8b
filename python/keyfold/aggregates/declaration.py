"""The declaration of an aggregate: its name, the types it takes, its kind of column result and its
definition.

Both kinds are given one `Inputs` and have a result for each group. `definition` is the slow,
obvious rule in plain Python: it folds the records of one key, (op, value) in merge order, to a
value.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import types

from keyfold.aggregates import group_totals
from keyfold.kernels.array_tuples import Groups
from keyfold.kernels.buffers import Rows
from keyfold.kernels.folds.running import Numbers
from keyfold.types.logical import DataType

Ops = npt.NDArray[np.int8]
Records = Sequence[tuple[int, Any]]
Settings = Mapping[str, Any]


@dataclass(frozen=True)
class Inputs:
    """One column of some keys. Group g is rows order[starts[g]:starts[g + 1]], and ops[i] belongs
    to order[i]. `number` may give the group of each row, if every row is added, and those of a
    group in the order of their places: some functions are faster then.
    """

    column: pa.Array
    ops: Ops
    order: Rows
    starts: Rows
    number: Callable[[], Numbers | None] = lambda: None

    @property
    def groups(self) -> int:
        """The number of groups."""
        return len(self.starts) - 1

    @property
    def records(self) -> Groups:
        """The groups as kernels take them."""
        return Groups(self.ops, self.order, self.starts)


@dataclass(frozen=True)
class Accepts:
    """A class of Arrow types, with the words by which an error names it."""

    words: str
    test: Callable[[pa.DataType], bool]


ANY = Accepts("any type", lambda kind: True)
NUMERIC = Accepts(
    "'NumericType'",
    lambda kind: types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind),
)
COMPARABLE = Accepts("comparable", lambda kind: not types.is_nested(kind))
BOOLEAN = Accepts("'BooleanType'", types.is_boolean)


class BadRecord(Exception):
    """An aggregate can't fold a record of this group. The message ends the sentence "table t,
    column c, key (k = 1): …".
    """

    def __init__(self, group: int, message: str) -> None:
        super().__init__(message)
        self.group = group


@dataclass(frozen=True)
class Parameter:
    """An option `fields.<column>.<name>` of an aggregate. `parse` raises ValueError with what it
    expected. A default of None parses to None. With `names_fields` the value is a list of fields
    inside the column: renaming a field renames it there too.
    """

    name: str
    parse: Callable[[str], Any]
    default: str | None
    doc: str
    names_fields: bool = False


@dataclass(frozen=True)
class _Declaration:
    """The properties that every aggregate declares.

    `passes_nulls` means that adding a NULL never changes a result: rows of a partial write need no
    mark for such a column that they don't name. `retains_null` means that a NULL that is added
    first stays.
    `retracts_alone` means that a retraction leaves the same whether it meets what it takes back or
    folds with later records before: its result is then added, or, if it is NULL though a value was
    taken back, replaces.
    `aliases` are other systems' spellings, in any letter case, with `-` or `_`. `bind` makes the
    aggregate of one column from its settings, by parameter name, and the column's type. `refuses`
    says in words why a type that `accepts` takes is wrong. `reversal` is the treatment of an older
    record of a partial-update sequence group. It is added in front of all others ("front"); behind
    them as if it came last ("append": all functions that don't depend on the order); or at its own
    place with the op REVERSED ("own": only the kernels of these see that op).
    `normalize` rewrites incoming columns before anything else sees them; with `normalizes_states`
    also those that overwrite stored values. `check` raises BadRecord about the first incoming value
    that is not what it folds; all values that are stored are checked.
    `running` makes the groups of a query, for types to whose groups each row can be added at once.
    `of_nothing` is the SQL text of the result of no records at all in a query, unless it is NULL.
    `result_of_any` is the type of its results in a query, if it takes values of any type there: by
    `normalize`.
    `over_records` is the function of SQL, if there is one, that has the same result over all
    records as over the values that this aggregate makes of them, if none is a retraction. With
    `unites` the aggregate itself is such a function: order and grouping of values don't matter.
    `summary`, `nulls` and `retraction` are the words of the documentation's table.
    """

    name: str
    accepts: Accepts
    definition: Callable[[Records], Any]
    is_retractable: bool = False
    retracts_alone: bool = False
    passes_nulls: bool = True
    retains_null: bool = False
    aliases: tuple[str, ...] = ()
    parameters: tuple[Parameter, ...] = ()
    bind: "Callable[[Settings, DataType], Aggregate] | None" = None
    refuses: Callable[[DataType], str | None] | None = None
    reversal: Literal["front", "append", "own"] = "front"
    is_stored_by_paimon: bool = True
    normalize: Callable[[pa.Array], pa.Array] | None = None
    normalizes_states: bool = True
    check: Callable[[pa.Array], None] | None = None
    running: "Callable[[pa.DataType], group_totals.GroupValues | None] | None" = None
    of_nothing: str | None = None
    result_of_any: DataType | None = None
    over_records: str | None = None
    unites: bool = False
    summary: str = ""
    nulls: str = ""
    retraction: str = ""


@dataclass(frozen=True)
class Pick(_Declaration):
    """The value is that of one row: `pick` returns a row number for each group, -1 for null.
    `goes_by_place`: of the values it looks only at which are NULL.
    """

    goes_by_place: bool = False
    pick: Callable[[Inputs], Rows] = lambda inputs: inputs.order


@dataclass(frozen=True)
class FoldResult:
    """A column with one value for each group. `overflowed` is the first group whose value does not
    fit the type, or -1.
    """

    array: pa.Array
    overflowed: int = -1


@dataclass(frozen=True)
class Fold(_Declaration):
    """The value is made of the records of a group: `fold` returns the column."""

    fold: Callable[[Inputs], FoldResult] = lambda inputs: FoldResult(inputs.column)


Aggregate = Pick | Fold
