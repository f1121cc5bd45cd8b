"""Transactions and statements of four processes at once: what each has seen, and what is left, is
what they show if they are done one after another, in the order of their snapshots.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pyarrow.compute as pc
import pytest

import keyfold
from keyfold import ConflictError
from tests.concurrency.processes import elsewhere

PROCESSES, EACH, KEYS, MOST_TRIES = 4, 3, 6, 400
Step = tuple[str, int, int]
State = dict[int, int]
Done = tuple[int, Sequence[Step], list[Any]]  # the snapshot, its steps and what they have seen


def _put(t: Any, k: int, v: int) -> None:
    t.upsert([{"k": k, "v": v}])


def _move(t: Any, k: int, to: int) -> tuple[int, int]:
    found = {one: (t.get({"k": one}) or {"v": 0})["v"] for one in (k, to)}
    t.upsert([{"k": k, "v": found[k] - 1}])
    t.upsert([{"k": to, "v": found[to] + 1 - (k == to)}])
    return found[k], found[to]


def _add(t: Any, k: int, v: int) -> Any:
    return t.update(f"k >= {k}", {"v": pc.field("v") + v})


def _remove(t: Any, k: int, v: int) -> Any:
    return t.delete(where=f"k = {k} OR v > {v + 20}")


def _replace(t: Any, k: int, v: int) -> State:
    found = {row["k"]: row["v"] for row in t.scan().to_pylist()}
    t.overwrite([{"k": one, "v": value + 1} for one, value in found.items() if one != k])
    return found


def _merge(t: Any, k: int, v: int) -> Any:
    merge = t.merge([{"k": k, "v": v}, {"k": v % KEYS + KEYS, "v": k}])
    merge.when_matched_update({"v": pc.field("target", "v") + 1}).when_not_matched_insert_all()
    return merge.execute()


WRITES_ALL_IT_READS = {"put": _put, "move": _move}
STATEMENTS = {"add": _add, "remove": _remove, "merge": _merge}  # they give their snapshots
STEPS: Mapping[str, Callable[[Any, int, int], Any]] = {
    **WRITES_ALL_IT_READS,
    **STATEMENTS,
    "replace": _replace,
}


def model(state: State, step: Step) -> Any:
    """The same step on a dictionary."""
    name, k, v = step
    before = dict(state)
    if name == "put":
        state[k] = v
    elif name == "move":
        state[k] = before.get(k, 0) - 1
        state[v] = before.get(v, 0) + 1 - (k == v)
        return before.get(k, 0), before.get(v, 0)
    elif name == "add":
        state.update({one: value + v for one, value in before.items() if one >= k})
    elif name == "remove":
        for one in [o for o, value in before.items() if o == k or value > v + 20]:
            del state[one]
    elif name == "replace":
        state.clear()
        state.update({one: value + 1 for one, value in before.items() if one != k})
        return before
    else:
        for one, new in ((k, v), (v % KEYS + KEYS, k)):
            state[one] = before[one] + 1 if one in before else new
    return None


def step_of(draw: random.Random, names: Sequence[str]) -> Step:
    return draw.choice(names), draw.randrange(KEYS), draw.randrange(KEYS)


def seen_by(t: Any, step: Step) -> Any:
    """What the step shows of the rows."""
    name, k, v = step
    found = STEPS[name](t, k, v)
    return None if name in STATEMENTS else found


def transactions(folder: str, seed: int, names: Sequence[str]) -> tuple[list[Done], int]:
    """Those that one process commits, and how many were refused. Statements are some of them, each
    by itself.
    """
    alone = [name for name in names if name in STATEMENTS]
    draw, table = random.Random(seed), keyfold.connect(folder, threads=1).table("t")
    done: list[Done] = []
    refused = 0
    while len(done) < EACH and refused < MOST_TRIES:
        is_alone = bool(alone) and draw.random() < 0.4
        steps = [step_of(draw, alone if is_alone else names) for _ in range(draw.randrange(1, 4))]
        snapshot: int | None
        try:
            if is_alone:
                (name, k, v), *_ = steps
                steps, seen, snapshot = steps[:1], [None], STEPS[name](table, k, v)
            else:
                with table.transaction() as t:
                    t.get({"k": 0})  # one that reads nothing has the place of an INSERT: its start
                    seen = [seen_by(t, step) for step in steps]
                snapshot = t.snapshot
        except ConflictError:
            refused += 1
        else:
            if snapshot is not None:
                done.append((snapshot, steps, seen))
    return done, refused


@pytest.mark.parametrize(
    ("isolation", "names"),
    [("serializable", sorted(STEPS)), ("snapshot", sorted(WRITES_ALL_IT_READS))],
)
def test_transactions_are_those_of_one_after_another(
    tmp_path: Any, seed: int, isolation: str, names: Sequence[str]
) -> None:
    options = {"keyfold.row-changes.isolation": isolation, "bucket": "2"}
    table = keyfold.connect(tmp_path).create_table(
        "t", {"k": "INT", "v": "BIGINT"}, ["k"], options=options
    )
    table.upsert([{"k": k, "v": 0} for k in range(KEYS)])
    with ThreadPoolExecutor(PROCESSES) as pool:
        asked = [
            pool.submit(elsewhere, transactions, str(tmp_path), seed + number, names)
            for number in range(PROCESSES)
        ]
        found = [one.result() for one in asked]
    assert sum(refused for _, refused in found) > 0, "no two met"
    history = sorted(one for done, _ in found for one in done)
    assert len(history) == PROCESSES * EACH
    state: State = dict.fromkeys(range(KEYS), 0)
    for snapshot, steps, seen in history:
        assert [model(state, step) for step in steps] == seen, f"seen by snapshot {snapshot}"
        rows = table.scan(snapshot=snapshot).to_pylist()
        assert {row["k"]: row["v"] for row in rows} == state, f"after snapshot {snapshot}"
    assert {row["k"]: row["v"] for row in table.scan().to_pylist()} == state
