"""Functions as bytes, code included; by the pickler that numba carries for its own functions.

It is there wherever kernels run. Bytecode is that of one minor version of Python.
"""

import sys
from collections.abc import Callable, Iterable
from typing import Any

from numba import cloudpickle


def dumps(thing: Any, functions: Iterable[Callable[..., Any]]) -> bytes:
    """Bytes with the code of these functions, and of whatever else their modules define."""
    named = {function.__module__ for function in functions} & set(sys.modules)
    modules = [sys.modules[name] for name in named - {"__main__", "builtins"}]
    known = cloudpickle.list_registry_pickle_by_value()
    added = [module for module in modules if module.__name__ not in known]
    for module in added:
        cloudpickle.register_pickle_by_value(module)
    try:
        found: bytes = cloudpickle.dumps(thing)
    finally:
        for module in added:
            cloudpickle.unregister_pickle_by_value(module)
    return found


def loads(data: bytes) -> Any:
    """The inverse of `dumps`."""
    return cloudpickle.loads(data)
