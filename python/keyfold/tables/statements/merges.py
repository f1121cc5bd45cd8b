"""MERGE: what becomes of the rows of a source and of those of the table that they match."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from keyfold.tables.rows.conversions.unfit import matched
from keyfold.tables.statements.expressions import SOURCE, TARGET, AssignedValues, side_by_side
from keyfold.tables.statements.matches import Matches
from keyfold.tables.statements.sources import source
from keyfold.tables.statements.statement import ChangeStatement, Flags, planned
from keyfold.tables.writes import Destination, defaults
from keyfold.wire.layout import TableLayout

MERGING = "merging into"
MATCHED, NOT_MATCHED, BY_SOURCE = "matched", "not matched", "not matched by source"
UPDATE, DELETE, INSERT = "update", "delete", "insert"


@dataclass(frozen=True)
class Clause:
    """One action of a MERGE, with rows that fit it and no clause before it. It assigns `values`, or
    if they are None those of the source of the same names but `omitted`.
    """

    when: str
    action: str
    predicate: pc.Expression | None = None
    values: Mapping[str, Any] | None = None
    omitted: Sequence[str] = ()


def merged(
    to: Destination,
    data: Any,
    on: Sequence[str] | Mapping[str, str] | None,
    clauses: Sequence[Clause],
    options: Mapping[str, str],
) -> int | None:
    """Do the clauses; returns the snapshot, None if nothing changed. Raises TableError if two rows
    of the source match one of the table, ConflictError if another job changed such rows since the
    snapshot that was read.
    """
    rows: list[pa.Table] = []  # once: they may be a stream

    def made(layout: TableLayout) -> MergeStatement:
        values = AssignedValues(layout, MERGING)
        if not rows:
            rows.append(source(values, data))
        return MergeStatement.of(values, rows[0], on, clauses)

    with to.session.working():
        statement = planned(to, "MERGE", options, lambda layout: made(layout).assigned())
        return statement.committed(made(statement.layout).records(statement))


@dataclass(frozen=True)
class MergeStatement:
    """A MERGE into a table; `on` are the columns of the table by those of the source, whose values
    are equal where rows match.
    """

    values: AssignedValues
    source: pa.RecordBatch
    on: Mapping[str, str]
    clauses: Sequence[Clause]

    @staticmethod
    def of(
        values: AssignedValues,
        rows: pa.Table,
        on: Sequence[str] | Mapping[str, str] | None,
        clauses: Sequence[Clause],
    ) -> MergeStatement:
        """The MERGE of what a user gave, all of it checked."""
        if not clauses:
            raise values.refused("no clause says what is done: when_matched_update_all() does")
        given = values.layout.primary_key if on is None else on
        pairs = given if isinstance(given, Mapping) else {name: name for name in given}
        if not pairs:
            raise values.refused("on names no column")
        if not rows.schema.names:  # an empty list: other clauses may name any columns of it
            clauses = [clause for clause in clauses if clause.when == BY_SOURCE]
            rows = pa.table({name: pa.array([], pa.null()) for name in pairs.values()})
        found = {
            own: _named(values, rows.schema.names, pairs[name])
            for name in pairs
            for own in values.columns({name: None})
        }
        resolved = [_resolved(values, rows.schema.names, found, clause) for clause in clauses]
        whole = rows.combine_chunks().to_batches()
        batch = whole[0] if whole else pa.RecordBatch.from_pylist([], rows.schema)
        return MergeStatement(values, batch, found, resolved)

    def assigned(self) -> Sequence[str] | None:
        """The columns that updates set; None if there is no update."""
        updates = [c.values or {} for c in self.clauses if c.action == UPDATE]
        names = {name for values in updates for name in values}
        return [c.name for c in self.values.layout.columns if c.name in names] if updates else None

    def records(self, statement: ChangeStatement) -> Iterator[pa.RecordBatch]:
        """The records of all rows that change."""
        matches = Matches(self.values, self.source, self.on)
        self._check(statement)
        new = np.ones(self.source.num_rows, dtype=bool)
        needs_all = any(clause.when == BY_SOURCE for clause in self.clauses)
        asked = None if needs_all else matches.keys()
        rows = statement.scanned() if asked is None else statement.looked_up(asked)
        for batch in rows:
            of_target, of_source = matches.pairs(batch)
            new[of_source] = False
            yield from self._matched(statement, batch, of_target, of_source)
            alone = np.ones(batch.num_rows, dtype=bool)
            alone[of_target] = False
            if needs_all and alone.any():
                target = batch.filter(pa.array(alone))
                yield from self._changed(statement, BY_SOURCE, target, {TARGET: target})
        rest = self.source.filter(pa.array(new))
        if rest.num_rows:
            yield from self._changed(statement, NOT_MATCHED, rest, {SOURCE: rest})

    def _check(self, statement: ChangeStatement) -> None:
        """Raises TableError if a clause can't be computed, whatever the rows are."""
        target, source = statement.no_rows(), self.source.slice(0, 0)
        sides = {MATCHED: {TARGET: target, SOURCE: source}}
        sides |= {BY_SOURCE: {TARGET: target}, NOT_MATCHED: {SOURCE: source}}
        for clause in self.clauses:
            seen = side_by_side(sides[clause.when])
            self.values.holds(seen, clause.predicate)
            self.values.computed(seen, clause.values or {}, target)

    def _matched(
        self, statement: ChangeStatement, rows: pa.RecordBatch, of_target: Any, of_source: Any
    ) -> Iterator[pa.RecordBatch]:
        clauses = [clause for clause in self.clauses if clause.when == MATCHED]
        if not clauses or not len(of_target):
            return
        places, first, counts = np.unique(of_target, return_index=True, return_counts=True)
        if len(places) < len(of_target):
            if clauses[0].action != DELETE or clauses[0].predicate is not None:
                twice = rows.slice(int(places[counts > 1][0]), 1)
                key = {
                    name: twice.column(name)[0].as_py() for name in self.values.layout.primary_key
                }
                raise self.values.refused(
                    f"rows of the source match one row of the table twice, {key}: a row is changed "
                    "once by a statement; leave out or fold those of the source before"
                )
            of_target, of_source = of_target[first], of_source[first]
        target, source = rows.take(pa.array(of_target)), self.source.take(pa.array(of_source))
        yield from self._changed(statement, MATCHED, target, {TARGET: target, SOURCE: source})

    def _changed(
        self,
        statement: ChangeStatement,
        when: str,
        rows: pa.RecordBatch,
        sides: Mapping[str, pa.RecordBatch],
    ) -> Iterator[pa.RecordBatch]:
        """The records of rows, each by the first clause that it fits."""
        seen = side_by_side(sides)
        left = np.ones(rows.num_rows, dtype=bool)
        for clause in self.clauses:
            if clause.when != when or not left.any():
                continue
            holds = self.values.holds(seen, clause.predicate)
            fits: Flags = left if holds is None else left & holds
            left = left & ~fits
            if fits.any():
                mask = pa.array(fits)
                yield from self._done(statement, clause, rows.filter(mask), seen.filter(mask))

    def _done(
        self, statement: ChangeStatement, clause: Clause, rows: pa.RecordBatch, seen: pa.RecordBatch
    ) -> Iterator[pa.RecordBatch]:
        """The records of rows that fit a clause."""
        if clause.action == DELETE:
            yield statement.deleted(rows)
            return
        new = self.values.computed(seen, clause.values or {}, rows)
        if clause.action == UPDATE:
            yield from statement.updated(rows, new)
        else:
            left = defaults(self.values.layout, new)
            others = {name: pa.repeat(one, rows.num_rows) for name, one in left.items()}
            yield statement.inserted(rows.num_rows, {**new, **others})


def _named(values: AssignedValues, names: Sequence[str], name: str) -> str:
    """A column of the source, in any letter case."""
    found = matched(names, name)
    if found is None:
        raise values.refused(
            f"the source has no column {name}; it has {', '.join(names) or 'none'}"
        )
    return found


def _resolved(
    values: AssignedValues, names: Sequence[str], on: Mapping[str, str], clause: Clause
) -> Clause:
    """The clause with what it assigns by the names of columns. An update of all leaves those alone
    that are equal where rows match.
    """
    if clause.action == DELETE:
        return clause
    if clause.values is not None:
        found = values.columns(clause.values)
    else:
        omitted = values.columns(dict.fromkeys(clause.omitted))
        own = {name: n for n in names for name in _own(values, n)}
        if clause.action == UPDATE:
            omitted |= {name: None for name, of in on.items() if own.get(name) == of}
        found = {n: pc.field(SOURCE, of) for n, of in own.items() if n not in omitted}
    if not found:
        raise values.refused(f"a clause of rows that are {clause.when} assigns no column")
    if clause.action == INSERT and (missing := _missing(values.layout, found)):
        raise values.refused(f"a clause inserts rows without column {missing[0]} of the key")
    return replace(clause, values=found)


def _own(values: AssignedValues, name: str) -> list[str]:
    own = matched((column.name for column in values.layout.columns), name)
    return [] if own is None else [own]


def _missing(layout: TableLayout, found: Mapping[str, Any]) -> list[str]:
    key = [layout.column(name) for name in layout.primary_key]
    return [
        c.name for c in key if c.name not in found and c.default is None and not c.type.nullable
    ]
