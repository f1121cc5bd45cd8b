"""keyfold: primary-key tables for Apache Spark whose records fold, stored as Apache Paimon tables.

`configure(SparkSession.builder)` is all a PySpark job needs; `connect(warehouse)` opens the same
tables without Spark. `aggregate` and `engine` make merge functions of your own, `register` makes
them known to a session, and `keyfold.testing` tries them. Failures are raised as the error classes
below, all of them a `KeyfoldError`.

Importing this package loads neither Spark nor numba: every worker imports it before its first fork.
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

from keyfold import functions
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
    StoreError,
    TableError,
    TableExistsError,
    UnknownOutcomeError,
)
from keyfold.setup.session import configure, jar_path
from keyfold.setup.spark_errors import catch_errors
from keyfold.wire.version import package_version

if TYPE_CHECKING:
    from keyfold.tables.connection import Catalog, connect
    from keyfold.tables.scan import Scan
    from keyfold.tables.table import Table
    from keyfold.user_functions.decorators import aggregate, engine
    from keyfold.user_functions.shipping import register

    __version__: str

__all__ = [
    "Catalog",
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
    "Scan",
    "SnapshotExpiredError",
    "StoreError",
    "Table",
    "TableError",
    "TableExistsError",
    "UnknownOutcomeError",
    "aggregate",
    "catch_errors",
    "configure",
    "connect",
    "engine",
    "functions",
    "jar_path",
    "register",
]

# Loaded at their first use, since they need numba. Type checkers see the imports above.
_LOADED_LATE = {
    "Catalog": "keyfold.tables.connection",
    "Scan": "keyfold.tables.scan",
    "Table": "keyfold.tables.table",
    "aggregate": "keyfold.user_functions.decorators",
    "connect": "keyfold.tables.connection",
    "engine": "keyfold.user_functions.decorators",
    "register": "keyfold.user_functions.shipping",
}


if not TYPE_CHECKING:  # a type checker would take every name for one that may be there

    def __getattr__(name: str) -> Any:
        if name == "__version__":
            return package_version()
        if name not in _LOADED_LATE:
            raise AttributeError(f"module 'keyfold' has no attribute {name!r}")
        return getattr(importlib.import_module(_LOADED_LATE[name]), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__", *(name for name in globals() if name.startswith("__"))])
