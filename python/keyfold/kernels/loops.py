"""The sources of loops over users' functions: folds of numbers, picks of rows.

A value is one slot, or several under names (a struct's fields, an engine's columns), which the
function gets as one named tuple. Whole numbers, dates and times are 64-bit integers there, floats
64-bit floats, texts the array of their bytes. `ops` mean what they do in `aggregates.declare`.
"""

import math
import numbers
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from textwrap import indent
from types import ModuleType
from typing import Any, Literal

import numba
import numpy.typing as npt
import pyarrow as pa

from keyfold.kernels import generated
from keyfold.kernels.buffers import bits, text, validity, values
from keyfold.kernels.generated import Call, Loop

Kind = Literal["integer", "float", "boolean", "bytes"]
_ARRAYS = {"integer": ("int64[::1]",), "float": ("float64[::1]",), "boolean": ("uint8[::1]",)}
_BYTES = ("int64[::1]", "uint8[::1]")
_CASTS = {"integer": "np.int64({})", "float": "np.float64({})", "boolean": "bool({})"}
_ZERO = {"integer": "0", "float": "0.0", "boolean": "False"}
_TYPES = {
    "integer": numba.int64,
    "float": numba.float64,
    "boolean": numba.boolean,
    "bytes": numba.types.Array(numba.uint8, 1, "C"),
}
_RESULTS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "integer": (generated.integer, "a whole number"),
    "float": (generated.number, "a number"),
    "boolean": (generated.boolean, "True or False"),
}


@dataclass(frozen=True)
class Slot:
    """One number or text that a function sees; `sees_nulls`: NULL is None, else it never comes."""

    name: str
    kind: Kind
    sees_nulls: bool = False


@dataclass(frozen=True)
class Shape:
    """What a function sees of a row: one slot as it is, or several as a named tuple."""

    slots: tuple[Slot, ...]
    is_tuple: bool

    @property
    def names(self) -> tuple[str, ...]:
        """The fields of the named tuple."""
        return tuple(slot.name for slot in self.slots)


def inputs(slots: Sequence[Slot], columns: Sequence[pa.Array]) -> list[npt.NDArray[Any]]:
    """The arrays a loop reads the slots from."""
    return [
        array for slot, column in zip(slots, columns, strict=True) for array in _of(slot, column)
    ]


def _of(slot: Slot, column: pa.Array) -> tuple[npt.NDArray[Any], ...]:
    mask = (validity(column),) if slot.sees_nulls else ()
    if slot.kind == "bytes":
        return (*text(column), *mask)
    if slot.kind == "boolean":
        return (bits(column.buffers()[1], column.offset, len(column)), *mask)
    prefix, target = ("i", "int64") if slot.kind == "integer" else ("f", "float64")
    own = values(column, f"{prefix}{column.type.bit_width // 8}")
    return (own.astype(target, copy=False), *mask)


def fold(shape: Shape, calls: dict[str, Any], identity: Sequence[Any] | None) -> Loop:
    """A loop `loop(slots…, valid, ops, order, starts, outs…, out_valid)` over calls of `step` and,
    if it is given, `retract`; a shape that sees NULLs has one slot.
    """
    sees_nulls = shape.slots[0].sees_nulls
    source = _fold_nulls(shape, calls, identity) if sees_nulls else _fold(shape, calls, identity)
    arrays = [array for slot in shape.slots for array in _ARRAYS[slot.kind]]
    fixed = ["uint8[::1]", "int8[::1]", "int64[::1]", "int64[::1]"]
    signature = f"void({', '.join([*arrays, *fixed, *arrays, 'uint8[::1]'])})"
    called = {name: _call(shape, own, _folded_type(shape)) for name, own in calls.items()}
    return Loop(_head(shape) + source, signature, called)


def pick(shape: Shape, step: Any) -> Loop:
    """A loop `loop(slots…, valid, ops, order, starts, out)`: out[g] is the row that no later row
    replaced, -1 for none.
    """
    arguments = ", ".join(_inputs(shape))
    source = f"""
def loop({arguments}, valid, ops, order, starts, out):
    for g in range(len(out)):
        best = -1
        for at in range(starts[g], starts[g + 1]):
            row, op = order[at], ops[at]
            if op == 2:
                best = -1
            if op > 0 and valid[row]:
                if best < 0 or step({_packed(shape, "best")}, {_packed(shape, "row")}):
                    best = row
        out[g] = best
"""
    arrays = [a for slot in shape.slots for a in _input_types(slot)]
    fixed = ["uint8[::1]", "int8[::1]", "int64[::1]", "int64[::1]", "int64[::1]"]
    signature = f"void({', '.join([*arrays, *fixed])})"
    return Loop(_head(shape) + source, signature, {"step": _call(shape, step, _truth)})


def _head(shape: Shape) -> str:
    return f'''"""A loop that keyfold generated around a function of the user's."""

from collections import namedtuple

import numpy as np

Row = namedtuple("Row", {shape.names!r})
'''


def _input_types(slot: Slot) -> tuple[str, ...]:
    own = _BYTES if slot.kind == "bytes" else _ARRAYS[slot.kind]
    return (*own, "uint8[::1]") if slot.sees_nulls else own


def _inputs(shape: Shape) -> list[str]:
    names = []
    for k, slot in enumerate(shape.slots):
        names += [f"offsets{k}", f"bytes{k}"] if slot.kind == "bytes" else [f"values{k}"]
        names += [f"mask{k}"] if slot.sees_nulls else []
    return names


def _value(slot: Slot, k: int, row: str) -> str:
    """The slot's value at a row."""
    if slot.kind == "bytes":
        found = f"bytes{k}[offsets{k}[{row}]:offsets{k}[{row} + 1]]"
    else:
        found = f"values{k}[{row}]" + (" != 0" if slot.kind == "boolean" else "")
    return f"({found} if mask{k}[{row}] else None)" if slot.sees_nulls else found


def _packed(shape: Shape, row: str) -> str:
    found = [_value(slot, k, row) for k, slot in enumerate(shape.slots)]
    return f"Row({', '.join(found)})" if shape.is_tuple else found[0]


def _fold(shape: Shape, calls: dict[str, Any], identity: Sequence[Any] | None) -> str:
    slots = list(enumerate(shape.slots))
    accs = [f"acc{k}" for k, _ in slots]
    acc = f"Row({', '.join(accs)})" if shape.is_tuple else accs[0]
    start = [
        f"acc{k} = "
        + _CASTS[s.kind].format(_ZERO[s.kind] if identity is None else _literal(identity[k]))
        for k, s in slots
    ]
    first = [f"acc{k} = {_value(slot, k, 'row')}" for k, slot in slots]
    kept = [
        f"acc{k} = " + _CASTS[slot.kind].format(f"result[{k}]" if shape.is_tuple else "result")
        for k, slot in slots
    ]
    value = _packed(shape, "row")
    branches = f"""\
if is_found:
    result = step({acc}, {value})
{_lines(kept, 4)}
else:
{_lines(first, 4)}
"""
    if "retract" in calls:
        branches = f"""\
if op < 0:
    taken = retract({acc}, {value})
{_lines([line.replace("result", "taken") for line in kept], 4)}
el{branches}"""
    test = "op != 0" if "retract" in calls else "op > 0"
    outs = [f"out{k}" for k, _ in slots]
    return f"""
def loop({", ".join([*_inputs(shape), "valid, ops, order, starts", *outs])}, out_valid):
    for g in range(len(out_valid)):
{_lines(start, 8)}
        is_found = False
        for at in range(starts[g], starts[g + 1]):
            row, op = order[at], ops[at]
            if op == 2:
{_lines(start, 16)}
                is_found = False
            if {test} and valid[row]:
{indent(branches, " " * 16)}                is_found = True
{_lines([f"out{k}[g] = acc{k}" for k, _ in slots], 8)}
        out_valid[g] = is_found
"""


def _fold_nulls(shape: Shape, calls: dict[str, Any], identity: Sequence[Any] | None) -> str:
    """The accumulator stands in `out0` and `is_valid`: numba can't assign None to a number."""
    kind = shape.slots[0].kind
    truth = " != 0" if kind == "boolean" else ""
    zero = "0" if identity is None or identity[0] is None else _literal(identity[0])
    state = f"(out0[g]{truth} if is_valid else None), (values0[row]{truth} if valid[row] else None)"
    starts_valid = identity is not None and identity[0] is not None
    called = f"""\
result = step({state})
if result is None:
    is_valid = False
else:
    is_valid = True
    out0[g] = result
"""
    branches = f"""\
if is_found:
{indent(called, "    ")}else:
    is_valid = valid[row] != 0
    out0[g] = values0[row]
"""
    if "retract" in calls:
        taken = called.replace("result", "taken").replace("step(", "retract(")
        branches = f"if op < 0:\n{indent(taken, '    ')}el{branches}"
    test = "op != 0" if "retract" in calls else "op > 0"
    return f"""
def loop(values0, valid, ops, order, starts, out0, out_valid):
    for g in range(len(out_valid)):
        is_found, is_valid = False, {starts_valid}
        out0[g] = {zero}
        for at in range(starts[g], starts[g + 1]):
            row, op = order[at], ops[at]
            if op == 2:
                is_found, is_valid = False, {starts_valid}
                out0[g] = {zero}
            if {test}:
{indent(branches, " " * 16)}                is_found = True
        out_valid[g] = is_found and is_valid
"""


def _literal(value: Any) -> str:
    """The source of a number or truth value; repr of an infinity or NaN would be none."""
    if isinstance(value, numbers.Integral):
        return str(int(value))
    if math.isfinite(value):
        return repr(float(value))
    return "np.nan" if math.isnan(value) else "np.inf" if value > 0 else "-np.inf"


def _lines(lines: Sequence[str], spaces: int) -> str:
    return indent("\n".join(lines), " " * spaces)


def _call(shape: Shape, function: Any, accepts: Callable[[Any], str | None]) -> Call:
    def arguments(module: ModuleType) -> tuple[Any, ...]:
        own = [
            numba.types.Optional(_TYPES[s.kind]) if s.sees_nulls else _TYPES[s.kind]
            for s in shape.slots
        ]
        one = numba.types.NamedTuple(own, module.__dict__["Row"]) if shape.is_tuple else own[0]
        return one, one

    return Call(function, arguments, accepts)


def _truth(kind: Any) -> str | None:
    """What is wrong with the type of a pick's result; None counts as False."""
    own = kind.type if isinstance(kind, numba.types.Optional) else kind
    return (
        None
        if generated.boolean(own)
        else f"it gives {generated.words_of(kind)}, expected True or False"
    )


def _folded_type(shape: Shape) -> Callable[[Any], str | None]:
    """What is wrong with the type of a fold's result."""

    def one(slot: Slot, kind: Any) -> str | None:
        test, words = _RESULTS[slot.kind]
        if slot.sees_nulls and isinstance(kind, numba.types.Optional):
            kind = kind.type
        return None if test(kind) else f"it gives {generated.words_of(kind)}, expected {words}"

    def several(kind: Any) -> str | None:
        if not isinstance(kind, numba.types.BaseTuple) or len(kind) != len(shape.slots):
            return (
                f"it gives {generated.words_of(kind)}, expected a tuple ({', '.join(shape.names)})"
            )
        found = [(slot, one(slot, part)) for slot, part in zip(shape.slots, kind, strict=True)]
        return next((f"in {slot.name} {words}" for slot, words in found if words), None)

    return several if shape.is_tuple else lambda kind: one(shape.slots[0], kind)
