"""aggregation: every column folds by its own aggregate, and takes retractions back on its own.

Sequence fields take last_value, of retractions too: a row keeps its place in the order. Primary-key
columns take the newest record, other columns `fields.<column>.aggregate-function`, else
`fields.default-aggregate-function`, else last_non_null_value.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import numpy as np
import pyarrow as pa

from keyfold.aggregates.declaration import Aggregate, Inputs, Ops, Records
from keyfold.errors import TableError
from keyfold.kernels.folds.picked import indices, take
from keyfold.kernels.ops import ADD, DELETE, INSERT, RESET, RETRACT, RETRACTIONS, SKIP
from keyfold.merge import averages
from keyfold.merge.column_aggregate import aggregate_of, check_functions, refused_retract
from keyfold.merge.engine import Engine, Fold, Folded, MergeStep, shown
from keyfold.merge.engines.record_effects import Effects, effects_of
from keyfold.merge.marks.mark_columns import Marks
from keyfold.merge.marks.mark_effects import column_ops
from keyfold.merge.marks.retractions import removed_before, taken_back
from keyfold.merge.results import added_column, folded_column
from keyfold.options.declared import TableOptions
from keyfold.options.option import Option
from keyfold.options.values import boolean
from keyfold.wire.layout import TableLayout

REMOVES = Option(
    "aggregation.remove-record-on-delete",
    boolean,
    "false",
    "Whether a -D removes the row instead of being retracted from its columns.",
    changes="by ALTER",
)


@dataclass(frozen=True)
class _Column:
    """The fold of one output column; without an aggregate it has the newest record's value. A mean
    is made of two other columns, by their places.
    """

    name: str
    aggregate: Aggregate | None
    ignores_retract: bool
    is_sequence: bool
    parts: tuple[int, int] | None = None


@dataclass(frozen=True)
class _Aggregation:
    layout: TableLayout
    columns: tuple[_Column, ...]
    output: int  # columns, after which come those that only means need
    removes_on_delete: bool


def ignores_retract(options: TableOptions, name: str) -> bool:
    """Whether `fields.<name>.ignore-retract` is set."""
    return options.field_options(name).get("ignore-retract", "false").lower() == "true"


def _prepare(layout: TableLayout, options: TableOptions, output: Sequence[str]) -> Fold:
    names = averages.columns_to_fold(layout, options, output)
    means = {one.name: one for one in averages.averages(layout, options)}
    columns = tuple(
        _Column(
            name,
            aggregate_of(layout, options, name),
            ignores_retract(options, name),
            name in options.sequence_fields,
            (names.index(means[name].sum), names.index(means[name].count))
            if name in means
            else None,
        )
        for name in names
    )
    return partial(_fold, _Aggregation(layout, columns, len(output), options[REMOVES]))


def _needs(layout: TableLayout, options: TableOptions, output: Sequence[str]) -> Iterable[str]:
    return averages.with_parts(layout, options, output)


def _fold(plan: _Aggregation, step: MergeStep, drops_deletes: bool) -> Folded:
    refusing = [column for column in plan.columns if _refuses(column)]
    drops = drops_deletes and not refusing
    effects = effects_of(step, removes=plan.removes_on_delete, drops=drops)
    _check_retracts(plan, effects, refusing)
    step = effects.step
    last = indices(step.last)
    arrays = [
        take(step.columns[column.name], last)
        if column.aggregate is None or column.parts is not None
        else _column(plan, effects, column)
        for column in plan.columns
    ]
    for place, column in enumerate(plan.columns):
        if column.parts is not None:
            total, count = (arrays[part] for part in column.parts)
            arrays[place] = averages.quotient(total, count, arrays[place].type)
    del arrays[plan.output :]
    folded = Folded(arrays, effects.kinds, step.last)
    return shown(folded) if drops_deletes else folded


def _refuses(column: _Column) -> bool:
    """Whether a column neither takes nor ignores retractions."""
    aggregate = column.aggregate
    return not (aggregate is None or aggregate.is_retractable or column.ignores_retract)


def _check_retracts(plan: _Aggregation, effects: Effects, refusing: Sequence[_Column]) -> None:
    """Raises TableError if one of these columns meets a retraction."""
    if effects.signs is None:
        return
    for column in refusing:
        if (column_ops(effects.step, column.name, effects.ops) == RETRACT).any():
            assert column.aggregate is not None
            raise refused_retract(plan.layout, column.name, column.aggregate)


def _column(plan: _Aggregation, effects: Effects, column: _Column) -> pa.Array:
    assert column.aggregate is not None
    step, ops = effects.step, effects.ops
    if column.is_sequence:
        ops = _kept(ops)
    elif column.ignores_retract:
        effects = effects.without_retracts
        ops = effects.ops
    is_whole = step.marks is None or step.marks.passes_over(column.name)
    if is_whole and not column.is_sequence:
        rows = (effects.numbers, effects.room, effects.signs)
        added = added_column(plan.layout, step, column.name, column.aggregate, *rows)
        if added is not None:
            return added
    own = column_ops(step, column.name, ops)
    inputs = Inputs(step.columns[column.name], own, step.order, step.starts)
    if is_whole and effects.only_adds:
        inputs = replace(inputs, number=lambda: step.numbers)
    return folded_column(plan.layout, step, column.name, column.aggregate, inputs)


def _kept(ops: Ops) -> Ops:
    """The operations on a sequence field: of retractions it has the sequence."""
    return np.where(ops == RETRACT, np.int8(ADD), ops)


def _definition_column(
    aggregate: Aggregate | None, ops: Sequence[int], values: Sequence[Any]
) -> Any:
    if aggregate is None:
        return values[-1]
    records: Records = list(zip(ops, values, strict=True))
    return aggregate.definition(records)


def definition(
    layout: TableLayout, options: TableOptions, records: Sequence[tuple[int, dict[str, Any]]]
) -> tuple[int, dict[str, Any]] | None:
    """Each column folded by its aggregate's definition; one record stays as it is."""
    if len(records) == 1:
        return records[0]
    removes = options[REMOVES]
    ops = [
        RESET if removes and kind == DELETE else RETRACT if kind in RETRACTIONS else ADD
        for kind, _ in records
    ]
    row = {}
    for name in records[0][1]:
        skips = ignores_retract(options, name)
        taken = SKIP if skips else ADD if name in options.sequence_fields else RETRACT
        own = [taken if op == RETRACT else op for op in ops]
        values = [values[name] for _, values in records]
        if not averages.is_average(options, name):
            row[name] = _definition_column(aggregate_of(layout, options, name), own, values)
    for one in averages.averages(layout, options):
        if one.name in records[0][1]:
            scale = getattr(layout.column(one.name).type, "scale", None)
            row[one.name] = averages.definition(row[one.sum], row[one.count], scale)
    row = {name: row[name] for name in records[0][1]}
    return (DELETE if ops[-1] == RESET else INSERT), row


def _check(layout: TableLayout, options: TableOptions) -> None:
    check_functions(layout, options)
    ignoring = [column.name for column in layout.columns if ignores_retract(options, column.name)]
    if options[REMOVES] and ignoring:
        raise TableError(
            f"table {layout.name}: {REMOVES.name} and "
            f"fields.{ignoring[0]}.ignore-retract have conflicting behavior so should not be "
            "enabled at the same time."
        )


def _passes_nulls(layout: TableLayout, options: TableOptions, name: str) -> bool:
    aggregate = aggregate_of(layout, options, name)
    return aggregate is not None and aggregate.passes_nulls


def _retains_nulls(layout: TableLayout, options: TableOptions, name: str) -> bool:
    aggregate = aggregate_of(layout, options, name)
    return aggregate is not None and aggregate.retains_null


def _part_marks(
    layout: TableLayout,
    options: TableOptions,
    step: MergeStep,
    folded: Folded,
    columns: Mapping[str, pa.Array],
    marks: Marks,
) -> Marks:
    """Removals replace everything; a column whose value was taken back replaces older ones."""

    @cache
    def ops() -> Ops:
        return effects_of(step, removes=options[REMOVES], drops=False).ops

    for name in columns:
        aggregate = aggregate_of(layout, options, name)
        if aggregate is None or aggregate.name == averages.NAME or name in options.sequence_fields:
            continue
        own = partial(_own_ops, step, name, ops, ignores_retract(options, name))
        marks = taken_back(step, name, aggregate, own, columns[name], marks)
    removes = options[REMOVES] and options.delete_behavior != "allow"
    return removed_before(step, folded, marks) if removes else marks


def _own_ops(step: MergeStep, name: str, ops: Callable[[], Ops], ignores: bool) -> Ops:
    """The operations on one column."""
    own = column_ops(step, name, ops())
    return np.where(own == RETRACT, np.int8(SKIP), own) if ignores else own


def _retractions_wait(layout: TableLayout, options: TableOptions) -> bool:
    """Whether a function takes nothing back from nothing, or a removal has a place in an order."""
    if options[REMOVES] and options.sequence_fields:
        return True
    found = {column.name: aggregate_of(layout, options, column.name) for column in layout.columns}
    return any(
        aggregate.is_retractable and not aggregate.retracts_alone
        for name, aggregate in found.items()
        if aggregate is not None and not ignores_retract(options, name)
    )


AGGREGATION = Engine(
    "aggregation",
    _check,
    _prepare,
    definition,
    needs=_needs,
    keeps_keys=True,
    folds_columns=True,
    takes_partial_writes=True,
    elsewhere={"Fluss": ("aggregation",), "Doris": ("AGGREGATE",)},
    fluss_deletes={REMOVES.name: "true", "ignore-update-before": "true"},
    options=(REMOVES,),
    summary="each column by its function",
    nulls="as the function says",
    retraction="taken back, column by column; an option makes a -D remove the row",
    deletes_remove=lambda options: options[REMOVES],
    deletes_clear=lambda options: options.delete_behavior == "allow",
    passes_nulls=_passes_nulls,
    retains_nulls=_retains_nulls,
    part_marks=_part_marks,
    keeps_deletes=lambda options: options.delete_behavior != "allow",
    retractions_wait=_retractions_wait,
    own_aggregate=aggregate_of,
)
