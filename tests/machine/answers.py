"""The answers that metadata shortens, beside the rows of a scan of everything: each question that
files, levels, partitions, footers or statistics answer has a check here, and the reason why it is
right.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any

from keyfold import Table
from keyfold.questions.partitions import partitions
from keyfold.read.request import ReadRequest
from keyfold.read.scan_plan import plan_read
from keyfold.read.task import read_task
from keyfold.wire.specs import Aggregate
from tests.machine.partitioned import NUMBERS, PARTS, part_of

Rows = Sequence[Mapping[str, Any]]
OPERATORS: Mapping[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq, "<": operator.lt, "<=": operator.le, ">": operator.gt,
    ">=": operator.ge, "<>": operator.ne,
}  # fmt: skip
UNITED: Mapping[str, Callable[[list[Any]], Any]] = {
    "COUNT": sum,
    "SUM": lambda values: sum(values) if values else None,
    "MIN": lambda values: min(values, default=None),
    "MAX": lambda values: max(values, default=None),
}


def check(table: Table, rows: Rows, draw: Random) -> None:
    """All answers, of random questions."""
    for answer in (filtered, limited, topped, folded, looked_up, listed):
        answer(table, rows, draw)


def same(found: Rows, expected: Rows) -> None:
    assert sorted(map(in_order, found)) == sorted(map(in_order, expected))


def in_order(row: Mapping[str, Any]) -> list[tuple[str, bool, Any]]:
    return [(name, value is not None, value or 0) for name, value in row.items()]


def condition(
    rows: Rows, draw: Random, names: Sequence[str] = ("p", "k", "k", "a", "b", "s")
) -> tuple[str, Callable[[Mapping[str, Any]], bool]]:
    """A comparison with a value that some row has, or nearly; and the same in Python."""
    name = draw.choice(names)
    values = [row[name] for row in draw.sample(rows, min(3, len(rows))) if row[name] is not None]
    value = draw.choice(values or [2]) + draw.choice([0, 0, 1, -1])
    if draw.random() < 0.15:
        return f"{name} IS NULL", lambda row: row[name] is None
    if draw.random() < 0.2:
        others = [*values, value]
        listed = ", ".join(map(str, others))
        return f"{name} IN ({listed})", lambda row: row[name] in others
    op = draw.choice([*OPERATORS])
    holds = OPERATORS[op]
    return f"{name} {op} {value}", lambda row: row[name] is not None and holds(row[name], value)


def filtered(table: Table, rows: Rows, draw: Random) -> None:
    """Partitions, buckets, files and row groups are left out by ranges of keys, before the merge,
    as all records of a key are left out together. By ranges of values only files are that nothing
    overlaps, as each of their rows is a result.
    """
    (text, holds), (more, also) = condition(rows, draw), condition(rows, draw)
    same(table.scan(NUMBERS, text).to_pylist(), [row for row in rows if holds(row)])
    both = [row for row in rows if holds(row) and also(row)]
    same(table.scan(NUMBERS, f"{text} AND {more}").to_pylist(), both)
    either = [row for row in rows if holds(row) or also(row)]
    names = draw.sample(NUMBERS, 2)
    found = table.scan(names, f"{text} OR {more}").to_pylist()
    same(found, [{name: row[name] for name in names} for row in either])


def limited(table: Table, rows: Rows, draw: Random) -> None:
    """A limit counts merged rows that pass the condition, not records. EXISTS is a limit of 1."""
    text, holds = condition(rows, draw)
    kept = [row for row in rows if holds(row)]
    most = draw.choice((1, 1, 2, 3, 5))
    found = table.scan(NUMBERS, text, limit=most).to_pylist()
    assert len(found) == min(most, len(kept))
    assert all(row in kept for row in found)
    assert len(table.scan(limit=most).to_pylist()) == min(most, len(rows))


def topped(table: Table, rows: Rows, draw: Random) -> None:
    """The first rows of a sort by the key are among the first of each split: a split is in order,
    and a section is never cut there.
    """
    most = draw.randrange(1, 5)
    request = ReadRequest(["k"], limit=most, is_top=True, cores=draw.choice((1, 4)))
    scan, tasks, _ = plan_read(table._load(), request)
    found = [
        row["k"] for task in tasks for batch in read_task(scan, task) for row in batch.to_pylist()
    ]
    assert _first(found, most) == _first([row["k"] for row in rows], most)


def _first(keys: Sequence[int | None], most: int) -> Sequence[int | None]:
    """The first of a sort, in which NULL is the first of all."""
    return sorted(keys, key=lambda key: (key is not None, key or 0))[:most]


def folded(table: Table, rows: Rows, draw: Random) -> None:
    """Footers count, and know extremes, of files that nothing overlaps and that hold no deletes and
    no marks. Records fold without a merge where the query's function is the column's own.
    """
    every = [("COUNT", None)]
    every += [(op, name) for op in UNITED for name in NUMBERS]
    own = [("SUM", "a")]  # what an engine folds `a` by: with it alone, records fold unmerged
    _check_folded(table, rows, draw, own)
    _check_folded(table, rows, draw, draw.sample(every, draw.randrange(1, 5)))


def _check_folded(
    table: Table, rows: Rows, draw: Random, asked: Sequence[tuple[str, str | None]]
) -> None:
    text, holds = condition(rows, draw, ["p", "k"])  # Spark leaves no others to such scans
    for where, kept in (("", rows), (text, [row for row in rows if holds(row)])):
        by = draw.choice([(), ("p",), ("s",)])
        aggregate = Aggregate(by, tuple(asked))
        groups: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {} if by else {(): []}
        for row in kept:
            groups.setdefault(tuple(row[name] for name in by), []).append(row)
        expected = {
            group: [_united(op, [1 if n is None else row[n] for row in of]) for op, n in asked]
            for group, of in groups.items()
        }
        assert _folded(table, aggregate, where) == expected, (aggregate, where)


def _united(op: str, values: Sequence[Any]) -> Any:
    known = [value for value in values if value is not None]
    return UNITED[op]([1] * len(known) if op == "COUNT" else known)


def _folded(table: Table, aggregate: Aggregate, where: str) -> dict[tuple[Any, ...], list[Any]]:
    """What Spark makes of the groups of all tasks."""
    filters = table.scan(where=where or None).condition.predicates
    scan, tasks, _ = plan_read(
        table._load(), ReadRequest([], filters, enforced=filters, aggregate=aggregate, cores=2)
    )
    parts: dict[tuple[Any, ...], list[list[Any]]] = {}
    at = len(aggregate.by)
    for task in tasks:
        for batch in read_task(scan, task):
            for row in zip(*batch.to_pydict().values(), strict=True):
                columns = parts.setdefault(row[:at], [[] for _ in row[at:]])
                for column, value in zip(columns, row[at:], strict=True):
                    column += [] if value is None else [value]
    return {
        group: [UNITED[op](of) for (op, _), of in zip(aggregate.functions, columns, strict=True)]
        for group, columns in parts.items()
    }


def looked_up(table: Table, rows: Rows, draw: Random) -> None:
    """Look-ups skip files whose keys, and row groups whose ranges, can't hold a key; the newest
    record ends the search under engines where it is the row.
    """
    known = {row["k"]: row for row in rows}
    keys = [*draw.sample([*known], min(2, len(known))), *draw.sample(range(12), 2), 999]
    for key in keys:
        assert table.get({"p": part_of(key), "k": key}, NUMBERS) == known.get(key), key
    asked = [{"p": part_of(key), "k": key} for key in keys]
    found = table.get_many(asked, NUMBERS).to_pylist()
    is_there = [row["p"] is not None and row["k"] in known for row in found]
    expected = [known.get(key) for key in keys]
    assert [row if there else None for row, there in zip(found, is_there, strict=True)] == expected
    part = draw.randrange(PARTS)
    same(table.prefix({"p": part}, NUMBERS).to_pylist(), [row for row in rows if row["p"] == part])


def listed(table: Table, rows: Rows, draw: Random) -> None:
    """A partition is listed if its numbers of records tell of a row, or a look shows one."""
    found = partitions(table._load(), lambda _: True).column("p").to_pylist()
    assert sorted(found) == sorted({row["p"] for row in rows})


def changed(table: Table, after: int, before: Rows, rows: Rows) -> None:
    """Changes are those of the keys in files that came or went, looked up in both states; or as
    producers told them, who leave out files that stay, and whole partitions tell theirs as they go.
    """
    columns = [*NUMBERS, "_change_type", "_commit_version"]
    for net in (False, True):
        found = table.changes(after, columns=columns, net=net).to_pylist()
        state = {row["k"]: dict(row) for row in before}
        for version in sorted({row["_commit_version"] for row in found}) if not net else [None]:
            of_commit = [row for row in found if version in (None, row["_commit_version"])]
            gone = _of_types(of_commit, "delete", "update_preimage")
            assert all(state.pop(row["k"]) == row for row in gone)
            came = _of_types(of_commit, "insert", "update_postimage")
            assert not {row["k"] for row in came} & {*state}
            updated = _of_types(of_commit, "update_preimage")
            assert {row["k"] for row in updated} == {row["k"] for row in gone} & {
                row["k"] for row in came
            }
            state |= {row["k"]: row for row in came}
        same([*state.values()], rows)


def replayed(table: Table, after: int, before: Rows, rows: Rows) -> None:
    """The producer `input` tells records as they came: the last of a key is its row, or took it."""
    columns = [*NUMBERS, "_change_type", "_commit_version"]
    state = {row["k"]: dict(row) for row in before}
    found = table.changes(after, columns=columns).to_pylist()
    for row in sorted(found, key=lambda row: row["_commit_version"]):
        state.pop(row["k"], None)
        if row["_change_type"] in ("insert", "update_postimage"):
            state[row["k"]] = {name: row[name] for name in NUMBERS}
    same([*state.values()], rows)


def _of_types(changes: Rows, *types: str) -> list[dict[str, Any]]:
    return [{n: row[n] for n in NUMBERS} for row in changes if row["_change_type"] in types]
