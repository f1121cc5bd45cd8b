"""The columns of one partial-update step: picked from records, or aggregated.

Without retractions groups don't touch each other, and a group without aggregates needs only its
newest record. Otherwise the events of all records are decided once, for all groups.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import accumulate
from typing import Any

import numpy as np
import pyarrow as pa

from keyfold.aggregates import aggregates
from keyfold.aggregates.declaration import Aggregate, Inputs, Pick
from keyfold.kernels.array_tuples import Groups
from keyfold.kernels.buffers import Mask, Rows, Words, ones, validity
from keyfold.kernels.folds.picked import indices, take
from keyfold.kernels.groups.any_of import any_of
from keyfold.kernels.groups.by_key import group_starts
from keyfold.kernels.keys.comparable import encode_nullable
from keyfold.kernels.keys.order import sort_order
from keyfold.kernels.ops import ADD, INSERT, LATE_RETRACT, RESET, RETRACT, REVERSED, SEED, SKIP
from keyfold.lazy import cached_property
from keyfold.merge.column_aggregate import refused_retract
from keyfold.merge.column_results import keep
from keyfold.merge.engine import MergeStep
from keyfold.merge.engines.partial_update.group_events import (
    RESTARTS,
    Events,
    Masks,
    Sequences,
    decide,
    decide_adds,
    last_present,
    newest,
    newest_word,
    settle,
)
from keyfold.merge.engines.partial_update.reversal import arranged, materialized
from keyfold.merge.kinds import Kinds, is_retract
from keyfold.merge.marks.mark_columns import Flags, Marks
from keyfold.merge.marks.mark_effects import column_ops
from keyfold.merge.results import folded_column
from keyfold.merge.sequence_groups import SequenceGroup
from keyfold.wire.layout import TableLayout

LAST_NON_NULL = "last_non_null_value"


class SequenceGroupStep:
    """One step. `removes_on_delete` acts as a group of all records, with equal sequences. With
    `drops` its columns have no rows of kind -U and -D.
    """

    def __init__(
        self,
        layout: TableLayout,
        step: MergeStep,
        groups: Sequence[SequenceGroup],
        *,
        removes_on_delete: bool,
        drops: bool = False,
    ) -> None:
        self._layout, self._step, self._groups = layout, step, groups
        self._removes_on_delete, self._drops = removes_on_delete, drops
        self._picks: dict[int, tuple[pa.Array, pa.Array]] = {}
        self._words, self._present, self._bounds = self._sequences()
        if step.marks is not None:
            self._step = replace(step, marks=self._without_left_values(step.marks))

    def _without_left_values(self, marks: Marks) -> Marks:
        """The marks. A row that overwrites the sequence fields of a group by NULL leaves it values
        only until the next record: a stored row without a sequence takes no part in its group.
        """
        is_last = np.zeros(len(marks), dtype=np.bool_)
        is_last[self._step.last] = True
        for group, present in zip(self._groups, self._present, strict=False):
            flags = (present == RESTARTS) & ~is_last
            if flags.any():
                for name in group.columns:
                    marks = marks.without(name, flags)
        return marks

    def _sequences(self) -> tuple[Words, Masks, Rows]:
        """The words of all groups' fields; the flags of each row in each group (it has a sequence,
        begins it anew); and, for each group, (first word, end of words, a -D removes the row).
        """
        rows = len(next(iter(self._step.columns.values())))
        found = [
            sequence_words([self._step.columns[name] for name in group.fields])
            for group in self._groups
        ]
        ends = [0, *accumulate(len(words) for words, _ in found)]
        bounds = [
            (ends[place], ends[place + 1], int(group.removes))
            for place, group in enumerate(self._groups)
        ]
        present = [
            mask | self._restarts(group)
            for group, (_, mask) in zip(self._groups, found, strict=True)
        ]
        if self._removes_on_delete:
            present.append(ones(rows))
            bounds.append((0, 0, 1))
        words = [part for parts, _ in found for part in parts]
        return (
            np.array(words, dtype=np.uint64).reshape(len(words), rows),
            np.array(present, dtype=np.uint8).reshape(len(present), rows),
            np.array(bounds, dtype=np.int64).reshape(len(bounds), 3),
        )

    def _restarts(self, group: SequenceGroup) -> Mask | np.uint8:
        """`RESTARTS` for each row that overwrites a sequence field of the group, else 0."""
        marks = self._step.marks
        if marks is None:
            return np.uint8(0)
        flags = np.logical_or.reduce([marks.replaces(name) for name in group.fields])
        restarts: Mask = np.where(flags, np.uint8(RESTARTS), np.uint8(0))
        return restarts

    @cached_property
    def _decides(self) -> Flags | None:
        """The keys whose records are decided together: those with marks, or with a retraction that
        meets others. None if there are none; other keys are what their newest records say.
        """
        step = self._step
        if step.marks is not None:
            return np.ones(len(step.starts) - 1, dtype=np.bool_)
        retracts = None if step.kinds is None else is_retract(step.kinds)
        if retracts is None or not retracts.any():
            return None
        flags = any_of(retracts[step.order], step.starts)
        flags &= np.diff(step.starts) > 1
        return flags if flags.any() else None

    @cached_property
    def _part(self) -> tuple[MergeStep, Flags]:
        """The keys that are decided, and which records of the step are theirs."""
        step, flags = self._step, self._decides
        assert flags is not None
        if flags.all():
            return step, np.ones(len(step.order), dtype=np.bool_)
        sizes = np.diff(step.starts)
        stays = np.repeat(flags, sizes)
        starts = np.concatenate(([0], np.cumsum(sizes[flags]))).astype(np.int64)
        return replace(step, order=step.order[stays], starts=starts), stays

    @cached_property
    def _decided(self) -> tuple[Events, Kinds]:
        """The events of every group and, last, of columns outside groups; the results' kinds. Both
        are of the keys that are decided.
        """
        step, _ = self._part
        kinds = np.zeros(self._present.shape[1], np.int8) if step.kinds is None else step.kinds
        events = np.empty((len(self._bounds) + 1, len(step.order)), dtype=np.int8)
        out = np.empty(len(step.starts) - 1, dtype=np.int8)
        newest = np.empty(len(self._bounds), dtype=np.int64)
        sequences = Sequences(self._words, self._present, self._bounds, newest)
        records = Groups(kinds, step.order, step.starts)
        decide(sequences, records, step.is_part, events, out)
        return events, out

    @cached_property
    def _all_kinds(self) -> Kinds | None:
        """The kind of each key's row: -D if its last record removed it or no record added to it,
        else +I. A lone record keeps its own.
        """
        step = self._step
        if step.kinds is None:
            return None
        is_alone = np.diff(step.starts) == 1
        kinds = np.where(is_alone, step.kinds[step.last], np.int8(INSERT))
        if self._decides is not None:
            kinds[self._decides] = self._decided[1]
        return kinds

    @cached_property
    def _is_kept(self) -> Flags | None:
        """Whether each key has a row; None if all have."""
        if not self._drops or self._all_kinds is None:
            return None
        flags = ~is_retract(self._all_kinds)
        return None if flags.all() else flags

    def _kept(self, rows: Any) -> Any:
        """The items of keys that have a row, of an array with an item for each key."""
        return rows if self._is_kept is None else rows[self._is_kept]

    @property
    def kinds(self) -> Kinds | None:
        """The kind of each row; see `_all_kinds`."""
        kinds: Kinds | None = None if self._all_kinds is None else self._kept(self._all_kinds)
        return kinds

    @cached_property
    def last_rows(self) -> Rows:
        """The last record of each row."""
        rows: Rows = self._kept(self._step.last)
        return rows

    # ---- columns ----

    @cached_property
    def _last(self) -> pa.Array:
        return indices(self.last_rows)

    def last(self, name: str) -> pa.Array:
        """The column of the last record."""
        return take(self._step.columns[name], self._last)

    def last_non_null(self, name: str) -> pa.Array:
        """The last non-null value since the row began."""
        column, step = self._step.columns[name], self._step
        if column.null_count == 0 and step.marks is None:
            picks = step.last
            if self._decides is not None:
                picks[self._decides] = self._settled(-1)[0]
        elif step.marks is None:
            picks = np.empty(len(step.starts) - 1, dtype=np.int64)
            last_present(validity(column), step.order, step.starts, picks)
            if self._decides is not None:
                picks[self._decides] = self._picked(LAST_NON_NULL, name, self._decided[0][-1])
        else:
            picks = self._picked(LAST_NON_NULL, name, self._decided[0][-1])
        return take(column, indices(self._kept(picks)))

    def _picked(self, function: str, name: str, ops: Events) -> Rows:
        """The rows of the keys that are decided, by an aggregate that picks them."""
        pick, (step, _) = aggregates()[function], self._part
        assert isinstance(pick, Pick)
        own = column_ops(step, name, ops)
        return pick.pick(Inputs(step.columns[name], own, step.order, step.starts))

    def newest(self, name: str, group: int, is_sequence: bool) -> pa.Array:
        """A sequence field or protected column, from the group's newest record, or the newest
        that names it.
        """
        if self._step.marks is not None:
            events = self._decided[0][group]
            adding = (ADD, RESET, RETRACT, SEED) if is_sequence else (ADD, RESET)
            ops = np.where(np.isin(events, (RETRACT, SEED)), np.int8(RETRACT), np.int8(SKIP))
            ops[np.isin(events, adding)] = ADD
            picks = self._picked("last_value", name, ops)
            return take(self._step.columns[name], indices(self._kept(picks)))
        if group not in self._picks:
            self._picks[group] = self._newest(group)
        return take(self._step.columns[name], self._picks[group][0 if is_sequence else 1])

    def _newest(self, group: int) -> tuple[pa.Array, pa.Array]:
        """The rows that sequence fields come from, and those of protected columns."""
        order, starts, present = self._step.order, self._step.starts, self._present[group]
        picks = np.empty(len(starts) - 1, dtype=np.int64)
        first, stop, _ = self._bounds[group].tolist()
        if stop - first == 1:
            newest_word(self._words[first], present, order, starts, picks)
        else:
            newest(self._words, present, first, stop, order, starts, picks)
        if self._decides is None:
            rows = indices(self._kept(picks))
            return rows, rows
        protected = picks.copy()
        picks[self._decides], protected[self._decides] = self._settled(group)
        return indices(self._kept(picks)), indices(self._kept(protected))

    def _settled(self, group: int) -> tuple[Rows, Rows]:
        """The rows that sequence fields of decided keys come from, and those of protected ones."""
        step, _ = self._part
        sequence, protected = np.empty((2, len(step.starts) - 1), dtype=np.int64)
        settle(self._decided[0][group], step.order, step.starts, sequence, protected)
        return sequence, protected

    def _events(self, group: int) -> Events:
        order, starts = self._step.order, self._step.starts
        first, stop, _ = self._bounds[group].tolist()
        events = np.empty(len(order), dtype=np.int8)
        if self._step.marks is None:
            decide_adds(self._words, self._present[group], first, stop, order, starts, events)
        if self._decides is not None:
            events[self._part[1]] = self._decided[0][group]
        return events

    def touched(self, name: str, group: int, aggregate: Aggregate | None) -> Flags:
        """Whether the records of each key had any effect on a column of a group. A late one has
        none on a column that keeps the newest value, even NULL.
        """
        ops = self._events(group)
        if aggregate is None or not (aggregate.passes_nulls or aggregate.retains_null):
            ops = np.where((ops == REVERSED) | (ops == LATE_RETRACT), np.int8(SKIP), ops)
        has_effect = column_ops(self._step, name, ops) != SKIP
        return any_of(has_effect, self._step.starts)

    def aggregated(
        self, name: str, group: int, aggregate: Aggregate, ignores_retract: bool
    ) -> pa.Array:
        """A column of a group folded by its aggregate; the function decides about older records."""
        events = column_ops(self._step, name, self._events(group))
        reversal = aggregate.reversal
        if ignores_retract:
            events = np.where((events == RETRACT) | (events == LATE_RETRACT), np.int8(SKIP), events)
            events = np.where(events == SEED, np.int8(RESET), events)
            # Paimon's wrapper of such functions reverses whatever the function itself does.
            reversal = "front" if reversal == "append" else reversal
        elif not aggregate.is_retractable and is_any_retract(events):
            raise refused_retract(self._layout, name, aggregate)
        if reversal == "append":
            events = np.where(events == REVERSED, np.int8(ADD), events)
        step = self._step
        inputs = Inputs(step.columns[name], events, step.order, step.starts)
        fold = partial(self._fold, name, aggregate, reversal == "front")
        if reversal == "front" and aggregate.is_retractable:
            inputs = materialized(inputs, fold)
        return fold(inputs) if self._is_kept is None else keep(fold(inputs), self._is_kept)

    def _fold(self, name: str, aggregate: Aggregate, is_front: bool, inputs: Inputs) -> pa.Array:
        step = replace(self._step, order=inputs.order, starts=inputs.starts)
        return folded_column(self._layout, step, name, aggregate, arranged(inputs, is_front))


def is_any_retract(events: Events) -> bool:
    """Whether some record takes values back."""
    return bool(((events == RETRACT) | (events == LATE_RETRACT) | (events == SEED)).any())


def sequence_words(columns: Sequence[pa.Array]) -> tuple[list[Words], Masks]:
    """Words that compare like the sequence fields of rows, the first word first and NULL smallest,
    and a mask with 1 for each row that has any of the fields.
    """
    words: list[Words] = []
    present = np.zeros(len(columns[0]), dtype=np.uint8)
    for column in columns:
        keys, valid = encode_nullable(column)
        present |= valid
        # The NULL of a lone field is never compared: such rows have no sequence.
        if column.null_count and len(columns) > 1:
            words.append(valid.astype(np.uint64))
        if not keys.is_wide:
            words.append(keys.words)
            continue
        sorted_words, order = sort_order(keys, np.arange(len(column), dtype=np.int64))
        starts = group_starts(keys, sorted_words, order)
        ranks = np.empty(len(column), dtype=np.uint64)
        ranks[order] = np.repeat(np.arange(len(starts) - 1, dtype=np.uint64), np.diff(starts))
        words.append(ranks)
    return words, present
