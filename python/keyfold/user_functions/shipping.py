"""A registered function as text, which travels in a session's settings and in scans and writes.

The text is base64 of JSON: name and form, file and line, the Python it was made by, and its code,
pickled by the pickler in numba. Bytecode fits one minor version of Python only.
"""

import base64
import json
import platform
import sys
from functools import lru_cache
from typing import Any, Protocol

import pyarrow as pa
from numba import cloudpickle

from keyfold.aggregates import spelling
from keyfold.errors import EnvironmentMismatchError, FunctionError
from keyfold.user_functions import shapes
from keyfold.user_functions.fold import compile_for
from keyfold.user_functions.shapes import Shape, Slot
from keyfold.user_functions.user_function import UserFunction, located

PREFIX = "spark.keyfold.registered."


class SparkSettings(Protocol):
    """A SparkSession; only its settings are needed."""

    @property
    def conf(self) -> Any:
        """Its settings."""


def register(spark: SparkSettings, *functions: UserFunction) -> None:
    """Make functions known to a session: its CREATE TABLE, reads and writes find them by name.

    The code travels with the session's settings and with the scans and writes of tables that name
    it, never with the tables. A later session registers it again, or finds it installed or in
    `spark.keyfold.modules`. A second function with the same name replaces the first one.

    Args:
        spark: The SparkSession, classic or of Spark Connect.
        functions: Results of `keyfold.aggregate` and `keyfold.engine`.

    Raises:
        FunctionError: A function does not compile (the message has its file and line and numba's
            reason), or uses something that can't be pickled.
    """
    if isinstance(spark, UserFunction):
        raise FunctionError(f"keyfold.register(spark, {spark.name}): the session comes first")
    for function in functions:
        if not isinstance(function, UserFunction):
            raise FunctionError(
                "keyfold.register takes functions that keyfold.aggregate or keyfold.engine "
                f"decorates, found {function!r}"
            )
        compile_all(function)
        spark.conf.set(PREFIX + spelling(function.name), dumps(function))


def compile_all(own: UserFunction) -> None:
    """Raises FunctionError, with file and line, if it does not compile for one of its types."""
    if own.form == "engine":
        found = {name: shapes.of_column(kind) for name, kind in own.columns.items()}
        slots = [Slot(name, scalar.kind, is_null) for name, (scalar, is_null) in found.items()]
        compile_for(own, Shape(tuple(slots), True))
    elif isinstance(own.types, dict):
        fields = [(name, shapes.SCALARS[kind].arrow) for name, kind in own.types.items()]
        compile_for(own, shapes.shape(own.types, pa.struct(fields), own.sees_nulls))
    else:
        for name in own.types or ():
            kind = shapes.SCALARS[name].arrow
            compile_for(own, shapes.shape((name,), kind, own.sees_nulls))


def dumps(own: UserFunction) -> str:
    """The function as text."""
    try:
        code = _pickled(own)
        cloudpickle.loads(code)
    except Exception as error:  # a user's object may raise anything
        raise FunctionError(
            f"{own} at {located(own.function)} can't be shipped: it uses something that can't be "
            f"pickled ({type(error).__name__}: {error})"
        ) from error
    content = {
        "name": own.name,
        "form": own.form,
        "place": located(own.function),
        "python": _python(),
        "code": base64.b64encode(code).decode(),
    }
    return base64.b64encode(json.dumps(content).encode()).decode()


def _pickled(own: UserFunction) -> bytes:
    """The pickle, with the code of its functions and of all else their modules define."""
    named = {f.__module__ for f in (own.function, own.retract) if f is not None} & set(sys.modules)
    modules = [sys.modules[name] for name in named - {"__main__", "builtins"}]
    known = cloudpickle.list_registry_pickle_by_value()
    added = [module for module in modules if module.__name__ not in known]
    for module in added:
        cloudpickle.register_pickle_by_value(module)
    try:
        found: bytes = cloudpickle.dumps(own)
    finally:
        for module in added:
            cloudpickle.unregister_pickle_by_value(module)
    return found


@lru_cache(maxsize=256)
def loads(text: str) -> UserFunction:
    """The inverse of `dumps`. Raises EnvironmentMismatchError if another Python made the text, and
    FunctionError if it needs something that is missing here.
    """
    content = json.loads(base64.b64decode(text))
    words = f"function '{content['name']}' ({content['place']})"
    if content["python"] != _python():
        raise EnvironmentMismatchError(
            f"{words} was registered by Python {content['python']}, this is Python {_python()}: "
            "use one minor version, or ship the function as a module (spark.keyfold.modules)"
        )
    try:
        found: UserFunction = cloudpickle.loads(base64.b64decode(content["code"]))
    except Exception as error:  # a user's object may raise anything
        raise FunctionError(
            f"{words} can't be loaded here: {type(error).__name__}: {error}; ship what it imports "
            "with --py-files, or install it on the cluster"
        ) from error
    return found


def _python() -> str:
    return ".".join(platform.python_version_tuple()[:2])
