"""Bytes as an attacker writes them, and kernels whose arrays stand between bytes that must not
change.

A kernel that runs here gets each array of its caller as a part of a larger one; what surrounds it
is compared after the call. The Python of a kernel gets arrays that refuse places before their
beginning too: numpy takes those from the end.
"""

import sys
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pytest

from keyfold.kernels import jit

GUARD = 512
_BYTE = 0xA5
_EXTREMES = (0, 1, 2, 7, 15, 16, 0x3F, 0x40, 0x7F, 0x80, 0xFE, 0xFF)


def mutated(state: bytes, others: list[bytes], random: Random) -> bytes:
    """A state that is not quite what its writer wrote; sometimes it is."""
    data = bytearray(state)
    for _ in range(random.choice((0, 1, 1, 1, 2, 3, 8))):
        kind = random.randrange(8)
        # heads, where the counts are, are as likely as all that follows
        at = random.randrange(min(len(data), random.choice((16, 64, 1 << 30))) or 1)
        if kind == 0 and data:
            data[min(at, len(data) - 1)] ^= 1 << random.randrange(8)
        elif kind == 1:
            data[at : at + 1] = bytes([random.choice(_EXTREMES)])
        elif kind == 2:
            width = random.choice((2, 4, 8))
            number = random.choice((0, 1, (1 << 8 * width - 1) - 1, 1 << 8 * width - 1, -1))
            data[at : at + width] = (number % (1 << 8 * width)).to_bytes(width, "little")
        elif kind == 3:
            del data[at:]
        elif kind == 4:
            data += random.randbytes(random.choice((1, 8, 300)))
        elif kind == 5:
            other = random.choice(others)
            start = random.randrange(len(other) or 1)
            piece = other[start : start + random.choice((1, 4, 16, 4096))]
            data[at : at + random.choice((0, len(piece)))] = piece
        elif kind == 6:
            del data[at : at + random.choice((1, 2, 8))]
        else:
            data[at : at + 8] = random.randbytes(8)
    return bytes(data)


class Strict(np.ndarray):
    """An array that has no places before its beginning, nor parts of its own that end there."""

    def __getitem__(self, place: Any) -> Any:
        _check(place)
        return super().__getitem__(place)

    def __setitem__(self, place: Any, value: Any) -> None:
        _check(place)
        super().__setitem__(place, value)


def _check(place: Any) -> None:
    for one in place if isinstance(place, tuple) else (place,):
        ends = (one.start, one.stop) if isinstance(one, slice) else (one,)
        if any(isinstance(end, int | np.integer) and end < 0 for end in ends):
            raise IndexError(f"a place before the beginning: {one}")


def _each(argument: Any, change: Callable[[Any], Any]) -> Any:
    if isinstance(argument, tuple):
        return type(argument)(*(_each(part, change) for part in argument))
    return change(argument) if isinstance(argument, np.ndarray) else argument


def guarded(compiled: Any, is_strict: bool, names: set[str]) -> Callable[..., Any]:
    """The kernel; the test fails if it changes what is beside an array. If `is_strict` its Python
    runs, which fails if it looks at what is beside one.
    """

    def call(*arguments: Any) -> Any:
        names.add(compiled.__name__)
        kept: list[tuple[Any, Any, Any]] = []

        def surrounded(array: Any) -> Any:
            whole = np.full(2 * GUARD + array.nbytes, _BYTE, dtype=np.uint8)
            inner = whole[GUARD : GUARD + array.nbytes].view(array.dtype).reshape(array.shape)
            inner[...] = array
            kept.append((array, whole, inner))
            return inner.view(Strict) if is_strict else inner

        run = compiled.py_func if is_strict else compiled
        with np.errstate(over="ignore"):
            found = run(*(_each(argument, surrounded) for argument in arguments))
        for array, whole, inner in kept:
            is_whole = (whole[:GUARD] == _BYTE).all() and (whole[-GUARD:] == _BYTE).all()
            assert is_whole, f"{compiled.__name__} writes beside an array"
            if array.nbytes and array.flags.writeable and not np.array_equal(array, inner):
                array[...] = inner
        return found

    return call


def guard(
    monkeypatch: pytest.MonkeyPatch, modules: tuple[str, ...], *, is_strict: bool
) -> set[str]:
    """Surround the arrays of the kernels of these modules from here on; the names of those that
    ran.
    """
    jit.warm()
    names: set[str] = set()
    known = {
        id(compiled): guarded(compiled, is_strict, names)
        for compiled, _ in jit.DECLARED
        if compiled.__module__.startswith(modules)
    }
    for name, module in list(sys.modules.items()):
        if name.startswith("keyfold."):
            for place, found in list(vars(module).items()):
                if id(found) in known:
                    monkeypatch.setattr(module, place, known[id(found)])
    return names
