"""Kinds of errors are stable names that lead back to their class."""

import pytest

from keyfold import errors
from keyfold.errors import KeyfoldError, TableError

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
    "StoreError",
    "TableError",
    "TableExistsError",
    "UnknownOutcomeError",
}


def test_the_wire_names() -> None:
    assert {kind.kind for kind in KeyfoldError.__subclasses__()} == KINDS


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_kind_leads_back(kind: str) -> None:
    assert getattr(errors, kind)("what").kind == kind


def test_the_text_is_the_message() -> None:
    assert str(TableError("what went wrong")) == "what went wrong"
