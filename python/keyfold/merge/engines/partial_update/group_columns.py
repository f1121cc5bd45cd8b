"""The columns of one partial-update step: picked from records, or aggregated.

Without retractions groups don't touch each other, and a group without aggregates needs only its
newest record. Otherwise the events of all records are decided once, for all groups.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import accumulate

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from keyfold.aggregates import aggregates
from keyfold.aggregates.declaration import Aggregate, Inputs, Pick
from keyfold.kernels.array_tuples import Groups
from keyfold.kernels.buffers import Mask, Rows, Words, ones, validity
from keyfold.kernels.folds.picked import indices, take
from keyfold.kernels.groups.by_key import group_starts
from keyfold.kernels.keys.comparable import encode_nullable
from keyfold.kernels.keys.order import sort_order
from keyfold.kernels.ops import ADD, INSERT, LATE_RETRACT, RESET, RETRACT, REVERSED, SEED, SKIP
from keyfold.lazy import cached_property
from keyfold.merge.column_aggregate import refused_retract
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
from keyfold.merge.marks.mark_columns import Marks
from keyfold.merge.marks.mark_effects import column_ops
from keyfold.merge.results import folded_column
from keyfold.merge.sequence_groups import SequenceGroup
from keyfold.wire.layout import TableLayout


class SequenceGroupStep:
    """One step. `removes_on_delete` acts as a group of all records, with equal sequences."""

    def __init__(
        self,
        layout: TableLayout,
        step: MergeStep,
        groups: Sequence[SequenceGroup],
        removes_on_delete: bool,
    ) -> None:
        self._layout, self._step, self._groups = layout, step, groups
        self._removes_on_delete = removes_on_delete
        self._picks: dict[int, tuple[pa.Array, pa.Array]] = {}
        has_retracts = step.kinds is not None and bool(is_retract(step.kinds).any())
        self._is_decided = has_retracts or step.marks is not None
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
    def _decided(self) -> tuple[Events, Kinds]:
        """The events of every group and, last, of columns outside groups; the results' kinds."""
        step = self._step
        kinds = np.zeros(self._present.shape[1], np.int8) if step.kinds is None else step.kinds
        events = np.empty((len(self._bounds) + 1, len(step.order)), dtype=np.int8)
        out = np.empty(len(step.starts) - 1, dtype=np.int8)
        newest = np.empty(len(self._bounds), dtype=np.int64)
        sequences = Sequences(self._words, self._present, self._bounds, newest)
        records = Groups(kinds, step.order, step.starts)
        decide(sequences, records, step.is_part, events, out)
        return events, out

    @property
    def kinds(self) -> Kinds | None:
        """The kind of each row: -D if its last record removed it or no record added to it, else +I.
        A lone record keeps its own.
        """
        step = self._step
        if step.kinds is None:
            return None
        if self._is_decided:
            return self._decided[1]
        is_alone = np.diff(step.starts) == 1
        return np.where(is_alone, step.kinds[step.last], np.int8(INSERT))

    # ---- columns ----

    @cached_property
    def _last(self) -> pa.Array:
        return indices(self._step.last)

    def last(self, name: str) -> pa.Array:
        """The column of the last record."""
        return take(self._step.columns[name], self._last)

    def last_non_null(self, name: str) -> pa.Array:
        """The last non-null value since the row began."""
        column, step = self._step.columns[name], self._step
        if column.null_count == 0 and step.marks is None:
            return take(column, self._settled(-1)[0] if self._is_decided else self._last)
        if self._is_decided:
            return self._picked("last_non_null_value", name, self._decided[0][-1])
        picks = np.empty(len(step.starts) - 1, dtype=np.int64)
        last_present(validity(column), step.order, step.starts, picks)
        return take(column, indices(picks))

    def _picked(self, function: str, name: str, ops: Events) -> pa.Array:
        """A column by an aggregate that picks rows."""
        pick, step = aggregates()[function], self._step
        assert isinstance(pick, Pick)
        own = column_ops(step, name, ops)
        inputs = Inputs(step.columns[name], own, step.order, step.starts)
        return take(step.columns[name], indices(pick.pick(inputs)))

    def newest(self, name: str, group: int, is_sequence: bool) -> pa.Array:
        """A sequence field or protected column, from the group's newest record, or the newest
        that names it.
        """
        if self._step.marks is not None:
            events = self._decided[0][group]
            adding = (ADD, RESET, RETRACT, SEED) if is_sequence else (ADD, RESET)
            ops = np.where(np.isin(events, (RETRACT, SEED)), np.int8(RETRACT), np.int8(SKIP))
            ops[np.isin(events, adding)] = ADD
            return self._picked("last_value", name, ops)
        if group not in self._picks:
            found = self._settled(group) if self._is_decided else (self._newest(group),) * 2
            self._picks[group] = found
        return take(self._step.columns[name], self._picks[group][0 if is_sequence else 1])

    def _newest(self, group: int) -> pa.Array:
        order, starts, present = self._step.order, self._step.starts, self._present[group]
        picks = np.empty(len(starts) - 1, dtype=np.int64)
        first, stop, _ = self._bounds[group].tolist()
        if stop - first == 1:
            newest_word(self._words[first], present, order, starts, picks)
        else:
            newest(self._words, present, first, stop, order, starts, picks)
        return indices(picks)

    def _settled(self, group: int) -> tuple[pa.Array, pa.Array]:
        step = self._step
        sequence, protected = np.empty((2, len(step.starts) - 1), dtype=np.int64)
        settle(self._decided[0][group], step.order, step.starts, sequence, protected)
        return indices(sequence), indices(protected)

    def _events(self, group: int) -> Events:
        if self._is_decided:
            decided: Events = self._decided[0][group]
            return decided
        order, starts = self._step.order, self._step.starts
        first, stop, _ = self._bounds[group].tolist()
        events = np.empty(len(order), dtype=np.int8)
        decide_adds(self._words, self._present[group], first, stop, order, starts, events)
        return events

    def touched(self, name: str, group: int, aggregate: Aggregate | None) -> npt.NDArray[np.bool_]:
        """Whether the records of each key had any effect on a column of a group. A late one has
        none on a column that keeps the newest value, even NULL.
        """
        ops = self._events(group)
        if aggregate is None or not (aggregate.passes_nulls or aggregate.retains_null):
            ops = np.where((ops == REVERSED) | (ops == LATE_RETRACT), np.int8(SKIP), ops)
        has_effect = column_ops(self._step, name, ops) != SKIP
        flags: npt.NDArray[np.bool_] = np.logical_or.reduceat(has_effect, self._step.starts[:-1])
        return flags

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
        return fold(inputs)

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
