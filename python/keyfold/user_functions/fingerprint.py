"""One digest of all that a compiled function depends on: its bytecode, constants and defaults, and
every global and closed-over value that it and the functions it calls use.

Two functions with the same digest compile to the same code, so it is a key of the kernel cache.
"""

import dis
import hashlib
from collections.abc import Iterator
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

import numba
import numpy as np

_VERSIONED = {"builtins", "cmath", "keyfold", "math", "numba", "numpy", "operator"}
_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(Ellipsis))


class OpaqueError(Exception):
    """A value has unknown content, so code that uses it is not kept on disk."""


def fingerprint(*items: Any) -> str | None:
    """A hex digest; None if a function uses a value whose content is not known."""
    digest = hashlib.sha256()
    seen: dict[int, Any] = {}
    try:
        for item in items:
            for piece in _pieces(item, seen):
                digest.update(f"{len(piece)}:".encode() + piece)
    except OpaqueError:
        return None
    return digest.hexdigest()[:24]


def _pieces(item: Any, seen: dict[int, Any]) -> Iterator[bytes]:
    """The content of a value, as bytes that no other value has."""
    if isinstance(item, _PLAIN):
        yield f"{type(item).__name__} {item!r}".encode()
    elif id(item) in seen:
        yield f"seen {list(seen).index(id(item))}".encode()
    else:
        seen[id(item)] = item  # held, so that no other value gets its id
        yield from _content(item, seen)


def _content(item: Any, seen: dict[int, Any]) -> Iterator[bytes]:
    if isinstance(item, tuple | list | frozenset):
        yield f"{type(item).__name__} {len(item)}".encode()
        for part in sorted(item, key=repr) if isinstance(item, frozenset) else item:
            yield from _pieces(part, seen)
    elif isinstance(item, np.ndarray | np.generic):
        if item.dtype.hasobject:
            raise OpaqueError
        yield f"{item.dtype.str} {item.shape}".encode() + item.tobytes()
    elif isinstance(item, CodeType):
        yield item.co_code
        names = item.co_names, item.co_varnames, item.co_freevars, item.co_argcount
        yield repr(names).encode()
        yield from _pieces(item.co_consts, seen)
    elif isinstance(item, FunctionType):
        yield from _function(item, seen)
    elif hasattr(item, "py_func"):
        yield repr(sorted(item.targetoptions.items())).encode()
        yield from _pieces(item.py_func, seen)
    else:
        yield _named(item)


def _named(item: Any) -> bytes:
    """The name of a library's object, whose content the library's version determines."""
    if isinstance(item, ModuleType):
        return f"module {item.__name__}".encode()
    if isinstance(item, np.dtype | numba.types.Type):
        return repr(item).encode()
    module = getattr(item, "__module__", None) or type(item).__module__
    is_known = isinstance(item, BuiltinFunctionType | np.ufunc | type)
    if not is_known or module.partition(".")[0] not in _VERSIONED:
        raise OpaqueError
    return f"{module}.{getattr(item, '__qualname__', item.__name__)}".encode()


def _function(function: FunctionType, seen: dict[int, Any]) -> Iterator[bytes]:
    yield from _pieces(function.__code__, seen)
    yield from _pieces(function.__defaults__, seen)
    for cell in function.__closure__ or ():
        yield from _pieces(cell.cell_contents, seen)
    globals_used, names = _names(function.__code__)
    for name in sorted(globals_used & function.__globals__.keys()):
        value = function.__globals__[name]
        yield name.encode()
        yield from _pieces(value, seen)
        if isinstance(value, ModuleType):
            yield from _used_of(value, sorted(names), seen)


def _used_of(module: ModuleType, used: list[str], seen: dict[int, Any]) -> Iterator[bytes]:
    """The parts of a module that may be used: its version, or attributes with used names."""
    if module.__name__.partition(".")[0] in _VERSIONED:
        yield str(getattr(module, "__version__", "")).encode()
        return
    for name in used:
        if hasattr(module, name):
            yield name.encode()
            yield from _pieces(getattr(module, name), seen)


def _names(code: CodeType) -> tuple[set[str], set[str]]:
    """The globals a code object and those inside it look up, and all names, attributes too."""
    loaded = {i.argval for i in dis.get_instructions(code) if i.opname == "LOAD_GLOBAL"}
    names = set(code.co_names)
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            more = _names(inner)
            loaded, names = loaded | more[0], names | more[1]
    return loaded, names
