"""The declaration of a merge engine, its input and its result.

An engine is one file with one `Engine`. Its input is a `MergeStep`: all rows of some keys, ordered
and grouped. It gives one row per group. Groups of one row never reach it: such a row stays as it
is, with its own kind.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from keyfold.aggregates.declaration import Aggregate
from keyfold.kernels.buffers import Rows
from keyfold.kernels.folds.running import Numbers
from keyfold.kernels.groups.by_key import groups_of_rows
from keyfold.lazy import cached_property
from keyfold.merge.column_results import Columns, keep
from keyfold.merge.kinds import Kinds, is_retract
from keyfold.merge.marks.mark_columns import Marks
from keyfold.merge.sequence_groups import SequenceGroup
from keyfold.options.declared import TableOptions
from keyfold.options.engines import Traits
from keyfold.wire.layout import TableLayout


@dataclass(frozen=True)
class MergeStep:
    """Rows of some keys: group g is rows order[starts[g]:starts[g + 1]] of the columns, in merge
    order. `marks` tell which columns a row names and replaces, None if all rows are ordinary.
    `merge.marks.mark_effects.column_ops` applies them. `passes` flags rows that are wanted if they
    win. If it `is_part`, older records of the keys may be elsewhere.
    """

    columns: Columns
    kinds: Kinds | None
    order: Rows
    starts: Rows
    marks: Marks | None = None
    passes: npt.NDArray[np.bool_] | None = None
    is_part: bool = False

    @property
    def last(self) -> Rows:
        """The last row of each group."""
        return self.order[self.starts[1:] - 1]

    @cached_property
    def numbers(self) -> Numbers | None:
        """The group of each row, which is behind all others for rows that are left out. None if the
        merge order of a group is not that of its rows.
        """
        return groups_of_rows(self.order, self.starts, self.columns.num_rows)


@dataclass(frozen=True)
class Folded:
    """One row per group: output columns in order, kinds (None = all +I) and the last merged row of
    each. Engines leave `marks` alone.
    """

    arrays: list[pa.Array]
    kinds: Kinds | None
    last: Rows
    marks: Marks | None = None


def without(step: MergeStep, flags: npt.NDArray[np.bool_]) -> MergeStep:
    """The step without the flagged rows (by row number) of keys that have another record. Keys
    without any row left are left out.
    """
    sizes = np.diff(step.starts)
    stays = ~flags[step.order] | np.repeat(sizes == 1, sizes)
    return step if stays.all() else narrowed(step, stays)


def narrowed(step: MergeStep, stays: npt.NDArray[np.bool_]) -> MergeStep:
    """The step with only the flagged of its ordered rows; keys without a row are left out."""
    left = np.add.reduceat(stays.astype(np.int64), step.starts[:-1])
    starts = np.concatenate(([0], np.cumsum(left[left > 0])))
    return replace(step, order=step.order[stays], starts=starts.astype(np.int64))


def picked(step: MergeStep, output: Sequence[str], picks: Rows, drops_deletes: bool) -> Folded:
    """Picked whole rows of a step that are wanted, and their kinds, without -U and -D if these are
    dropped.
    """
    if step.passes is not None:
        picks = picks[step.passes[picks]]
    kinds = None if step.kinds is None else step.kinds[picks]
    if drops_deletes and kinds is not None:
        is_added = ~is_retract(kinds)
        picks, kinds = picks[is_added], kinds[is_added]
    return Folded(step.columns.taken(output, picks), kinds, picks)


def shown(folded: Folded) -> Folded:
    """The part of a fold that a reader sees: no -U and no -D."""
    if folded.kinds is None or not is_retract(folded.kinds).any():
        return folded
    return filtered(folded, ~is_retract(folded.kinds))


def filtered(folded: Folded, flags: npt.NDArray[np.bool_]) -> Folded:
    """The flagged rows of a fold."""
    arrays = [keep(array, flags) for array in folded.arrays]
    kinds = None if folded.kinds is None else folded.kinds[flags]
    marks = None if folded.marks is None else folded.marks.take(flags)
    return Folded(arrays, kinds, folded.last[flags], marks)


Fold = Callable[[MergeStep, bool], Folded]
Touched = Callable[[TableLayout, TableOptions, MergeStep], Mapping[str, npt.NDArray[np.bool_]]]
PartMarks = Callable[
    [TableLayout, TableOptions, MergeStep, Folded, Mapping[str, pa.Array], Marks], Marks
]


def _no_columns(layout: TableLayout, options: TableOptions, output: Sequence[str]) -> Iterable[str]:
    return ()


def _any_kinds(layout: TableLayout, options: TableOptions, kinds: Kinds) -> None:
    pass


def _never(layout: TableLayout, options: TableOptions, column: str) -> bool:
    return False


@dataclass(frozen=True, eq=False)
class Engine(Traits):
    """A merge engine: its traits, and its way to merge.

    `check` refuses a layout at CREATE. `prepare` makes the fold of a step for some output columns;
    the fold's second argument tells whether results of kind -U or -D are left out. `definition`
    folds the rows of one key, (kind, values by column) in merge order, to (kind, values) or None,
    slowly and obviously. `needs` names the columns that the fold of some output columns looks at
    beside key, output and `sequence.field`. `check_kinds` refuses kinds of incoming rows that the
    engine can't ever fold, even if a row is the only one of its key.
    `deletes_remove`: a -D of the table removes the row. `deletes_clear`: nothing of the -D itself
    stays either, so that later records start anew. `passes_nulls`: adding a NULL never changes the
    column's result, so a column that a partial write does not name needs no mark. `retains_nulls`:
    a NULL that comes first stays. `keeps_last`: the last record to arrive is the result, whatever
    came before. `sequences` are the groups of columns with a sequence of their own. The fields of a
    group order records together: a record that names one has NULL in those it does not name.
    `touched` tells, of columns that a row may name without effect as it is late there, whether the
    records of each group of a step with marks had any.
    `part_marks` gives marks to rows that retractions leave while older records are elsewhere, or
    while it matters that a column was not named; its mapping has the result's columns.
    `keeps_deletes`: -U and -D matter for records that come later, so that they stay for a time in
    the oldest files. `retractions_wait`: no marks tell what a retraction does, which then merges
    with others only together with all that is older.
    `begins_jobs`: a retraction that is a job's first record of a key begins a row with its values,
    even if a row is stored.
    `summary`, `nulls` and `retraction` are texts of the documentation's table.
    """

    check: Callable[[TableLayout, TableOptions], None]
    prepare: Callable[[TableLayout, TableOptions, Sequence[str]], Fold]
    definition: Callable[..., tuple[int, dict[str, Any]] | None]
    needs: Callable[[TableLayout, TableOptions, Sequence[str]], Iterable[str]] = _no_columns
    check_kinds: Callable[[TableLayout, TableOptions, Kinds], None] = _any_kinds
    deletes_remove: Callable[[TableOptions], bool] = lambda options: False
    deletes_clear: Callable[[TableOptions], bool] = lambda options: False
    passes_nulls: Callable[[TableLayout, TableOptions, str], bool] = _never
    retains_nulls: Callable[[TableLayout, TableOptions, str], bool] = _never
    keeps_last: Callable[[TableOptions], bool] = lambda options: False
    sequences: Callable[[TableOptions], Sequence[SequenceGroup]] = lambda options: ()
    touched: Touched = lambda *_: {}
    part_marks: PartMarks | None = None
    begins_jobs: Callable[[TableOptions], bool] = lambda options: False
    keeps_deletes: Callable[[TableOptions], bool] = lambda options: False
    retractions_wait: Callable[[TableLayout, TableOptions], bool] = lambda *_: False
    keeps_keys: bool = False
    own_aggregate: Callable[[TableLayout, TableOptions, str], Aggregate | None] = lambda *_: None
    summary: str = ""
    nulls: str = ""
    retraction: str = ""
