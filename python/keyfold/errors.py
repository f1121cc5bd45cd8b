"""The error tree: one base class, one subclass for each thing a reader of the message should do.

A message says what failed, where, what was expected, what was found, and which option changes it.
`kind` is the stable name on the wire to the JVM: renaming a class changes the protocol. Spark's
condition is made of it.
"""

import re
from typing import ClassVar


class KeyfoldError(Exception):
    """Base of every error keyfold raises on purpose."""

    kind: ClassVar[str] = "KeyfoldError"

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.kind = cls.__name__


class TableError(KeyfoldError):
    """The table, an option or the statement is wrong: change it."""


class NotSupportedError(KeyfoldError):
    """Valid elsewhere, not supported here."""


class ConflictError(KeyfoldError):
    """Another job committed first: run the job again."""


class UnknownOutcomeError(KeyfoldError):
    """A commit may or may not have happened: look at the table before running the job again."""


class SnapshotExpiredError(KeyfoldError):
    """The snapshot that is read has expired: read the table again, or keep snapshots longer."""


class CorruptDataError(KeyfoldError):
    """Stored bytes are not what the metadata says."""


class StoreError(KeyfoldError):
    """The disk or the store of a table refuses: make room, give the right to it, or repair it."""


class FoldOverflowError(KeyfoldError):
    """A sum or product left the range of its column: widen the column."""


class FunctionError(KeyfoldError):
    """A user's own aggregate or engine does not compile or gives another type: change it."""


class EnvironmentMismatchError(KeyfoldError):
    """Python, jar and wheel don't fit together: install matching ones."""


class NoSuchTableError(KeyfoldError):
    """The table does not exist."""


class TableExistsError(KeyfoldError):
    """A table of that name exists."""


class NoSuchNamespaceError(KeyfoldError):
    """The namespace does not exist."""


class NamespaceExistsError(KeyfoldError):
    """A namespace of that name exists."""


class NamespaceNotEmptyError(KeyfoldError):
    """The namespace still holds tables."""


def condition(kind: str) -> str:
    """Its name in Spark: KEYFOLD_CONFLICT of ConflictError, KEYFOLD_ERROR of KeyfoldError."""
    words = re.findall("[A-Z][a-z]*", kind.removeprefix("Keyfold").removesuffix("Error"))
    return "_".join(["KEYFOLD", *(words or ["ERROR"])]).upper()


def class_of_condition(name: str | None) -> type[KeyfoldError] | None:
    """The class whose condition this is, KeyfoldError for others that begin so; None for Spark's
    own.
    """
    if name is None or not name.startswith("KEYFOLD_"):
        return None
    return next((c for c in _classes() if condition(c.kind) == name), KeyfoldError)


def _classes() -> list[type[KeyfoldError]]:
    return [c for c in KeyfoldError.__subclasses__() if c.__module__ == __name__]
