"""Arguments of the Python door are what their annotations say, or a TableError names the argument,
what was expected and what was found. Types that have rules of their own (rows, keys, conditions,
schemas) are checked where they are read.
"""

from __future__ import annotations

import functools
import inspect
import os
import types
import typing
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime, timedelta
from numbers import Integral, Real
from typing import Any

from keyfold.errors import TableError

_LARGEST = 1 << 63
_SHOWN = 60  # characters of a value in a message
_OWN_RULES = {"key"}  # what is said of a wrong one names the columns of the table's key
Check = Callable[[Any], bool]
Function = typing.TypeVar("Function", bound=Callable[..., Any])


def _is_int(value: Any) -> bool:
    is_whole = isinstance(value, Integral) and not isinstance(value, bool)
    return is_whole and -_LARGEST <= value < _LARGEST


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _are_texts(value: Any) -> bool:
    is_list = isinstance(value, Collection) and not isinstance(value, (str, bytes, Mapping))
    return is_list and all(isinstance(item, str) for item in value)


def _is_by_name(value: Any) -> bool:
    return isinstance(value, Mapping) and all(isinstance(name, str) for name in value)


def _are_by_name(value: Any) -> bool:
    return _is_by_name(value) and all(isinstance(one, str) for one in value.values())


# By type: how a value of it is told, and what a message calls it.
_PLAIN: Mapping[Any, tuple[Check, str]] = {
    str: (lambda value: isinstance(value, str), "a text"),
    bool: (lambda value: isinstance(value, bool), "True or False"),
    int: (_is_int, "a whole number of 64 bits"),
    float: (_is_number, "a number"),
    datetime: (lambda value: isinstance(value, datetime), "a datetime with its zone"),
    timedelta: (lambda value: isinstance(value, timedelta), "a timedelta"),
    type(None): (lambda value: value is None, "None"),
}


class Arguments:
    """The parameters of a function that their types tell, found when it is first called."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._checks: dict[str, tuple[Check, str]] | None = None
        self._names: tuple[str, ...] = ()

    def wrong(self, args: Sequence[Any], named: Mapping[str, Any]) -> str | None:
        """Which argument is of another type, None if all are as they should be. Arguments that are
        too many or that are not named so are left to Python.
        """
        if self._checks is None:
            self._names = tuple(inspect.signature(self._function).parameters)
            self._checks = _checks(self._function)
        for name, value in (*zip(self._names, args, strict=False), *named.items()):
            found = self._checks.get(name)
            if found is not None and not found[0](value):
                as_list = isinstance(value, str) and found[0]([value])
                such = f", such as [{value!r}]" if as_list else ""
                return f"{name} is {_shown(value)}; expected {found[1]}{such}"
        return None


def checked(function: Function) -> Function:
    """The function, which checks its arguments first."""
    arguments = Arguments(function)

    @functools.wraps(function)
    def called(*args: Any, **named: Any) -> Any:
        if (wrong := arguments.wrong(args, named)) is not None:
            raise TableError(f"{function.__name__}: {wrong}")
        return function(*args, **named)

    return typing.cast(Function, called)


def _checks(function: Callable[..., Any]) -> dict[str, tuple[Check, str]]:
    found = {}
    for name, parameter in inspect.signature(function).parameters.items():
        of_type = _of(_resolved(parameter.annotation, function))
        is_named = parameter.kind is not parameter.VAR_KEYWORD
        if of_type is not None and is_named and name not in _OWN_RULES:
            found[name] = of_type
    return found


def _resolved(annotation: Any, function: Callable[..., Any]) -> Any:
    """The type that an annotation names; Any if only type checkers can tell it."""
    try:
        return eval(annotation, function.__globals__) if isinstance(annotation, str) else annotation
    except (NameError, TypeError):
        return Any


def _of(kind: Any) -> tuple[Check, str] | None:
    """The check of a type, None if it has rules of its own."""
    if kind in _PLAIN:
        return _PLAIN[kind]
    origin, of = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return _any_of([_of(one) for one in of])
    if origin is Sequence and of == (str,):
        return _are_texts, "a list of texts"
    if origin is Mapping and of == (str, str):
        return _are_by_name, "a dictionary of texts by texts"
    if origin is Mapping and of[0] is str:
        return _is_by_name, "a dictionary whose keys are texts"
    if origin is os.PathLike or kind is os.PathLike:
        return lambda value: isinstance(value, os.PathLike), "a path"
    return None


def _any_of(parts: Sequence[tuple[Check, str] | None]) -> tuple[Check, str] | None:
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    return lambda value: any(check(value) for check, _ in known), " or ".join(w for _, w in known)


def _shown(value: Any) -> str:
    kind = "the text" if isinstance(value, str) else type(value).__name__
    text = f"{kind} {value!r}" if value is not None else "None"
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
