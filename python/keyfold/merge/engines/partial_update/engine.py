"""partial-update: a record changes the columns it has values for.

Outside sequence groups the last non-null value stays. Columns of a group change only with a record
that is not older in the group's own sequence fields (`keyfold.merge.sequence_groups`). They change
by their aggregate, or to any value, even NULL. Retractions take a group back, remove the row, or
are refused.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from keyfold.aggregates import aggregates
from keyfold.aggregates.declaration import Aggregate
from keyfold.errors import TableError
from keyfold.merge.column_aggregate import chosen_aggregate
from keyfold.merge.engine import Engine, Fold, Folded, MergeStep, without
from keyfold.merge.engines.aggregation import ignores_retract
from keyfold.merge.engines.partial_update.definition import REFUSED, definition
from keyfold.merge.engines.partial_update.group_columns import SequenceGroupStep
from keyfold.merge.kinds import is_retract
from keyfold.merge.marks.mark_columns import Marks
from keyfold.merge.marks.retractions import removed_before
from keyfold.merge.results import key_words
from keyfold.merge.sequence_groups import (
    REMOVES,
    REMOVES_IN_GROUP,
    SequenceGroup,
    check_groups,
    group_fields,
    sequence_groups,
)
from keyfold.options.declared import TableOptions
from keyfold.wire.layout import TableLayout


@dataclass(frozen=True)
class _Column:
    """The fold of one output column. `group` is the place of its sequence group, None for a key
    column or a column outside groups.
    """

    name: str
    is_key: bool
    group: int | None
    is_sequence: bool
    aggregate: Aggregate | None
    ignores_retract: bool


@dataclass(frozen=True)
class _Plan:
    layout: TableLayout
    columns: tuple[_Column, ...]
    groups: tuple[SequenceGroup, ...]
    removes_on_delete: bool
    ignores_deletes: bool
    takes_retracts: bool


def _needed_groups(options: TableOptions, output: Sequence[str]) -> tuple[SequenceGroup, ...]:
    """The groups of output columns, and the groups by which a -D removes the row."""
    groups = sequence_groups(options)
    return tuple(g for g in groups if g.removes or not set(output).isdisjoint(g.columns))


def _needs(layout: TableLayout, options: TableOptions, output: Sequence[str]) -> Iterable[str]:
    return (name for group in _needed_groups(options, output) for name in group.fields)


def _prepare(layout: TableLayout, options: TableOptions, output: Sequence[str]) -> Fold:
    groups = _needed_groups(options, output)
    plan = _Plan(
        layout,
        tuple(_column(layout, options, groups, name) for name in output),
        groups,
        options[REMOVES],
        options.ignore_delete,
        options[REMOVES] or bool(sequence_groups(options)),
    )
    return partial(_fold, plan)


def _column(
    layout: TableLayout, options: TableOptions, groups: Sequence[SequenceGroup], name: str
) -> _Column:
    own = next((place for place, group in enumerate(groups) if name in group.columns), None)
    is_sequence = own is not None and name in groups[own].fields
    is_key = name in (*layout.primary_key, *layout.partition_keys)
    has_function = own is not None and not is_sequence
    aggregate = chosen_aggregate(layout, options, name) if has_function else None
    return _Column(name, is_key, own, is_sequence, aggregate, ignores_retract(options, name))


def _fold(plan: _Plan, step: MergeStep, drops_deletes: bool) -> Folded:
    if plan.ignores_deletes and step.kinds is not None:
        step = without(step, is_retract(step.kinds))
    if not plan.takes_retracts:
        _check_retracts(plan, step)
    removes = plan.removes_on_delete
    grouped = SequenceGroupStep(
        plan.layout, step, plan.groups, removes_on_delete=removes, drops=drops_deletes
    )
    arrays = []
    for column in plan.columns:
        if column.is_key:
            arrays.append(grouped.last(column.name))
        elif column.group is None:
            arrays.append(grouped.last_non_null(column.name))
        elif column.aggregate is None:
            arrays.append(grouped.newest(column.name, column.group, column.is_sequence))
        else:
            arrays.append(
                grouped.aggregated(
                    column.name, column.group, column.aggregate, column.ignores_retract
                )
            )
    return Folded(arrays, grouped.kinds, grouped.last_rows)


def _check_retracts(plan: _Plan, step: MergeStep) -> None:
    """Raises TableError, naming the key, if a retraction meets another record."""
    if step.kinds is None:
        return
    sizes = np.diff(step.starts)
    at = np.flatnonzero(is_retract(step.kinds[step.order]) & np.repeat(sizes > 1, sizes))
    if len(at):
        group = int(np.searchsorted(step.starts, at[0], side="right")) - 1
        key = key_words(plan.layout, step.columns, int(step.last[group]))
        raise TableError(f"table {plan.layout.name}, key ({key}): {REFUSED}")


def _check(layout: TableLayout, options: TableOptions) -> None:
    check_groups(layout, options)
    _check_conflicts(layout, options)
    groups = sequence_groups(options)
    grouped = {name for group in groups for name in group.columns}
    sequences = group_fields(options) | set(options.sequence_fields)
    for column in layout.columns:
        if column.name in layout.primary_key or column.name in sequences:
            continue
        aggregate = chosen_aggregate(layout, options, column.name)
        last_non_null = aggregates()["last_non_null_value"]
        if column.name not in grouped and aggregate not in (None, last_non_null):
            raise TableError(
                f"table {layout.name}, column {column.name}: Must use sequence group for "
                f"aggregation functions but not found for field {column.name}."
            )


def _check_conflicts(layout: TableLayout, options: TableOptions) -> None:
    groups = sequence_groups(options)
    conflicts = (
        ("ignore-delete", options.ignore_delete, REMOVES.name, options[REMOVES]),
        (
            "ignore-delete",
            options.ignore_delete,
            REMOVES_IN_GROUP.name,
            bool(options[REMOVES_IN_GROUP]),
        ),
        ("sequence-group", bool(groups), REMOVES.name, options[REMOVES]),
    )
    for left, has_left, right, has_right in conflicts:
        if has_left and has_right:
            raise TableError(
                f"table {layout.name}: {left} and {right} have conflicting behavior so should not "
                "be enabled at the same time."
            )


def _passes_nulls(layout: TableLayout, options: TableOptions, name: str) -> bool:
    """Whether the column is outside groups: there a NULL is not a value."""
    return all(name not in group.columns for group in sequence_groups(options))


def _retains_nulls(layout: TableLayout, options: TableOptions, name: str) -> bool:
    """Whether the column is in a group and has a function that keeps a NULL which comes first."""
    grouped = {own for group in sequence_groups(options) for own in group.protected}
    aggregate = chosen_aggregate(layout, options, name) if name in grouped else None
    return aggregate is not None and aggregate.retains_null


def _touched(
    layout: TableLayout, options: TableOptions, step: MergeStep
) -> Mapping[str, npt.NDArray[np.bool_]]:
    # Groups whose fields are not read have no columns in the result either.
    groups = tuple(g for g in sequence_groups(options) if step.columns.keys() >= {*g.fields})
    if step.marks is None or not groups:
        return {}
    grouped = SequenceGroupStep(layout, step, groups, removes_on_delete=options[REMOVES])
    columns = [_column(layout, options, groups, name) for g in groups for name in g.columns]
    return {
        column.name: grouped.touched(column.name, column.group, column.aggregate)
        for column in columns
        if column.group is not None
    }


def _part_marks(
    layout: TableLayout,
    options: TableOptions,
    step: MergeStep,
    folded: Folded,
    columns: Mapping[str, pa.Array],
    marks: Marks,
) -> Marks:
    return removed_before(step, folded, marks) if options[REMOVES] else marks


def _retractions_wait(layout: TableLayout, options: TableOptions) -> bool:
    """Whether a removal has a place in an order, or a function can't take back alone, in any order:
    a record has one sequence in a group.
    """
    groups = sequence_groups(options)
    if (options[REMOVES] and options.sequence_fields) or any(group.removes for group in groups):
        return True
    protected = {name for group in groups for name in group.protected}
    found = {name: chosen_aggregate(layout, options, name) for name in protected}
    return any(
        not aggregate.passes_nulls
        if ignores_retract(options, name)
        else aggregate.is_retractable
        and not (aggregate.retracts_alone and aggregate.reversal == "append")
        for name, aggregate in found.items()
        if aggregate is not None
    )


PARTIAL_UPDATE = Engine(
    "partial-update",
    _check,
    _prepare,
    definition,
    keeps_keys=True,
    folds_columns=True,
    takes_partial_writes=True,
    options=(REMOVES, REMOVES_IN_GROUP),
    aliases={"partial-update.ignore-delete": "ignore-delete"},
    summary="of each column the last value; groups of columns follow sequences of their own",
    nulls="no value; a value inside a sequence group",
    retraction="refused, but taken back in sequence groups; options make a -D remove the row",
    needs=_needs,
    deletes_remove=lambda options: options[REMOVES],
    passes_nulls=_passes_nulls,
    retains_nulls=_retains_nulls,
    sequences=sequence_groups,
    touched=_touched,
    part_marks=_part_marks,
    keeps_deletes=lambda options: options[REMOVES] or bool(sequence_groups(options)),
    retractions_wait=_retractions_wait,
    begins_jobs=lambda options: options[REMOVES],
)
