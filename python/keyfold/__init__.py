"""keyfold: primary-key tables for Apache Spark whose records fold, stored as Apache Paimon tables.

`configure(SparkSession.builder)` is all a PySpark job needs. Importing this package loads neither
Spark nor numba nor pypaimon: it is imported by every worker before its first fork.
"""

import importlib
import sys
from typing import TYPE_CHECKING, Any

if sys.version_info < (3, 10):  # noqa: UP036 - a cluster may run any Python
    raise ImportError(
        "keyfold needs Python 3.10 or newer, this is "
        + ".".join(map(str, sys.version_info[:3]))
        + " at "
        + sys.executable
    )

from keyfold.errors import (
    ConflictError,
    CorruptDataError,
    EnvironmentMismatchError,
    FoldOverflowError,
    FunctionError,
    KeyfoldError,
    NamespaceExistsError,
    NamespaceNotEmptyError,
    NoSuchNamespaceError,
    NoSuchTableError,
    NotSupportedError,
    SnapshotExpiredError,
    TableError,
    TableExistsError,
    UnknownOutcomeError,
)
from keyfold.setup.session import configure, jar_path
from keyfold.setup.spark_errors import catch_errors
from keyfold.wire.version import package_version

if TYPE_CHECKING:
    from keyfold.authored.declare import aggregate as aggregate
    from keyfold.authored.declare import engine as engine
    from keyfold.authored.shipping import register as register

__all__ = [
    "ConflictError",
    "CorruptDataError",
    "EnvironmentMismatchError",
    "FoldOverflowError",
    "FunctionError",
    "KeyfoldError",
    "NamespaceExistsError",
    "NamespaceNotEmptyError",
    "NoSuchNamespaceError",
    "NoSuchTableError",
    "NotSupportedError",
    "SnapshotExpiredError",
    "TableError",
    "TableExistsError",
    "UnknownOutcomeError",
    "aggregate",
    "catch_errors",
    "configure",
    "engine",
    "jar_path",
    "register",
]

# Loaded when they are first used: they need numba.
_AUTHORED = {
    "aggregate": "keyfold.authored.declare",
    "engine": "keyfold.authored.declare",
    "register": "keyfold.authored.shipping",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return package_version()
    if name not in _AUTHORED:
        raise AttributeError(f"module 'keyfold' has no attribute {name!r}")
    return getattr(importlib.import_module(_AUTHORED[name]), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__", *(name for name in globals() if name.startswith("__"))])
