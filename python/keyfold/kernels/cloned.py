"""Users' functions compiled under names of their own.

numba names machine code by module, function and a counter of the process, and resolves those names
among all code a process has loaded. Of two versions of a function, one loaded from the cache, the
wrong one could be called. So a function and the compiled functions it calls are compiled as copies,
as a part of this package (which numba can import anywhere), with a name that no other code has.
"""

from collections.abc import Callable
from types import CellType, FunctionType
from typing import Any

import numba

_HOME = "keyfold.kernels.generated"


def plain(function: Callable[..., Any]) -> Any:
    """The Python function behind a compiled one, or the function itself."""
    return getattr(function, "py_func", function)


def cloned(function: Callable[..., Any], suffix: str) -> Any:
    """The function, compiled on first use; unless it comes with options of its own, an index beyond
    an array's end is an IndexError.
    """
    return _clone(function, suffix, {})


def _clone(function: Callable[..., Any], suffix: str, known: dict[int, Any]) -> Any:
    if id(function) in known:
        return known[id(function)]
    own = plain(function)
    space = {**own.__globals__, "__name__": _HOME}
    cells = [CellType(_called(cell.cell_contents, suffix, known)) for cell in own.__closure__ or ()]
    copy = FunctionType(own.__code__, space, own.__name__, own.__defaults__, tuple(cells) or None)
    copy.__kwdefaults__ = own.__kwdefaults__
    copy.__qualname__ = f"{own.__qualname__}_{len(known)}_{suffix}"
    options = dict(getattr(function, "targetoptions", {"boundscheck": True}))
    options.pop("nopython", None)
    made = known[id(function)] = numba.njit(**{**options, "nogil": True})(copy)
    for name in own.__code__.co_names:
        if name in space:
            space[name] = _called(space[name], suffix, known)
    return made


def _called(value: Any, suffix: str, known: dict[int, Any]) -> Any:
    """A clone of what numba calls, anything else as it is."""
    return _clone(value, suffix, known) if hasattr(value, "py_func") else value
