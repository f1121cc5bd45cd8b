"""The loop around a user's function: one template, filled in for a fold or a pick of some shape.

The filled-in text calls the function as a global, so numba compiles both into one kernel. The
alternatives are worse. A loop that takes the function as an argument compiles anew in every process
(numba keeps no code of it). A loop of compiled parts (start, add, put) takes twice the time to
compile. Function pointers cost a quarter of the speed and lose exceptions.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from textwrap import indent
from typing import Any

import numba

from keyfold.kernels.ops import RESET, RETRACT, SKIP
from keyfold.user_functions.shapes import KINDS, Shape, Slot

_TEMPLATE = """
def loop({inputs}, valid, ops, order, starts, {outputs}):
    for g in range(len(starts) - 1):
        {start}
        is_found = False
        for at in range(starts[g], starts[g + 1]):
            row, op = order[at], ops[at]
            if op == RESET:
                {start}
                is_found = False
            if {counts}:
                if op == RETRACT:
                    {taken}
                elif is_found:
                    {added}
                else:
                    {first}
                is_found = True
        {put}
"""
_RUNNING = """
def loop({inputs}, valid, groups, {outputs}, at):
    for row in range(len(groups)):
        if valid[row]:
            g = groups[row]
            if out_valid[g]:
                at[0] = row
                {held}
                {added}
            else:
                {first}
                out_valid[g] = 1
            {kept}
"""
_PART = re.compile(r"( *)\{(\w+)\}")
_FIXED = (numba.uint8[::1], numba.int8[::1], numba.int64[::1], numba.int64[::1])
OPS = {"SKIP": SKIP, "RETRACT": RETRACT, "RESET": RESET}


@dataclass(frozen=True)
class LoopSource:
    """A loop to compile: a source with one function `loop`, its numba signature, and the user's
    functions and constants by their names in the source. `refused` says in words why the numba type
    of a function's result is wrong; None if it is not.
    """

    source: str
    signature: Any
    functions: Mapping[str, Callable[..., Any]]
    constants: Mapping[str, Any]
    shape: Shape
    refused: Callable[[Shape, Any], str | None]


def fold(shape: Shape, functions: Mapping[str, Any], identity: Sequence[Any] | None) -> LoopSource:
    """A loop `loop(slots…, valid, ops, order, starts, outs…, out_valid)` that calls `step` and, if
    given, `retract`. A shape that sees NULLs has one slot.
    """
    sees_nulls = shape.slots[0].sees_nulls
    parts = _with_nulls(shape.slots[0]) if sees_nulls else _without_nulls(shape)
    if "retract" not in functions:
        parts["taken"] = ["pass"]
    outs = [f"out{k}" for k in range(len(shape.slots))]
    counts = "op != SKIP" if "retract" in functions else "op > SKIP"
    counts += "" if sees_nulls else " and valid[row]"
    source = _filled(_TEMPLATE, shape, parts, counts, [*outs, "out_valid"])
    outs_types = [KINDS[slot.kind].arrays[0] for slot in shape.slots]
    signature = numba.void(*shape.arrays, *_FIXED, *outs_types, numba.uint8[::1])
    given = identity or [None] * len(shape.slots)
    constants = {f"start{k}": 0 if value is None else value for k, value in enumerate(given)}
    is_valid = given[0] is not None
    return LoopSource(
        source, signature, functions, constants | {"is_start": is_valid}, shape, _refused(shape)
    )


def running(shape: Shape, step: Any) -> LoopSource:
    """A loop `loop(slots…, valid, groups, outs…, out_valid, at)` that adds each row to what its
    group holds; `at` has the row at which `step` was called last. For shapes that see no NULLs.
    """
    slots = list(enumerate(shape.slots))
    truth = {"boolean": " != 0"}
    parts = _without_nulls(shape) | {
        "held": [f"acc{k} = out{k}[g]{truth.get(slot.kind, '')}" for k, slot in slots],
        "kept": [f"out{k}[g] = acc{k}" for k, _ in slots],
    }
    outs = [f"out{k}" for k, _ in slots]
    source = _filled(_RUNNING, shape, parts, "", [*outs, "out_valid"])
    flags, numbers = numba.uint8[::1], numba.int32[::1]
    outs_types = [KINDS[slot.kind].arrays[0] for slot in shape.slots]
    signature = numba.void(*shape.arrays, flags, numbers, *outs_types, flags, numba.int64[::1])
    return LoopSource(source, signature, {"step": step}, {}, shape, _refused(shape))


def pick(shape: Shape, step: Any) -> LoopSource:
    """A loop `loop(slots…, valid, ops, order, starts, out)`: out[g] is the row that no later row
    replaced; -1 if there is not one.
    """
    parts = {
        "start": ["best = -1"],
        "taken": ["pass"],
        "added": [f"if step({shape.value('best')}, {shape.value('row')}):", "    best = row"],
        "first": ["best = row"],
        "put": ["out[g] = best"],
    }
    source = _filled(_TEMPLATE, shape, parts, "op > SKIP and valid[row]", ["out"])
    signature = numba.void(*shape.arrays, *_FIXED, numba.int64[::1])
    return LoopSource(source, signature, {"step": step}, {}, shape, _refused_truth)


def _without_nulls(shape: Shape) -> dict[str, list[str]]:
    slots = list(enumerate(shape.slots))
    acc, value = shape.packed([f"acc{k}" for k, _ in slots]), shape.value("row")

    def called(function: str, result: str) -> list[str]:
        items = [f"{result}[{k}]" if shape.is_tuple else result for k, _ in slots]
        kept = [f"acc{k} = {KINDS[s.kind].cast}({items[k]})" for k, s in slots]
        return [f"{result} = {function}({acc}, {value})", *kept]

    return {
        "start": [f"acc{k} = {KINDS[slot.kind].cast}(start{k})" for k, slot in slots],
        "taken": called("retract", "taken"),
        "added": called("step", "added"),
        "first": [f"acc{k} = {slot.value(k, 'row')}" for k, slot in slots],
        "put": [*(f"out{k}[g] = acc{k}" for k, _ in slots), "out_valid[g] = is_found"],
    }


def _with_nulls(slot: Slot) -> dict[str, list[str]]:
    """The parts with the accumulator in `out0` and `is_valid`: numba has no None in a number."""
    truth = " != 0" if slot.kind == "boolean" else ""
    arguments = f"(out0[g]{truth} if is_valid else None), {slot.value(0, 'row')}"

    def called(function: str, result: str) -> list[str]:
        kept = [f"is_valid = {result} is not None", "if is_valid:", f"    out0[g] = {result}"]
        return [f"{result} = {function}({arguments})", *kept]

    return {
        "start": ["is_valid = is_start", "out0[g] = start0"],
        "taken": called("retract", "taken"),
        "added": called("step", "added"),
        "first": ["is_valid = mask0[row] != 0", "out0[g] = values0[row]"],
        "put": ["out_valid[g] = is_found and is_valid"],
    }


def _filled(
    template: str,
    shape: Shape,
    parts: Mapping[str, list[str]],
    counts: str,
    outs: Sequence[str],
) -> str:
    """The filled-in template; a part alone on its line may become several lines."""
    inputs = [name for k, slot in enumerate(shape.slots) for name in slot.inputs(k)]
    words = {"inputs": ", ".join(inputs), "outputs": ", ".join(outs), "counts": counts}
    lines = []
    for line in template.splitlines():
        part = _PART.fullmatch(line)
        lines.append(indent("\n".join(parts[part[2]]), part[1]) if part else line.format(**words))
    return "\n".join(lines)


def _refused(shape: Shape) -> Callable[[Shape, Any], str | None]:
    return _refused_tuple if shape.is_tuple else _refused_number


def _refused_truth(shape: Shape, kind: Any) -> str | None:
    """The reason why the type of a pick's result is wrong, or None; a result None is False."""
    own = kind.type if isinstance(kind, numba.types.Optional) else kind
    is_truth = isinstance(own, numba.types.Boolean)
    return None if is_truth else f"it gives {_words_of(kind)}, expected True or False"


def _refused_number(shape: Shape, kind: Any, slot: Slot | None = None) -> str | None:
    """The reason why the type of a fold's result is wrong; None if it is not."""
    slot = slot or shape.slots[0]
    own = kind.type if slot.sees_nulls and isinstance(kind, numba.types.Optional) else kind
    if isinstance(own, KINDS[slot.kind].results):
        return None
    return f"it gives {_words_of(kind)}, expected {KINDS[slot.kind].words}"


def _refused_tuple(shape: Shape, kind: Any) -> str | None:
    """The reason why the type of a STRUCT fold's result is wrong; None if it is not."""
    if not isinstance(kind, numba.types.BaseTuple) or len(kind) != len(shape.slots):
        return f"it gives {_words_of(kind)}, expected a tuple ({', '.join(shape.names)})"
    for slot, part in zip(shape.slots, kind, strict=True):
        if words := _refused_number(shape, part, slot):
            return f"in {slot.name} {words}"
    return None


def _words_of(kind: Any) -> str:
    """A numba type in a message."""
    if isinstance(kind, numba.types.Optional):
        return f"{_words_of(kind.type)} or None"
    if isinstance(kind, numba.types.Literal):
        return _words_of(kind.literal_type)
    return {numba.types.unicode_type: "text", numba.types.none: "None"}.get(kind, str(kind))
