"""Groups in place of rows: the functions of a query, folded over the splits of a task.

A file whose rows are results may be answered by its footer. Other rows are read, merged as for any
query, and folded; or, where `without_merge` finds that sound, records are folded without a merge.
Spark puts the groups of all tasks together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, groupby

import pyarrow as pa

from keyfold.merge.plan import MergePlan, plan
from keyfold.read import footer_facts, reader, without_merge
from keyfold.read.functions import Function, functions, nothing
from keyfold.read.grouping import Groups
from keyfold.read.sent import sent
from keyfold.resources.metering import count, each
from keyfold.wire.layout import TableLayout
from keyfold.wire.specs import Aggregate, ScanSpec, Section, Split


def schema_of(layout: TableLayout, aggregate: Aggregate) -> pa.Schema:
    """The columns of the group, then those of the functions, under names of their own."""
    fields = [layout.column(name).arrow_field for name in aggregate.by]
    for place, function in enumerate(functions(layout, aggregate)):
        fields.append(pa.field(f"{function.op} {place}", function.sent))
    return pa.schema(fields)


def summarized(scan: ScanSpec, splits: Sequence[Split]) -> Iterator[pa.RecordBatch]:
    """The groups of all rows, some perhaps several times. If there is nothing to group by, there is
    a row even if there are no rows.
    """
    assert scan.aggregate is not None
    layout, by = scan.layout, scan.aggregate.by
    fixed = tuple(name for name in by if name in layout.partition_keys)
    schema = schema_of(layout, scan.aggregate)
    for values, together in groupby(splits, lambda split: _values(split, fixed)):
        work = _Work.of(scan, tuple(name for name in by if name not in fixed))
        for states in chain.from_iterable(map(work.split, together)):
            yield from _shown(work, states, fixed, values, schema)
        for states in work.last(has_row=not by):
            yield from _shown(work, states, fixed, values, schema)


def _values(split: Split, names: Sequence[str]) -> list[pa.Scalar]:
    """The values of some columns of the partition."""
    return [] if split.partition is None else [split.partition.column(name)[0] for name in names]


def _shown(
    work: _Work,
    states: pa.RecordBatch,
    fixed: Sequence[str],
    values: Sequence[pa.Scalar],
    schema: pa.Schema,
) -> Iterator[pa.RecordBatch]:
    """States as they are sent, with the columns of the partition."""
    for batch in sent(work.functions, states):
        constant = dict(zip(fixed, values, strict=True))
        found = iter(batch.columns)
        arrays = [
            pa.repeat(constant[name], batch.num_rows) if name in constant else next(found)
            for name in schema.names[: len(schema) - len(work.functions)]
        ]
        yield pa.RecordBatch.from_arrays([*arrays, *found], schema=schema)


@dataclass(frozen=True)
class _Work:
    """The folding of splits of one partition, or of several if that does not matter."""

    rows: ScanSpec
    scan: ScanSpec
    merge: MergePlan
    functions: tuple[Function, ...]
    groups: Groups
    by_footers: bool
    unmerged: bool

    @staticmethod
    def of(scan: ScanSpec, by: Sequence[str]) -> _Work:
        """The work of a scan whose groups are made by these columns of files."""
        layout, asked = scan.layout, scan.aggregate
        assert asked is not None
        chosen = functions(layout, asked)
        needed = {*by, *(f.name for f in chosen if f.name is not None)}
        rows = replace(
            scan,
            columns=tuple(column.name for column in layout.columns if column.name in needed),
            aggregate=None,
        )
        return _Work(
            rows,
            scan,
            plan(layout, rows.columns),
            chosen,
            Groups(by, chosen),
            by_footers=not scan.key_filter and footer_facts.answers(layout, asked),
            unmerged=without_merge.may_be_folded(layout, asked),
        )

    def split(self, split: Split) -> Iterator[pa.RecordBatch]:
        """Fold the rows of a split; returns states that must be sent now."""
        for part in chain.from_iterable(self._parts(split, found) for found in split.sections):
            rest, known = self._known(split, part)
            for states in known:
                yield from self.groups.states(states)
            if rest:
                for batch in reader.read(self.rows, replace(split, sections=(rest,)), self.merge):
                    count("rows_out", batch.num_rows)
                    yield from each("merge", self.groups.rows(batch))

    def last(self, *, has_row: bool) -> Iterator[pa.RecordBatch]:
        """The states that are left; with `has_row` those of no rows too, which change nothing."""
        if has_row:
            arrays = [nothing(function) for function in self.functions]
            none = pa.RecordBatch.from_arrays(arrays, names=self.groups.names)
            yield from self.groups.states(none)
        yield from self.groups.last()

    def _parts(self, split: Split, section: Section) -> Iterator[Section]:
        """The section; or each of its runs, as if no other were there, if it needs no merge."""
        if len(section) > 1 and not (
            self.unmerged and without_merge.is_sound(self.scan, split, section)
        ):
            yield section
        else:
            yield from ((run,) for run in section)

    def _known(self, split: Split, part: Section) -> tuple[Section, list[pa.RecordBatch]]:
        """The files of a part that have to be read, and the states that footers tell."""
        is_cut = split.after is not None or split.until is not None
        if not self.by_footers or is_cut or len(part) > 1:
            return part, []
        rest, known = [], []
        for file in part[0]:
            found = footer_facts.states(self.scan, split, file, self.functions)
            if found is None:
                rest.append(file)
            else:
                known.append(pa.RecordBatch.from_arrays(found, names=self.groups.names))
        return ((tuple(rest),) if rest else ()), known
