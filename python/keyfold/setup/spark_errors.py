"""Failures of ours that Spark throws, as the classes that `keyfold` exports: `except
keyfold.ConflictError` catches one, and so does `except pyspark.errors.AnalysisException`.

The JVM names the class by Spark's condition: KEYFOLD_CONFLICT is ConflictError. pyspark turns the
JVM's exceptions into Python's in one function per mode (classic, Spark Connect), wrapped here.
"""

import contextlib
import functools
import importlib
from collections.abc import Callable
from types import ModuleType
from typing import Any

from keyfold.errors import KeyfoldError, class_of_condition

_MODES = ("pyspark.errors.exceptions.captured", "pyspark.errors.exceptions.connect")
_CONVERTS = "_convert_exception"
_OURS = "keyfold_wraps"
_made: dict[tuple[type, type], type[Exception]] = {}


def catch_errors() -> None:
    """Have PySpark raise keyfold's own error classes from now on, in this process.

    `configure` does so. A job whose session is made by other means calls it once. The exception is
    an instance of PySpark's class too, so `except AnalysisException` still catches it.
    """
    for name in _MODES:
        with contextlib.suppress(ImportError):  # Spark Connect needs packages of its own
            _stand_behind(importlib.import_module(name))


def _stand_behind(module: ModuleType) -> None:
    converts: Callable[..., Exception] = getattr(module, _CONVERTS)
    if hasattr(converts, _OURS):
        return

    @functools.wraps(converts)
    def converted(*args: Any, **named: Any) -> Exception:
        return as_ours(converts(*args, **named))

    setattr(converted, _OURS, True)
    setattr(module, _CONVERTS, converted)


def as_ours(found: Exception) -> Exception:
    """The exception, or the one of ours that caused it, as an instance of our class too."""
    cause: Any = found
    while cause is not None and class_of_condition(cause.getCondition()) is None:
        cause = getattr(cause, "_cause", None)
    if cause is None:
        return found
    ours: Exception = cause
    if not isinstance(ours, KeyfoldError):
        ours.__class__ = _both(class_of_condition(cause.getCondition()), type(ours))
    return ours


def _both(ours: type[KeyfoldError] | None, sparks: type[Exception]) -> type[Exception]:
    """A subclass of both; Spark looks up a condition's text in a list that lacks ours."""
    assert ours is not None
    shown = {"getMessage": _message, "__module__": "keyfold"}
    return _made.setdefault((ours, sparks), type(ours.__name__, (ours, sparks), shown))


def _message(error: Any) -> str:
    text = error._desc if hasattr(error, "_desc") else error._message
    return f"[{error.getCondition()}] {text}"
