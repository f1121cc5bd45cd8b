"""Kinds of errors are stable names that lead back to their class."""

import pytest

from keyfold import errors
from keyfold.errors import KeyfoldError, TableError, error_class

KINDS = {
    "ConflictError",
    "CorruptDataError",
    "EnvironmentMismatchError",
    "FoldOverflowError",
    "FunctionError",
    "NamespaceExistsError",
    "NamespaceNotEmptyError",
    "NoSuchNamespaceError",
    "NoSuchTableError",
    "NotSupportedError",
    "SnapshotExpiredError",
    "TableError",
    "TableExistsError",
    "UnknownOutcomeError",
}


def test_the_wire_names() -> None:
    assert {kind.kind for kind in KeyfoldError.__subclasses__()} == KINDS


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_kind_leads_back(kind: str) -> None:
    assert error_class(kind) is getattr(errors, kind)
    assert error_class(kind)("what").kind == kind


def test_unknown_kinds_are_plain() -> None:
    assert error_class("FromTheFuture") is KeyfoldError
    assert str(TableError("what went wrong")) == "what went wrong"
