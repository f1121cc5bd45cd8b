"""The condition of a scan: its predicates for the plan, and what is left to apply to rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from keyfold.errors import NotSupportedError, TableError
from keyfold.predicates import sql_text
from keyfold.predicates.condition import is_decided, satisfies, undecided
from keyfold.read.request import ReadRequest
from keyfold.tables.where import arrow, sql
from keyfold.wire.layout import TableLayout
from keyfold.wire.predicates import Predicate, conjuncts

Where: TypeAlias = "str | pc.Expression | None"


@dataclass(frozen=True)
class Condition:
    """`predicates` must all hold. Those of `enforced` are applied by the reader, those of `rest` to
    its rows, as is an `expression` that predicates only approach.
    """

    layout: TableLayout
    predicates: tuple[Predicate, ...] = ()
    enforced: tuple[Predicate, ...] = ()
    rest: tuple[Predicate, ...] = ()
    expression: pc.Expression | None = None

    @staticmethod
    def of(layout: TableLayout, where: Where) -> Condition:
        """The condition of a text in SQL or an expression of Arrow. Raises TableError if it is
        neither, names no column, or is nested too deeply.
        """
        try:
            return Condition._of(layout, where)
        except RecursionError:
            raise sql.too_deep(layout.name) from None

    @staticmethod
    def _of(layout: TableLayout, where: Where) -> Condition:
        if where is None:
            return Condition(layout)
        if isinstance(where, str):
            return Condition.over(layout, [sql.parse(layout, where)])
        if not isinstance(where, pc.Expression):
            raise TableError(
                f"condition on table {layout.name}: expected SQL text or an expression of "
                f"pyarrow.compute, found {type(where).__name__}"
            )
        found, is_whole = arrow.conjuncts(layout, where)
        return Condition.over(layout, found, None if is_whole else where)

    @staticmethod
    def over(
        layout: TableLayout,
        predicates: Sequence[Predicate],
        expression: pc.Expression | None = None,
    ) -> Condition:
        """The condition of predicates, all of which hold where the expression does."""
        every = tuple(conjuncts(predicates))
        enforced = tuple(p for p in every if p.columns and undecided(layout, [p]) is None)
        rest = () if expression is not None else tuple(p for p in every if p not in enforced)
        names = [column.name for column in layout.columns]
        if unread := [one for one in rest if not is_decided(layout, one, names)]:
            raise TableError(
                f"condition on table {layout.name}: {sql_text.describe(unread[0])} can't be applied"
            )
        return Condition(layout, every, enforced, rest, expression)

    def __str__(self) -> str:
        """The condition as a user reads it; empty if all rows pass."""
        if self.expression is not None:
            return str(self.expression)
        return " AND ".join(map(sql_text.describe, self.predicates))

    @property
    def is_enforced(self) -> bool:
        """Whether nothing is left to apply."""
        return not self.rest and self.expression is None

    @property
    def columns(self) -> list[str]:
        """The columns that what is left is about, in table order."""
        named = {name for predicate in self.rest for name in predicate.columns}
        found = set() if self.expression is None else arrow.fields(self.expression)
        return [c.name for c in self.layout.columns if found is None or c.name in named | found]

    def request(
        self,
        columns: tuple[str, ...],
        limit: int | None,
        cores: int,
        options: Mapping[str, str] | None = None,
    ) -> ReadRequest:
        """The request of rows with these columns, and those that what is left is about."""
        return ReadRequest(
            (*columns, *(name for name in self.columns if name not in columns)),
            self.predicates,
            self.enforced,
            limit if self.is_enforced else None,
            options or {},
            cores,
        )

    def shown(
        self, batches: Iterator[pa.RecordBatch], read: tuple[str, ...], columns: tuple[str, ...]
    ) -> Iterator[pa.RecordBatch]:
        """The rows that pass, with `columns` of those that were `read`."""
        passing = batches if self.is_enforced else self.kept(batches)
        return passing if read == columns else (b.select(list(columns)) for b in passing)

    def kept(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows for which what is left is true."""
        for batch in batches:
            found = batch
            if self.rest:
                found = found.filter(satisfies(self.layout, self.rest, found))
            if self.expression is not None and found.num_rows:
                found = found.filter(self.expression)
            if found.num_rows:
                yield found


def partition_filters(layout: TableLayout, where: Where) -> tuple[Predicate, ...]:
    """A condition that chooses partitions, as predicates. Raises NotSupportedError if it is an
    expression that is not made of comparisons with constants.
    """
    found = Condition.of(layout, where)
    if found.expression is not None:
        raise NotSupportedError(
            f"partitions of table {layout.name}: this expression of Arrow does not compare "
            "partition columns with constants; give the condition as SQL text"
        )
    return found.predicates
