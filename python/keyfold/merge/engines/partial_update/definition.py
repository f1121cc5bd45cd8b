"""The definition of partial-update: one key, record by record, a dictionary for the row.

It follows Paimon's PartialUpdateMergeFunction. The records of aggregates are collected on the way
and folded by their definitions at the end.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from keyfold.aggregates.declaration import Aggregate
from keyfold.errors import TableError
from keyfold.kernels.folds.extremes import rank
from keyfold.kernels.ops import ADD, ADDITIONS, DELETE, INSERT, RESET, RETRACT, REVERSED, SKIP
from keyfold.merge.column_aggregate import chosen_aggregate, refused_retract
from keyfold.merge.engines.aggregation import ignores_retract
from keyfold.merge.sequence_groups import REMOVES, SequenceGroup, sequence_groups
from keyfold.options.declared import TableOptions
from keyfold.wire.layout import TableLayout

REFUSED = (
    "By default, Partial update can not accept delete records, you can choose one of the following "
    "solutions:\n1. Configure 'ignore-delete' to ignore delete records.\n"
    "2. Configure 'partial-update.remove-record-on-delete' to remove the whole row when receiving "
    "delete records.\n3. Configure 'sequence-group's to retract partial columns. Also configure "
    "'partial-update.remove-record-on-sequence-group' to remove the whole row when receiving "
    "deleted records of `specified sequence group`."
)

Row = dict[str, Any]


@dataclass
class _Records:
    """The records of one aggregated column: (op, value) in the order its function takes them."""

    aggregate: Aggregate
    ignores_retract: bool
    records: list[tuple[int, Any]] = field(default_factory=list)

    def older(self, value: Any) -> None:
        reversal = self.aggregate.reversal
        if reversal == "own":
            self.records.append((REVERSED, value))
        elif reversal == "append" and not self.ignores_retract:
            self.records.append((ADD, value))
        else:
            self._put_in_front(value)

    def _put_in_front(self, value: Any) -> None:
        """Add before all records since the last reset; values that were taken back stay so."""
        if any(op == RETRACT for op, _ in self.records):
            self.records = [(ADD, self.aggregate.definition(self.records))]
        resets = [at for at, (op, _) in enumerate(self.records) if op == RESET]
        if not resets:
            self.records.insert(0, (ADD, value))
            return
        self.records[resets[-1]] = (ADD, self.records[resets[-1]][1])
        self.records.insert(resets[-1], (RESET, value))


class _State:
    """The row of one key."""

    def __init__(self, layout: TableLayout, options: TableOptions, names: Sequence[str]) -> None:
        self.layout = layout
        self.removes_on_delete = options[REMOVES]
        self.groups = sequence_groups(options)
        self.row: Row = dict.fromkeys(names)
        self.folded: dict[str, _Records] = {}
        for name in (name for group in self.groups for name in group.protected if name in names):
            aggregate = chosen_aggregate(layout, options, name)
            if aggregate is not None:
                self.folded[name] = _Records(aggregate, ignores_retract(options, name))
        self.has_insert = self.is_removed = False

    def begin(self, values: Row) -> None:
        """The row becomes this record."""
        self.row = dict(values)
        for name, folded in self.folded.items():
            folded.records.append((RESET, values[name]))

    def is_older(self, group: SequenceGroup, values: Row) -> bool:
        stored, new = (
            [_smallest_null(r[name]) for name in group.fields] for r in (self.row, values)
        )
        return new < stored

    def add(self, values: Row) -> None:
        grouped = {name for group in self.groups for name in group.columns}
        for name, value in values.items():
            if name not in grouped and value is not None:
                self.row[name] = value
        for group in self._with_sequence(values):
            is_older = self.is_older(group, values)
            for name in group.columns:
                folded = self.folded.get(name)
                if folded is not None and is_older:
                    folded.older(values[name])
                elif folded is not None:
                    folded.records.append((ADD, values[name]))
                elif not is_older:
                    self.row[name] = values[name]
        self.has_insert, self.is_removed = True, False

    def retract(self, kind: int, values: Row) -> None:
        self.is_removed = False
        groups = self._with_sequence(values)
        current = [group for group in groups if not self.is_older(group, values)]
        removing = self.removes_on_delete or any(group.removes for group in current)
        if kind == DELETE and removing:
            self.begin(values)
            self.is_removed = True
            return
        for group in groups:
            for name in group.columns:
                if name in self.folded:
                    self._take_back(name, values[name])
                elif group in current:
                    self.row[name] = values[name] if name in group.fields else None

    def _take_back(self, name: str, value: Any) -> None:
        folded = self.folded[name]
        if folded.ignores_retract:
            return
        if not folded.aggregate.is_retractable:
            raise refused_retract(self.layout, name, folded.aggregate)
        folded.records.append((RETRACT, value))

    def _with_sequence(self, values: Row) -> list[SequenceGroup]:
        return [g for g in self.groups if any(values[name] is not None for name in g.fields)]

    def result(self) -> tuple[int, Row]:
        for name, folded in self.folded.items():
            # A function is told that its record has met others, if they did nothing to its column.
            self.row[name] = folded.aggregate.definition([*folded.records, (SKIP, None)])
        return (DELETE if self.is_removed or not self.has_insert else INSERT), self.row


def _smallest_null(value: Any) -> Any:
    return (value is not None, 0 if value is None else rank(value))


def definition(
    layout: TableLayout, options: TableOptions, records: Sequence[tuple[int, Row]]
) -> tuple[int, Row] | None:
    """The row of one key and its kind; raises TableError if a retraction is refused."""
    if options.ignore_delete and len(records) > 1:
        records = [record for record in records if record[0] in ADDITIONS]
    if len(records) < 2:
        return records[0] if records else None
    state = _State(layout, options, list(records[0][1]))
    for at, (kind, values) in enumerate(records):
        if kind in ADDITIONS:
            state.add(values)
            continue
        if not state.groups and not state.removes_on_delete:
            raise TableError(f"table {layout.name}: {REFUSED}")
        if at == 0:
            state.begin(values)
        state.retract(kind, values)
    kind, row = state.result()
    return kind, row | {name: records[-1][1][name] for name in layout.primary_key if name in row}
