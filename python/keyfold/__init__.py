"""keyfold: primary-key tables for Apache Spark whose records fold, stored as Apache Paimon tables.

`configure(SparkSession.builder)` is all a PySpark job needs. Importing this package loads neither
Spark nor numba nor pypaimon: it is imported by every worker before its first fork.
"""

import sys

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
    KeyfoldError,
    NamespaceExistsError,
    NamespaceNotEmptyError,
    NoSuchNamespaceError,
    NoSuchTableError,
    NotSupportedError,
    TableError,
    TableExistsError,
)
from keyfold.session import configure, jar_path

__all__ = [
    "ConflictError",
    "CorruptDataError",
    "EnvironmentMismatchError",
    "FoldOverflowError",
    "KeyfoldError",
    "NamespaceExistsError",
    "NamespaceNotEmptyError",
    "NoSuchNamespaceError",
    "NoSuchTableError",
    "NotSupportedError",
    "TableError",
    "TableExistsError",
    "configure",
    "jar_path",
]
