"""The changes of a table against the changelog that a case expects, by what they make of each key.

A system that logs record by record shows states that a commit passed through; ours are those
between commits. Some log updates to equal values, which are no changes here, and some only one of
the two images of an update. So what is compared is the row of each key after each change.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from integration.conformance import compare, values
from integration.conformance.case import Case, Changelog

KINDS = {"insert": "+I", "update_preimage": "-U", "update_postimage": "+U", "delete": "-D"}
Key = tuple[Any, ...]
Change = tuple[str, tuple[Any, ...]]
State = tuple[Any, ...] | None


def difference(case: Case, wanted: Changelog, table: pa.Table) -> str | None:
    """Why the changes of a table are not those that are wanted; None if they are."""
    columns = [name for name, _ in case.columns]
    kinds = [table.schema.field(name).type for name in columns]
    expected = [
        [(kind, tuple(map(values.expected, row, kinds))) for kind, row in group]
        for group in wanted.groups
    ]
    places = [columns.index(name) for name in case.key]
    mine = list(_by_commit(table, columns, _bitmaps(wanted, len(columns))))
    if not wanted.has_before and any(kind == "-U" for group in mine for kind, _ in group):
        return f"expected no -U, found {mine}"
    try:
        found = _states(mine, places, is_checked=wanted.has_before and not wanted.is_exact)
    except ValueError as broken:
        return f"the changes contradict each other: {broken}"
    if wanted.is_exact:
        return _unequal(expected, mine)
    theirs = _states(expected, places)
    if wanted.has_commits:
        return _unequal(theirs, found)
    left, right = _chains(theirs), _chains(found)
    if wanted.is_by_record:
        fits = left.keys() == right.keys() and all(_is_part(right[k], left[k]) for k in left)
        return None if fits else _unequal(left, right)
    return _unequal(left, right)


def _unequal(expected: Any, found: Any) -> str | None:
    if repr(expected) == repr(found):
        return None
    return f"expected changes {expected}\n  found            {found}"


def _bitmaps(wanted: Changelog, columns: int) -> list[bool]:
    rows = [row for group in wanted.groups for _, row in group]
    return [
        any(isinstance(r[at], dict) and "bitmap" in r[at] for r in rows) for at in range(columns)
    ]


def _by_commit(
    table: pa.Table, columns: Sequence[str], holds_bits: Sequence[bool]
) -> Iterator[list[Change]]:
    """The changes of each commit, those of a key in their order."""
    commits = table.column("_commit_version").to_pylist()
    kinds = [KINDS[word] for word in table.column("_change_type").to_pylist()]
    rows = map(tuple, compare.cells(table.select(columns), holds_bits))
    groups: dict[int, list[Change]] = {}
    for commit, kind, row in zip(commits, kinds, rows, strict=True):
        groups.setdefault(commit, []).append((kind, row))
    yield from (groups[commit] for commit in sorted(groups))


def _states(
    groups: Iterable[Sequence[Change]], places: Sequence[int], *, is_checked: bool = False
) -> list[dict[Key, list[State]]]:
    """The rows that each commit gives each key it changes, one after another; None for a key that
    is gone. If `is_checked`, raises ValueError where a change does not follow from what was there.
    """
    rows: dict[Key, State] = {}
    found = []
    for group in groups:
        changed: dict[Key, list[State]] = {}
        open_update: Key | None = None
        for kind, row in group:
            key = tuple(row[place] for place in places)
            before = rows.get(key)
            if is_checked:
                _check(kind, row, before, open_update, key)
            open_update = key if kind == "-U" else None
            after = None if kind == "-D" else before if kind == "-U" else row
            if repr(after) != repr(before):
                changed.setdefault(key, []).append(after)
            rows[key] = after
        if changed:
            found.append(dict(sorted(changed.items(), key=repr)))
    return found


def _check(kind: str, row: State, before: State, open_update: Key | None, key: Key) -> None:
    is_right = {
        "+I": before is None,
        "-U": repr(before) == repr(row),
        "+U": open_update == key,
        "-D": repr(before) == repr(row),
    }[kind]
    if not is_right:
        raise ValueError(f"{kind} {row} of a key whose row is {before}")


def _chains(states: Iterable[dict[Key, list[State]]]) -> dict[Key, list[State]]:
    """All states of each key."""
    found: dict[Key, list[State]] = {}
    for changed in states:
        for key, rows in changed.items():
            found.setdefault(key, []).extend(rows)
    return dict(sorted(found.items(), key=repr))


def _is_part(some: Sequence[State], every: Sequence[State]) -> bool:
    """Whether the states end with the same, and are among the others in their order."""
    rest = iter(map(repr, every))
    return repr(some[-1]) == repr(every[-1]) and all(repr(one) in rest for one in some)
