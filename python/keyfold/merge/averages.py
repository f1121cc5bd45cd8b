"""avg as the function of a column: its sum and its count are columns of the table, and it is read
as their quotient.

`fields.x.sum-and-count` names the two. Writes fill them from the values of `x`; from there on they
fold by `sum`, so that any split of the records into jobs, files and merges gives the same mean.
A stored row holds the quotient of what it has folded, so that a lone row needs no merge.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from keyfold.aggregates.declaration import Accepts, Fold, Records
from keyfold.errors import NotSupportedError, TableError
from keyfold.options.column_options import SUM_AND_COUNT
from keyfold.options.declared import TableOptions
from keyfold.options.parsing import parse
from keyfold.types.logical import describe, name_of
from keyfold.wire.layout import TableLayout

NAME, ENGINE = "avg", "aggregation"
_MOST_DIGITS = 38
_EXACT = Context(prec=2 * _MOST_DIGITS)


def _not_alone(records: Records) -> Any:
    raise AssertionError("a mean folds by its sum and its count")


# The column's function, as far as others ask for it: what it does is below.
AVERAGE = Fold(
    NAME,
    Accepts("DOUBLE or DECIMAL", lambda kind: types.is_float64(kind) or types.is_decimal(kind)),
    _not_alone,
    is_retractable=True,
    retracts_alone=True,
    is_stored_by_paimon=False,
)


@dataclass(frozen=True)
class Average:
    """A column that is the mean, and the columns of its sum and its count."""

    name: str
    sum: str
    count: str

    @property
    def parts(self) -> tuple[str, str]:
        """The columns that the table fills."""
        return self.sum, self.count


def is_average(options: TableOptions, name: str) -> bool:
    """Whether a column's function is avg."""
    function = options.field_options(name).get("aggregate-function", "")
    return function.strip().lower() == NAME


def averages(layout: TableLayout, options: TableOptions) -> Iterator[Average]:
    """The means of a table."""
    for column in layout.columns:
        if is_average(options, column.name):
            text = options.field_options(column.name).get(SUM_AND_COUNT, "")
            parts = [part.strip() for part in text.split(",")]
            if len(parts) == 2:
                yield Average(column.name, *parts)


def with_parts(layout: TableLayout, options: TableOptions, names: Collection[str]) -> set[str]:
    """Named columns, with those that the table fills for the means among them."""
    found = set(names)
    for one in averages(layout, options):
        found |= set(one.parts) if one.name in found else set()
    return found


def check_parts_left(
    layout: TableLayout, options: TableOptions, names: Collection[str], doing: str = "writing"
) -> None:
    """Raises TableError if a statement names a column that the table fills."""
    for one in averages(layout, options):
        for part in one.parts:
            if part in names:
                raise _filled(layout, one, part, doing)


def _filled(layout: TableLayout, one: Average, part: str, doing: str = "writing") -> TableError:
    return TableError(
        f"{doing} table {layout.name}: column {part} is filled from the values of {one.name} "
        f"(fields.{one.name}.{SUM_AND_COUNT}); name the other columns, as in INSERT INTO t "
        f"(key, {one.name})"
    )


def filled(
    layout: TableLayout, batch: pa.RecordBatch, columns: Collection[str], *, overwrites: bool
) -> pa.RecordBatch:
    """The rows that a job writes, with sum and count of the means that it names. Rows that
    overwrite keep those that they have, if these are of the mean that they bring. Raises TableError
    if others bring some.
    """
    for one in averages(layout, parse(layout)):
        if one.name not in columns:
            continue
        mean, own = batch.column(one.name), [batch.column(part) for part in one.parts]
        for part, array in zip(one.parts, own, strict=True):
            if not overwrites and array.null_count < len(array):
                raise _filled(layout, one, part)
        made = [mean.cast(own[0].type), mean.is_valid().cast(own[1].type)]
        if overwrites:
            kept = pc.fill_null(pc.equal(quotient(own[0], own[1], mean.type), mean), False)
            made = [pc.if_else(kept, old, new) for old, new in zip(own, made, strict=True)]
        for part, array in zip(one.parts, made, strict=True):
            place = batch.schema.get_field_index(part)
            batch = batch.set_column(place, batch.schema.field(place), array)
    return batch


def quotient(total: pa.Array, count: pa.Array, kind: pa.DataType) -> pa.Array:
    """The mean of each row; NULL without a value. Of decimals, halves go away from zero."""
    count = pc.if_else(pc.equal(count, 0), pa.scalar(None, count.type), count)
    if types.is_float64(kind):
        return pc.divide(total, count.cast(kind))
    wide = pa.decimal256(_MOST_DIGITS, total.type.scale)
    exact = pc.divide(total.cast(wide), count.cast(pa.decimal256(19, 0)))
    rounded = pc.round(exact, ndigits=kind.scale, round_mode="half_towards_infinity")
    return rounded.cast(kind)


def definition(total: Any, count: int | None, scale: int | None) -> Any:
    """The mean, slowly."""
    if not count or total is None:
        return None
    if scale is None:
        return total / count
    unit = Decimal(1).scaleb(-scale)
    return _EXACT.divide(total, Decimal(count)).quantize(unit, ROUND_HALF_UP, _EXACT)


def settled(layout: TableLayout) -> TableLayout:
    """The layout, in which sums and counts of means have their function."""
    options = dict(layout.options)
    for one in averages(layout, parse(layout)):
        for part in one.parts:
            options.setdefault(f"fields.{part}.aggregate-function", "sum")
    return layout if options == layout.options else replace(layout, options=options)


def check(layout: TableLayout, options: TableOptions, before: TableLayout | None) -> None:
    """Raises TableError or NotSupportedError if a mean lacks what it needs."""
    known = {one.name: one for one in averages(layout, options)}
    _check_named(layout, options, {} if before is None else before.options)
    old = [] if before is None else [_ids(before, one) for one in averages(before, parse(before))]
    for name in (c.name for c in layout.columns if is_average(options, c.name)):
        where = f"table {layout.name}, column {name}"
        if options.merge_engine != ENGINE:
            raise NotSupportedError(f"{where}: function avg needs merge-engine = {ENGINE}")
        if name not in known:
            raise TableError(
                f"{where}: function avg needs fields.{name}.{SUM_AND_COUNT}, which names two "
                f"columns that the table fills, as {name}_sum DOUBLE, {name}_count BIGINT"
            )
        _check_types(layout, options, known[name], where)
        _check_own(known[name], known, where)
        if before is not None and _ids(layout, known[name]) not in old:
            raise NotSupportedError(
                f"{where}: function avg is set when the table is made: of the rows that are stored "
                "nobody knows how many values they had"
            )


def _check_named(layout: TableLayout, options: TableOptions, before: Mapping[str, str]) -> None:
    default = options.default_aggregate
    if default is not None and default.strip().lower() == NAME and options.engine.folds_columns:
        raise TableError(
            f"table {layout.name}, option {TableOptions.default_aggregate.name}: {NAME} is a "
            "function of single columns: set fields.<column>.aggregate-function, and "
            f"fields.<column>.{SUM_AND_COUNT}, which names two columns that the table fills"
        )
    for name in (column.name for column in layout.columns):
        option = f"fields.{name}.{SUM_AND_COUNT}"
        is_new = option in layout.options and option not in before
        if is_new and not is_average(options, name):
            raise TableError(
                f"table {layout.name}: option {option} is not supported; it belongs to '{NAME}', "
                f"which fields.{name}.aggregate-function names"
            )


def _check_own(one: Average, known: Mapping[str, Average], where: str) -> None:
    for part, words in ((one.sum, "its sum"), (one.count, "its count")):
        for other in known.values():
            if other != one and part in other.parts:
                raise TableError(
                    f"{where}: {part}, {words}, is that of {other.name}, too: each mean needs "
                    "two columns of its own"
                )


def _ids(layout: TableLayout, one: Average) -> list[int]:
    """The columns by their ids, which stay when they are renamed."""
    names = (one.name, *one.parts)
    return [layout.column(name).id for name in names if layout.has_column(name)]


def _check_types(layout: TableLayout, options: TableOptions, one: Average, where: str) -> None:
    fixed = (*layout.primary_key, *options.sequence_fields)
    for part, words in ((one.name, "the mean"), (one.sum, "its sum"), (one.count, "its count")):
        if not layout.has_column(part) or part in fixed:
            raise TableError(f"{where}: {part}, {words}, is not a column of its own")
        column = layout.column(part)
        if not column.type.nullable or column.default is not None or column.initial is not None:
            raise TableError(f"{where}: {part}, {words}, is NOT NULL or has a DEFAULT")
        if part != one.name and options.field_options(part).get("aggregate-function") != "sum":
            raise TableError(
                f"{where}: {part}, {words}, folds by sum; leave its function out, or set that"
            )
    kinds = [layout.column(part).type for part in (one.name, *one.parts)]
    mean, total, count = kinds
    is_double = name_of(mean) == name_of(total) == "DOUBLE"
    scales = getattr(mean, "scale", None), getattr(total, "scale", None)
    digits = getattr(total, "length", None)
    is_decimal = name_of(mean) == name_of(total) == "DECIMAL" and scales[0] == scales[1]
    if not (is_double or (is_decimal and digits == _MOST_DIGITS)) or name_of(count) != "BIGINT":
        raise TableError(
            f"{where}: function avg takes a DOUBLE with a sum that is DOUBLE, or a DECIMAL(p, s) "
            f"with a sum that is DECIMAL(38, s), and a count that is BIGINT; found "
            f"{', '.join(map(describe, kinds))}"
        )


def columns_to_fold(
    layout: TableLayout, options: TableOptions, output: Sequence[str]
) -> tuple[str, ...]:
    """The columns that a merge folds to emit these: sums and counts of means come last."""
    return (*output, *sorted(with_parts(layout, options, output) - set(output)))
