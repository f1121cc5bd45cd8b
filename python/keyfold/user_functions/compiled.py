"""Loops compiled with the user's function in them, and kept in the kernel cache.

The code is kept under the digest of everything it is compiled from. One process of a machine
compiles, under a lock; the others load the result.

numba names machine code by module, function and a counter of the process. It resolves those names
among all code that a process has loaded. So if there are two versions of a function and one is
loaded, the wrong one could be called. Therefore a function and the compiled functions it calls are
compiled as copies. Each copy has a name that no other code has, and is a part of this module, which
numba can import anywhere.
"""

import fcntl
import hashlib
import linecache
import threading
import uuid
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from types import CellType, FunctionType
from typing import Any

import numba
import numpy as np

from keyfold.errors import FunctionError
from keyfold.kernels import jit
from keyfold.user_functions.fingerprint import fingerprint
from keyfold.user_functions.loop import OPS, LoopSource
from keyfold.user_functions.shapes import row_class
from keyfold.user_functions.user_function import located, plain

_COMPILED: dict[object, Any] = {}
_COMPILING = threading.Lock()
_FOLDER = Path(__file__).parent.name  # where `jit` keeps what this folder compiles
_THIS = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()


def compiled(loop: LoopSource, whose: str) -> Any:
    """The loop, compiled or loaded.

    Raises FunctionError, with file and line, if numba can't compile a function, or if the loop
    can't take its result. The error's text begins with `whose`.
    """
    functions = list(loop.functions.values())
    known = fingerprint(*functions, *loop.constants.values())
    names = loop.shape.names  # a function finds fields by name, whatever their order
    key = (loop.source, str(loop.signature), names, known or (*functions, repr(loop.constants)))
    with _COMPILING:
        if key not in _COMPILED:
            _COMPILED[key] = _compiled(loop, known and repr((_THIS, *key)), whose)
        return _COMPILED[key]


def _compiled(loop: LoopSource, content: str | None, whose: str) -> Any:
    """The compiled loop; without a fingerprint (`content`) it is in memory only, not kept."""
    digest = hashlib.sha256(content.encode()).hexdigest()[:24] if content else uuid.uuid4().hex
    space = {"__name__": __name__, "np": np, "Row": row_class(loop.shape), **OPS, **loop.constants}
    exec(compile(loop.source, _source_file(loop, digest, bool(content)), "exec"), space)
    own = space["loop"]
    own.__qualname__ = f"loop_{digest}"
    for name, function in loop.functions.items():
        space[name] = _clone(function, f"{name}_{digest}", {})
    made = jit.dispatcher(own)
    folder = jit.CACHE_DIRECTORY / _FOLDER if content and jit.CACHE_DIRECTORY else None
    lock = jit.locked(f"{_FOLDER}/{digest}.lock", fcntl.LOCK_EX) if folder else nullcontext()
    with lock:
        if folder is None or not any(folder.glob(f"*{own.__qualname__}*.nbi")):
            for name, function in loop.functions.items():
                _check(loop, function, space[name], whose)
        made.compile(loop.signature)
    return made


def _source_file(loop: LoopSource, digest: str, is_kept: bool) -> str:
    """The file of a loop's source. numba keeps code only of functions that have one, which `jit`
    looks for in this package, and reads there what it compiles: it is found in the line cache.
    """
    if not is_kept:
        return "<keyfold's loop>"
    name = str(Path(__file__).with_name(f"loop_{digest}.py"))
    lines = loop.source.splitlines(keepends=True)
    linecache.cache[name] = len(loop.source), None, lines, name
    return name


def _check(loop: LoopSource, function: Callable[..., Any], clone: Any, whose: str) -> None:
    """Raises FunctionError if the function does not compile, or its result has a wrong type."""
    arguments = (loop.shape.numba_type, loop.shape.numba_type)
    try:
        clone.compile(arguments)
    except Exception as error:  # numba raises more than NumbaError if it can't compile
        raise FunctionError(f"{whose}: {_words(function, error)}") from error
    refused = loop.refused(loop.shape, clone.overloads[arguments].signature.return_type)
    if refused is not None:
        raise FunctionError(f"{whose}: {located(function)}: {refused}")


def _words(function: Callable[..., Any], error: Any) -> str:
    """The place at which numba stopped, and the part of its message that gives the reason."""
    place = located(function)
    if getattr(error, "loc", None) is not None:
        place = f"{error.loc.filename}, line {error.loc.line}"
    lines = [line.strip() for line in str(error).splitlines()]
    kept = [line for line in lines if line and not line.startswith("Failed in")]
    ends = (n for n, line in enumerate(kept) if line.startswith(('File "', "During:")))
    why = " ".join(kept[: min(next(ends, 4) or 1, 4)])
    return f"{place}: {why.partition(' Raised from ')[0].rstrip('.')}"


def _clone(function: Callable[..., Any], suffix: str, known: dict[int, Any]) -> Any:
    """The function, compiled on first use, with clones of the compiled functions it calls. An index
    beyond an array's end is an IndexError, unless the function has options of its own.
    """
    if id(function) in known:
        return known[id(function)]
    own = plain(function)
    space, cells = {**own.__globals__, "__name__": __name__}, own.__closure__ or ()
    closure = tuple(CellType() for _ in cells)
    copy = FunctionType(own.__code__, space, own.__name__, own.__defaults__, closure)
    copy.__kwdefaults__ = own.__kwdefaults__
    copy.__qualname__ = f"{own.__qualname__}_{len(known)}_{suffix}"
    options = dict(getattr(function, "targetoptions", {"boundscheck": True}))
    options.pop("nopython", None)
    made = known[id(function)] = numba.njit(**{**options, "nogil": True})(copy)

    def called(value: Any) -> Any:
        return _clone(value, suffix, known) if hasattr(value, "py_func") else value

    for cell, of in zip(closure, cells, strict=True):
        cell.cell_contents = called(of.cell_contents)
    space |= {name: called(space[name]) for name in own.__code__.co_names if name in space}
    return made
