"""Which changes pass for the changelog of a case."""

from typing import Any

import pyarrow as pa
import pytest

from integration.conformance.case import Case, Changelog
from integration.conformance.changes import KINDS, difference

CASE = Case("c", "", "", [("k", "INT"), ("v", "STRING")], [], [], key=["k"])
WORDS = {kind: word for word, kind in KINDS.items()}
INSERT, UPDATE = [("+I", [1, "a"])], [("-U", [1, "a"]), ("+U", [1, "b"])]


def table(*commits: list[tuple[str, list[Any]]]) -> pa.Table:
    """Changes as `CHANGES FROM` shows them."""
    rows = [
        {"k": k, "v": v, "_change_type": WORDS[kind], "_commit_version": number}
        for number, commit in enumerate(commits, start=1)
        for kind, (k, v) in commit
    ]
    kinds = [("k", pa.int32()), ("v", pa.string()), ("_change_type", pa.string())]
    return pa.Table.from_pylist(rows, pa.schema([*kinds, ("_commit_version", pa.int64())]))


EQUAL = [("-U", [1, "a"]), ("+U", [1, "a"])]


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (Changelog([INSERT, UPDATE]), table(INSERT, UPDATE)),
        (Changelog([INSERT, EQUAL, UPDATE]), table(INSERT, UPDATE)),
        (Changelog([INSERT, UPDATE[1:]]), table(INSERT, UPDATE)),
        (Changelog([[*INSERT, *UPDATE]], has_commits=False), table(INSERT, UPDATE)),
        (
            Changelog([[*INSERT, *UPDATE]], has_commits=False, is_by_record=True),
            table([("+I", [1, "b"])]),
        ),
        (Changelog([[*INSERT, *UPDATE]], is_exact=True), table([*INSERT, *UPDATE])),
        (
            Changelog([[*UPDATE[1:]]], has_commits=False, has_before=False),
            table([("+I", [1, "b"])]),
        ),
    ],
)
def test_passes(wanted: Changelog, found: pa.Table) -> None:
    assert difference(CASE, wanted, found) is None


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (Changelog([INSERT, UPDATE]), table(INSERT)),
        (Changelog([INSERT]), table(INSERT, UPDATE)),
        (Changelog([[*INSERT, *UPDATE]]), table(INSERT, UPDATE)),
        (Changelog([[*INSERT, *UPDATE]], has_commits=False), table([("+I", [1, "b"])])),
        (
            Changelog([[*INSERT, *UPDATE]], has_commits=False, is_by_record=True),
            table(INSERT),
        ),
        (Changelog([INSERT, UPDATE]), table(INSERT, UPDATE[1:])),
        (Changelog([INSERT, UPDATE]), table(INSERT, [("+I", [1, "b"])])),
        (Changelog([INSERT, UPDATE], is_exact=True), table(INSERT, UPDATE[1:])),
        (Changelog([UPDATE[1:]], has_commits=False, has_before=False), table(INSERT, UPDATE)),
        (Changelog([INSERT, [("-D", [1, "a"])]]), table(INSERT, [("-D", [1, "z"])])),
    ],
)
def test_fails(wanted: Changelog, found: pa.Table) -> None:
    assert difference(CASE, wanted, found) is not None
