"""Groups in place of rows: the functions of a query, folded over the splits of a task.

A file whose rows are results may be answered by its footer. Other rows are read, merged as for any
query, and folded; or, where `without_merge` finds that sound, records are folded without a merge.
Spark puts the groups of all tasks together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, groupby

import pyarrow as pa

from keyfold.merge.plan import MergePlan, plan_merge
from keyfold.read import reader
from keyfold.read.folds import footer_facts, without_merge
from keyfold.read.folds.grouping import ScanGroups
from keyfold.read.folds.scan_aggregates import (
    VALUE,
    ScanAggregate,
    functions,
    nothing,
    values_of_rows,
    with_expressions,
)
from keyfold.read.folds.sent import sent
from keyfold.read.waiting.waiting_records import waits
from keyfold.resources.metering import count, each
from keyfold.wire.layout import TableLayout
from keyfold.wire.specs import Aggregate, ScanSpec, Section, Split


def schema_of(layout: TableLayout, aggregate: Aggregate) -> pa.Schema:
    """The columns of the group, those of the functions, under names of their own, and those of rows
    that are sent as they are.
    """
    fields = [layout.column(name).arrow_field for name in aggregate.by]
    chosen = functions(layout, aggregate)
    for place, function in enumerate(chosen):
        fields.append(pa.field(f"{function.op} {place}", function.sent))
    for place, name in enumerate(values_of_rows(aggregate), len(chosen)):
        fields.append(pa.field(f"{VALUE} {place}", layout.column(name).arrow_field.type))
    return pa.schema(fields)


def summarized(scan: ScanSpec, splits: Sequence[Split]) -> Iterator[pa.RecordBatch]:
    """The groups of all rows, some perhaps several times. If there is nothing to group by, there is
    a row even if there are no rows.
    """
    assert scan.aggregate is not None
    layout, by = scan.layout, scan.aggregate.by
    fixed = tuple(name for name in by if name in layout.partition_keys)
    schema = schema_of(layout, scan.aggregate)
    for constant, together in groupby(splits, partial(_constant, layout, fixed)):
        work = _Work.of(scan, tuple(name for name in by if name not in fixed))
        for states in chain.from_iterable(map(work.split, together)):
            yield from _shown(work, states, constant, schema)
        for states in work.last(has_row=not by):
            yield from _shown(work, states, constant, schema)


def _constant(layout: TableLayout, names: Sequence[str], split: Split) -> dict[str, pa.Scalar]:
    """The values of some columns of the partition."""
    known = split.partition.scalars(layout) if names else {}
    return {name: known[name] for name in names}


def _shown(
    work: _Work,
    states: pa.RecordBatch,
    constant: Mapping[str, pa.Scalar],
    schema: pa.Schema,
) -> Iterator[pa.RecordBatch]:
    """States as they are sent, with the columns of the partition. Columns behind them are those of
    rows that are sent as they are.
    """
    width, start = len(work.groups.names), 0
    kinds = schema.types[len(schema) - len(work.values) :] if work.values else []
    rest = states.columns[width:] or [pa.nulls(1, kind) for kind in kinds]
    for batch in sent(work.functions, states.select(list(range(width)))):
        rows, found = batch.num_rows, iter(batch.columns)
        arrays = [
            pa.repeat(constant[name], rows) if name in constant else next(found)
            for name in schema.names[: len(schema) - len(work.functions) - len(work.values)]
        ]
        known = states.num_columns > width
        more = [v.slice(start, rows) if known else pa.repeat(v[0], rows) for v in rest]
        yield pa.RecordBatch.from_arrays([*arrays, *found, *more], schema=schema)
        start += rows


@dataclass(frozen=True)
class _Pass:
    """One way through the rows of a section, for some of the query's functions."""

    rows: ScanSpec
    merge: MergePlan
    functions: tuple[ScanAggregate, ...]
    by_footers: bool

    @staticmethod
    def of(scan: ScanSpec, by: Sequence[str], chosen: Sequence[ScanAggregate]) -> _Pass | None:
        """The pass for functions whose groups are made by these columns of files; None without
        functions, if others make the groups.
        """
        layout, asked = scan.layout, scan.aggregate
        assert asked is not None
        if not chosen and asked.functions:
            return None
        conditions = {name for one in scan.value_filter for name in one.columns}
        needed = {*by, *conditions, *(name for f in chosen for name in f.columns)}
        names = tuple(column.name for column in layout.columns if column.name in needed)
        own = replace(asked, functions=tuple((f.op, f.name) for f in chosen))
        return _Pass(
            replace(scan, columns=names, aggregate=None),
            plan_merge(layout, names),
            tuple(chosen),
            not scan.key_filter and not scan.value_filter and footer_facts.answers(layout, own),
        )


@dataclass(frozen=True)
class _Work:
    """The folding of splits of one partition, or of several if that does not matter. `unmerged`
    are the functions that may be folded over records, if that is worth a pass, and `merged` are
    those that are left. Rows whose expressions can't be computed are sent with their `values`.
    """

    functions: tuple[ScanAggregate, ...]
    values: tuple[str, ...]
    groups: ScanGroups
    every: _Pass
    unmerged: _Pass | None
    merged: _Pass | None

    @staticmethod
    def of(scan: ScanSpec, by: Sequence[str]) -> _Work:
        """The work of a scan whose groups are made by these columns of files."""
        assert scan.aggregate is not None
        chosen = functions(scan.layout, scan.aggregate)
        alone, others = without_merge.parted(scan.layout, scan.aggregate, chosen)
        every = _Pass.of(scan, by, chosen)
        assert every is not None
        return _Work(
            chosen,
            values_of_rows(scan.aggregate),
            ScanGroups(by, chosen),
            every,
            _Pass.of(scan, by, alone) if alone or not others else None,
            _Pass.of(scan, by, others) if others else None,
        )

    def split(self, split: Split) -> Iterator[pa.RecordBatch]:
        """Fold the rows of a split; returns states that must be sent now."""
        for section in split.sections:
            alone = self.unmerged
            if len(section) == 1 or waits(section):
                yield from self._read(self.every, split, section)
            elif alone and without_merge.is_sound(alone.rows, split, section, alone.functions):
                for run in section:  # as if no other were there
                    yield from self._read(alone, split, (run,))
                if self.merged:
                    yield from self._read(self.merged, split, section)
            else:
                yield from self._read(self.every, split, section)

    def last(self, *, has_row: bool) -> Iterator[pa.RecordBatch]:
        """The states that are left; with `has_row` those of no rows too, which change nothing."""
        if has_row:
            yield from self.groups.states(self._states({}))
        yield from self.groups.last()

    def _states(self, known: Mapping[ScanAggregate, pa.Array]) -> pa.RecordBatch:
        """One state of each function, of nothing where none is known."""
        arrays = [known.get(function, nothing(function)) for function in self.functions]
        return pa.RecordBatch.from_arrays(arrays, names=self.groups.names)

    def _read(self, how: _Pass, split: Split, section: Section) -> Iterator[pa.RecordBatch]:
        rest, known = self._known(how, split, section)
        for states in known:
            yield from self.groups.states(states)
        if rest:
            for batch in reader.read(how.rows, replace(split, sections=(rest,)), how.merge):
                count("rows_out", batch.num_rows)
                if batch.num_rows:
                    yield from each("merge", self._folded(how, batch))

    def _folded(self, how: _Pass, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Fold rows, or return them as they are if an expression can't be computed of them."""
        found = with_expressions(how.functions, batch)
        if found is not None:
            yield from self.groups.rows(found, how.functions)
            return
        plain = [function for function in how.functions if function.computed is None]
        states = self.groups.lifted(batch, plain)
        for name in self.values:
            states = states.append_column(name, batch.column(name))
        yield states

    def _known(
        self, how: _Pass, split: Split, section: Section
    ) -> tuple[Section, list[pa.RecordBatch]]:
        """The files of a section that have to be read, and the states that footers tell."""
        is_cut = split.after is not None or split.until is not None
        if not how.by_footers or is_cut or len(section) > 1 or waits(section):
            return section, []
        rest, known = [], []
        for file in section[0]:
            found = footer_facts.states(how.rows, split, file, how.functions)
            if found is None:
                rest.append(file)
            else:
                known.append(self._states(dict(zip(how.functions, found, strict=True))))
        return ((tuple(rest),) if rest else ()), known
