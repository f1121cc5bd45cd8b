"""Kernels made of a loop of ours and a user's function, which the loop calls as a global.

The loop's source is generated (loops.py) and kept as a file in the kernel cache, below the digest
of everything it is compiled from; the user's function is compiled into it. One process of a machine
compiles, under a lock; the others load what it left.
"""

import fcntl
import hashlib
import threading
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numba

from keyfold.kernels import jit
from keyfold.kernels.cloned import cloned, plain
from keyfold.kernels.fingerprint import fingerprint

_COMPILED: dict[object, Any] = {}
_COMPILING = threading.Lock()


@dataclass(frozen=True)
class Call:
    """A user's function as a loop calls it: numba types of the arguments, and what may come back.

    `accepts` gives the words of what is wrong with a numba type of a result, None if nothing is.
    """

    function: Callable[..., Any]
    arguments: Callable[[ModuleType], tuple[Any, ...]]
    accepts: Callable[[Any], str | None]


class CompileError(Exception):
    """A user's function that numba can't compile, or that gives what the loop can't take: where,
    and why.
    """


@dataclass(frozen=True)
class Loop:
    """The source of a module with one function `loop`, its signature, and the functions it
    calls, by the names they are called by.
    """

    source: str
    signature: str
    calls: Mapping[str, Call]


def compiled(loop: Loop) -> Any:
    """The loop, compiled or loaded; CompileError names file and line of what is wrong."""
    functions = [call.function for call in loop.calls.values()]
    known = fingerprint(*functions)
    key: object = (loop.source, loop.signature, known or tuple(functions))
    with _COMPILING:
        if key not in _COMPILED:
            _COMPILED[key] = _in_memory(loop) if known is None else _kept(loop, known)
        return _COMPILED[key]


def _kept(loop: Loop, functions: str) -> Any:
    """Compiled into the cache directory, or loaded from it; in memory where there is none."""
    if jit.CACHE_DIRECTORY is None:
        return _in_memory(loop)
    content = f"{functions}\0{loop.signature}\0{loop.source}"
    digest = hashlib.sha256(content.encode()).hexdigest()[:24]
    place = jit.CACHE_DIRECTORY / "own" / digest
    file, checked = place / f"loop_{digest}.py", place / "checked"
    try:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        with jit.locked(f"own/{digest}/compile.lock", fcntl.LOCK_EX):
            if not file.exists() or file.read_bytes() != loop.source.encode():
                file.write_bytes(loop.source.encode())
            made = _compile(loop, str(file), digest, checked.exists())
            checked.touch()
            return made
    except OSError:  # no room, or a file system that is read-only by now
        return _in_memory(loop)


def _in_memory(loop: Loop) -> Any:
    return _compile(loop, "<keyfold's loop>", uuid.uuid4().hex, False)


def _compile(loop: Loop, file: str, digest: str, is_checked: bool) -> Any:
    module = ModuleType(__name__)  # what numba imports when it loads the code again
    exec(compile(loop.source, file, "exec"), module.__dict__)
    for name, call in loop.calls.items():
        step = cloned(call.function, f"{name}_{digest}")
        if not is_checked:
            _check(call, step, call.arguments(module))
        setattr(module, name, step)
    own = module.__dict__["loop"]
    own.__qualname__ = f"loop_{digest}"
    made = jit.dispatcher(own)
    made.compile(loop.signature)
    return made


def _check(call: Call, step: Any, arguments: tuple[Any, ...]) -> None:
    """CompileError if the function does not compile, or gives another type."""
    try:
        step.compile(arguments)
    except Exception as error:  # numba has more than NumbaError for what it can't compile
        raise CompileError(_words(call.function, error)) from error
    result = step.overloads[arguments].signature.return_type
    refused = call.accepts(result)
    if refused is not None:
        raise CompileError(f"{located(call.function)}: {refused}")


def located(function: Callable[..., Any]) -> str:
    """File and line of a function's definition."""
    code = plain(function).__code__
    return f"{code.co_filename}, line {code.co_firstlineno}"


def _words(function: Callable[..., Any], error: Any) -> str:
    """Where numba stopped, and the part of its message that says why."""
    place = located(function)
    if getattr(error, "loc", None) is not None:
        place = f"{error.loc.filename}, line {error.loc.line}"
    lines = [line.strip() for line in str(error).splitlines()]
    told = [line for line in lines if line and not line.startswith("Failed in")]
    ends = (n for n, line in enumerate(told) if line.startswith(('File "', "During:")))
    why = " ".join(told[: min(next(ends, 4) or 1, 4)])
    return f"{place}: {why.partition(' Raised from ')[0].rstrip('.')}"


def words_of(kind: Any) -> str:
    """A numba type in a message."""
    if isinstance(kind, numba.types.Optional):
        return f"{words_of(kind.type)} or None"
    if isinstance(kind, numba.types.Literal):
        return words_of(kind.literal_type)
    return {numba.types.unicode_type: "text", numba.types.none: "None"}.get(kind, str(kind))


def integer(kind: Any) -> bool:
    """Whether a numba type is a whole number."""
    return isinstance(kind, numba.types.Integer)


def number(kind: Any) -> bool:
    """Whether a numba type is a number."""
    return isinstance(kind, numba.types.Integer | numba.types.Float)


def boolean(kind: Any) -> bool:
    """Whether a numba type is a truth value."""
    return isinstance(kind, numba.types.Boolean)
