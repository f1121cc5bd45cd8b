"""Expressions that a query sums, over the columns of a batch: as Spark computes them, or not.

Numbers are int64, in the least unit of their type. Before each step the ends of both sides tell
whether every result fits the step's type and 64 bits. Where all fit, Spark has nothing to round and
no overflow, in any of its modes. Where one might not, nothing is computed: the rows are sent, and
Spark computes them, or fails, by its own rules. There a DECIMAL(32, 4) is an object of Java's, as
`price * (1 - discount)` is one where both are DECIMAL(15, 2).
"""

from __future__ import annotations

import json
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import types

from keyfold.kernels.buffers import Mask, Rows, dtype_of, ones, pack, validity, values, view
from keyfold.lazy import cached_property
from keyfold.types.literals import unscaled
from keyfold.wire.layout import sql_name

_MOST = (1 << 63) - 1
PIECE = 1 << 13
_DIGITS = 18  # of decimals whose values are 64 bits
_WHOLE = {
    "byte": (8, "TINYINT"),
    "short": (16, "SMALLINT"),
    "integer": (32, "INT"),
    "long": (64, "BIGINT"),
}
COLUMN, LITERAL, CAST = "column", "literal", "Cast"
UNSCALED = "UnscaledValue"  # a DECIMAL in its least unit: Spark sums those of up to 8 digits so
_SIGNS = {"Add": "+", "Subtract": "-", "Multiply": "*"}


@dataclass(frozen=True)
class Term:
    """A column, a constant, or what an operator makes of others. `most` is the greatest magnitude
    that its type holds, in the least unit, and `digits` are those behind the point. Equal terms
    have one `text`.
    """

    text: str
    op: str
    args: tuple[Term, ...] = ()
    name: str = ""
    number: int = 0
    most: int = _MOST
    digits: int = 0

    @staticmethod
    def from_json(tree: Mapping[str, Any]) -> Term:
        """A term as the JVM describes it."""
        text = json.dumps(tree)
        if COLUMN in tree:
            return Term(text, COLUMN, name=tree[COLUMN])
        most, digits = _range(tree["type"])
        if LITERAL in tree:
            value = Decimal(str(tree[LITERAL]))
            number = unscaled(value) * 10 ** (digits + int(value.as_tuple().exponent))
            return Term(text, LITERAL, (), str(tree[LITERAL]), number, most, digits)
        args = tuple(map(Term.from_json, tree["args"]))
        return Term(text, tree["op"], args, tree["type"], 0, most, digits)

    def __str__(self) -> str:
        if self.op == COLUMN:
            return sql_name(self.name)
        shown = [str(arg) for arg in self.args]
        if self.op == UNSCALED:
            return shown[0]
        if self.op == CAST:
            return f"CAST({shown[0]} AS {_WHOLE.get(self.name, (0, self.name.upper()))[1]})"
        return f"({f' {_SIGNS[self.op]} '.join(shown)})" if shown else self.name


def _range(kind: str) -> tuple[int, int]:
    """The greatest magnitude and the digits behind the point of a type, by Spark's name for it."""
    if kind in _WHOLE:
        return (1 << (_WHOLE[kind][0] - 1)) - 1, 0
    precision, scale = map(int, kind.removeprefix("decimal(").removesuffix(")").split(","))
    return 10**precision - 1, scale


@dataclass(frozen=True)
class _Numbers:
    """The numbers of a batch, which are not beyond their ends, with so many digits behind the
    point.
    """

    items: Any
    low: int
    high: int
    digits: int

    def times(self, factor: int) -> _Numbers:
        """The numbers times a constant. Raises Beyond if one might not fit 64 bits."""
        if factor == 1:
            return self
        _check(-factor, factor, _MOST)
        _check(self.low * factor, self.high * factor, _MOST)
        return _Numbers(self.items * factor, self.low * factor, self.high * factor, self.digits)


class Beyond(Exception):
    """A result might not fit, or is not made of numbers of 64 bits."""


def _check(low: int, high: int, most: int) -> None:
    if max(-low, high) > min(most, _MOST):
        raise Beyond


Terms = dict[str, _Numbers]
_OPERATORS: Mapping[str, Callable[[Any, Any], Any]] = {
    "Add": operator.add,
    "Subtract": operator.sub,
    "Multiply": operator.mul,
}


@dataclass(frozen=True)
class Expression:
    """An expression over columns. `kind` is the type of its sum's states, `sent` that of values."""

    term: Term
    kind: pa.DataType
    sent: pa.DataType

    def __str__(self) -> str:
        text = str(self.term)
        return text[1:-1] if text.startswith("(") else text

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The columns it is made of."""
        return tuple(dict.fromkeys(_columns(self.term)))

    def _put(self, out: Rows, batch: pa.RecordBatch, made: Terms) -> None:
        found = _numbers(self.term, batch, made).items
        if out.ndim == 1:
            out[:] = found
        else:
            out[:, 0] = found
            np.right_shift(found, 63, out=out[:, 1])


def computed(chosen: Sequence[Expression], batch: pa.RecordBatch) -> list[pa.Array]:
    """The values of all rows, NULL where a column is. Raises Beyond if one might not fit. A piece
    at a time, so that what is computed on the way stays in the processor's cache.
    """
    rows = batch.num_rows
    shapes = [(rows, 2) if types.is_decimal(one.kind) else (rows,) for one in chosen]
    buffers = [pa.allocate_buffer(8 * math.prod(shape)) for shape in shapes]
    room = [
        np.frombuffer(buffer, dtype=np.int64).reshape(shape)
        for buffer, shape in zip(buffers, shapes, strict=True)
    ]
    for start in range(0, rows, PIECE):
        piece, made = batch.slice(start, PIECE), Terms()
        for one, out in zip(chosen, room, strict=True):
            one._put(out[start : start + PIECE], piece, made)
    valid = [pack(_valid(batch, one.columns)) for one in chosen]
    return [
        pa.Array.from_buffers(one.kind, rows, [bitmap, buffer])
        for one, bitmap, buffer in zip(chosen, valid, buffers, strict=True)
    ]


def is_expression(name: str) -> bool:
    """Whether the name of a summed column, which the table lacks, is an expression."""
    return name.startswith("{")


@lru_cache(maxsize=256)
def expression(text: str) -> Expression:
    """The expression of a text of the JVM's."""
    tree = json.loads(text)
    precision, _, scale = tree["type"].removeprefix("decimal(").removesuffix(")").partition(",")
    if not scale:
        return Expression(Term.from_json(tree), pa.int64(), pa.int64())
    sent = pa.decimal128(int(precision), int(scale))
    return Expression(Term.from_json(tree), pa.decimal128(38, int(scale)), sent)


def _columns(term: Term) -> list[str]:
    return [term.name] if term.op == COLUMN else [n for arg in term.args for n in _columns(arg)]


def _valid(batch: pa.RecordBatch, names: tuple[str, ...]) -> Mask:
    found = ones(batch.num_rows)
    for name in names:
        column = batch.column(name)
        found = found & validity(column) if column.null_count else found
    return found


def _numbers(term: Term, batch: pa.RecordBatch, made: Terms) -> _Numbers:
    found = made.get(term.text)
    if found is None:
        found = made[term.text] = _taken(term, batch, made)
    return found


def _taken(term: Term, batch: pa.RecordBatch, made: Terms) -> _Numbers:
    if term.op == COLUMN:
        return _stored(batch.column(term.name))
    if term.op == LITERAL:
        _check(term.number, term.number, term.most)
        return _Numbers(term.number, term.number, term.number, term.digits)
    parts = [_numbers(arg, batch, made) for arg in term.args]
    if term.op == UNSCALED:
        return replace(parts[0], digits=0)
    if term.op == "Multiply":
        if sum(part.digits for part in parts) != term.digits:
            raise Beyond
    else:
        parts = [_with_digits(part, term.digits) for part in parts]
    if term.op == CAST:
        (part,) = parts
        _check(part.low, part.high, term.most)
        return _Numbers(part.items, part.low, part.high, term.digits)
    left, right = parts
    compute = _OPERATORS[term.op]
    ends = [
        compute(one, other) for one in (left.low, left.high) for other in (right.low, right.high)
    ]
    _check(min(ends), max(ends), term.most)
    return _Numbers(compute(left.items, right.items), min(ends), max(ends), term.digits)


def _with_digits(part: _Numbers, digits: int) -> _Numbers:
    """The numbers in a unit that is not larger. Raises Beyond if it is."""
    if digits < part.digits:
        raise Beyond
    return part.times(10 ** (digits - part.digits))


def _stored(column: pa.Array) -> _Numbers:
    """The values of a column, 0 in place of NULL."""
    kind, digits = column.type, 0
    if types.is_decimal(kind):
        if kind.precision > _DIGITS:
            raise Beyond
        digits = kind.scale
        halves = view(column.buffers()[1], np.int64, 2 * column.offset, 2 * len(column))
        items = np.ascontiguousarray(halves[::2])
    else:
        items = values(column, dtype_of(kind)).astype(np.int64, copy=False)
    if column.null_count:
        items = items * validity(column)
    return _Numbers(items, int(items.min()), int(items.max()), digits)
