"""New values of columns: constants, or expressions of `pyarrow.compute` over rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from keyfold.errors import TableError
from keyfold.tables.rows.conversions.columns import accepted
from keyfold.tables.rows.conversions.unfit import Given, matched, shown
from keyfold.tables.statements.statement import Flags
from keyfold.wire.layout import Column, TableLayout

TARGET, SOURCE = SIDES = ("target", "source")
_EXAMPLE = "such as pc.field('n')"
_WRONG = (pa.ArrowException, TypeError, ValueError)


@dataclass(frozen=True)
class AssignedValues:
    """The values of a table's columns that a statement (`doing`) computes for rows."""

    layout: TableLayout
    doing: str

    def columns(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The assigned values by the names of columns, given in any letter case. Raises TableError
        if one is unknown or comes twice.
        """
        known = [column.name for column in self.layout.columns]
        found: dict[str, Any] = {}
        for name, value in given.items():
            own = matched(known, name)
            if own is None:
                raise self.refused(f"there is no column {name}; there are {', '.join(known)}")
            if own in found:
                raise self.refused(f"column {own} is assigned twice")
            found[own] = value
        return found

    def refused(self, why: str) -> TableError:
        """The error: the statement can't be."""
        return TableError(f"{self.doing} table {self.layout.name}: {why}")

    def computed(
        self, rows: pa.RecordBatch, assigned: Mapping[str, Any], named: pa.RecordBatch
    ) -> dict[str, pa.Array]:
        """The new values of columns, in the columns' types. Fields of expressions are columns of
        `rows`; errors name these by their keys in `named`. Raises TableError if a column does not
        take a value.
        """
        expressions = {n: v for n, v in assigned.items() if isinstance(v, pc.Expression)}
        made: dict[str, Given] = dict(self._evaluated(rows, expressions))
        found = {}
        for name, value in assigned.items():
            column = self.layout.column(name)
            if name in made:
                found[name] = self.converted(column, made[name], named)
            else:
                one = self._constant(column, value)
                found[name] = pa.repeat(one[0], rows.num_rows)
        return found

    def holds(self, rows: pa.RecordBatch, condition: pc.Expression | None) -> Flags | None:
        """The rows for which a condition is true; None without one."""
        if condition is None:
            return None
        if not isinstance(condition, pc.Expression):
            raise self.refused(
                f"expected a predicate as an expression of pyarrow.compute, {_EXAMPLE} > 3, found "
                f"{shown(condition)}"
            )
        found = self._evaluated(rows, {"condition": condition})["condition"]
        if not pa.types.is_boolean(found.type):
            raise self.refused(f"expected a condition, found {condition}, of type {found.type}")
        flags: Flags = pc.fill_null(found, False).to_numpy(zero_copy_only=False)
        return flags

    def _evaluated(
        self, rows: pa.RecordBatch, expressions: Mapping[str, pc.Expression]
    ) -> dict[str, pa.Array]:
        if not expressions:
            return {}
        try:
            return _projected(rows, expressions)
        except _WRONG as error:
            for name, one in expressions.items():  # which one it is
                try:
                    _projected(rows, {name: one})
                except _WRONG as own:
                    raise self.refused(self._reason(rows, name, one, own)) from error
            raise

    def _reason(self, rows: pa.RecordBatch, name: str, one: pc.Expression, error: Exception) -> str:
        first = str(error).partition("\n")[0]
        if "No match for FieldRef" in first or "Field reference" in first:
            known = ", ".join(path for field in rows.schema for path in _paths(field))
            return f"{name} = {one} names no field; there are {known}"
        return f"{name} = {one}: {first}"

    def _constant(self, column: Column, value: Any) -> pa.Array:
        """A value in the type of its column. A text may be meant as an expression."""
        try:
            return self.converted(column, [value], None)
        except TableError as error:
            if not isinstance(value, str):
                raise
            raise TableError(
                f"{error}; an expression is one of pyarrow.compute, {_EXAMPLE} + 1"
            ) from error

    def converted(self, column: Column, given: Given, named: pa.RecordBatch | None) -> pa.Array:
        """Values in the type of their column, of rows whose keys are in `named`."""

        def refused(row: int, why: str) -> TableError:
            where = "" if named is None else self._where(named.slice(row, 1))
            return self.refused(f"{where}{why}")

        return accepted(given, column.type, column.name, refused)

    def _where(self, row: pa.RecordBatch) -> str:
        """A row by its key, as far as it is there."""
        names = [name for name in self.layout.primary_key if name in row.schema.names]
        key = ", ".join(f"{name} = {shown(row.column(name)[0])}" for name in names)
        return f"row {key}: " if key else ""


def _projected(
    rows: pa.RecordBatch, expressions: Mapping[str, pc.Expression]
) -> dict[str, pa.Array]:
    acero = import_module("pyarrow.acero")  # it imports pandas if that is there: half a second
    source = acero.TableSourceNodeOptions(pa.Table.from_batches([rows]))
    project = acero.ProjectNodeOptions(list(expressions.values()), list(expressions))
    steps = [acero.Declaration("table_source", source), acero.Declaration("project", project)]
    table = acero.Declaration.from_sequence(steps).to_table(use_threads=False)
    return {name: whole(table.column(name)) for name in expressions}


def whole(column: pa.ChunkedArray) -> pa.Array:
    """A column in one piece."""
    found = column.combine_chunks()
    return found if isinstance(found, pa.Array) else pa.concat_arrays(found.chunks)


def _paths(field: pa.Field) -> Iterable[str]:
    """The names of a column in expressions: a field of a side of a MERGE has the side before it."""
    if field.name in SIDES and pa.types.is_struct(field.type):
        return [f"pc.field({field.name!r}, {inner.name!r})" for inner in field.type]
    return [field.name]


def side_by_side(sides: Mapping[str, pa.RecordBatch]) -> pa.RecordBatch:
    """Rows of a MERGE as expressions see them: a struct of each side."""
    arrays = [pa.StructArray.from_arrays(b.columns, fields=list(b.schema)) for b in sides.values()]
    return pa.RecordBatch.from_arrays(arrays, list(sides))
