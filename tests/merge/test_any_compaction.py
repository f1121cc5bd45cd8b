"""A read is the fold of all records in the order in which they came, whatever was compacted before.

Five runs are compacted in every way in which neighbours merge: the oldest as a full compaction
merges them, others as a minor one. Each way is read beside the definition of the engine.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from itertools import pairwise, product
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from keyfold.compact.kept_deletes import NONE, first_kept
from keyfold.kernels.ops import (
    ADDITIONS,
    DELETE,
    INSERT,
    RETRACTIONS,
    UPDATE_AFTER,
    UPDATE_BEFORE,
)
from keyfold.merge.buffer import fold_unsorted
from keyfold.merge.kinds import SEQUENCE_NUMBER, is_retract, of_all
from keyfold.merge.plan import plan_merge
from keyfold.merge.run import merge_runs
from keyfold.merge.sorted_run import SortedRun
from keyfold.options.parsing import parse
from keyfold.testing.tables import Record, batch, layout, records
from keyfold.wire.layout import TableLayout
from tests.definitions import fold, visible
from tests.merge.random_tables import check_same

RUNS, KEYS = 5, 40
COLUMNS = {"k": "INT", "n": "BIGINT", "v": "BIGINT", "w": "BIGINT", "g": "INT"}
Run = list[pa.RecordBatch]
Cuts = tuple[Any, ...]

AGGREGATION = {"merge-engine": "aggregation", "fields.n.aggregate-function": "sum"}
REMOVING = AGGREGATION | {"aggregation.remove-record-on-delete": "true"}
PARTIAL = {"merge-engine": "partial-update"}
GROUP = PARTIAL | {"fields.g.sequence-group": "n,v"}


def functions(v: str, *ignoring: str) -> dict[str, str]:
    found = {"fields.v.aggregate-function": v}
    return found | {f"fields.{name}.ignore-retract": "true" for name in ignoring}


TABLES = {
    "sum": AGGREGATION,
    "last_value": AGGREGATION | functions("last_value"),
    "last_value, ignoring": AGGREGATION | functions("last_value", "v"),
    "first_value, ignoring": AGGREGATION | functions("first_value", "v"),
    "first_non_null_value, ignoring": AGGREGATION | functions("first_non_null_value", "v"),
    "max, ignoring": AGGREGATION | functions("max", "v"),
    "product": AGGREGATION | functions("product"),
    "product, ignoring": AGGREGATION | functions("product", "v"),
    "removing": REMOVING,
    "removing, last_value": REMOVING | functions("last_value"),
    "removing, product": REMOVING | functions("product"),
    "removing, by sequence": REMOVING | {"sequence.field": "g"},
    "partial-update": PARTIAL | {"partial-update.remove-record-on-delete": "true"},
    "group": GROUP,
    "group, sum": GROUP | functions("sum"),
    "group, max ignoring": GROUP | functions("max", "v"),
    "group, last_value": GROUP | functions("last_value"),
    "group, removing": GROUP | {"partial-update.remove-record-on-sequence-group": "g"},
}


@dataclass(frozen=True)
class History:
    """Records of one job after another."""

    layout: TableLayout
    jobs: tuple[tuple[Record, ...], ...]

    @cached_property
    def expected(self) -> list[Record]:
        """The rows by the definition of the engine."""
        return visible(fold(self.layout, [record for job in self.jobs for record in job]))

    @cached_property
    def columns(self) -> list[str]:
        return self.layout.arrow_schema.names

    @cached_property
    def runs(self) -> list[Run]:
        merge = plan_merge(self.layout, self.columns, marks=True)
        return [fold_unsorted(merge, [batch(self.layout, job)]) for job in self.jobs]

    @cached_property
    def waits(self) -> bool:
        merge = plan_merge(self.layout, self.columns)
        return merge.engine.retractions_wait(self.layout, merge.options)

    def may_merge(self, start: int, runs: Sequence[Run]) -> bool:
        """Whether a compaction takes these runs without all that is older than the first."""
        kinds = of_all([part for run in runs for part in run])
        if start == 0 or kinds is None or not is_retract(kinds).any():
            return True
        return not self.waits

    def merged(self, start: int, runs: Sequence[Run]) -> Run:
        """The run that a compaction makes of these; the first of them is run `start`."""
        merge = plan_merge(self.layout, self.columns, marks=True)
        sources = [SortedRun(iter(run), (at, at)) for at, run in enumerate(runs)]
        drops = start == 0 and first_kept(merge.options) == NONE
        found = merge_runs(
            merge, sources, system_columns=True, drop_deletes=drops, has_oldest=start == 0
        )
        return [part.drop_columns([SEQUENCE_NUMBER]) for part in found]

    def read(self, runs: Sequence[Run]) -> list[Record]:
        sources = [SortedRun(iter(run), (at, at)) for at, run in enumerate(runs)]
        return records(list(merge_runs(plan_merge(self.layout, self.columns), sources)))


@cache
def ways(start: int, stop: int) -> list[Cuts]:
    """All ways to make one run of these: (start, stop, the ways of its parts). A part is a run of
    its own, or was merged before.
    """
    found: list[Cuts] = [(start, stop, ())] if stop - start == 1 else []
    for count in range(1, stop - start):
        for inner in _choices(start + 1, stop, count):
            parts = [ways(*bounds) for bounds in pairwise((start, *inner, stop))]
            found += [(start, stop, one) for one in product(*parts)]
    return found


def _choices(start: int, stop: int, count: int) -> list[tuple[int, ...]]:
    if count == 0:
        return [()]
    return [(at, *rest) for at in range(start, stop) for rest in _choices(at + 1, stop, count - 1)]


def compacted(history: History, way: Cuts, known: dict[Cuts, Run | None]) -> Run | None:
    """The run of a way; None if no compaction goes it."""
    if way not in known:
        start, _, parts = way
        made = [compacted(history, part, known) for part in parts]
        runs = [run for run in made if run is not None]
        if not parts:
            known[way] = history.runs[start] if start else history.merged(0, history.runs[:1])
        elif len(runs) == len(made) and history.may_merge(start, runs):
            known[way] = history.merged(start, runs)
        else:
            known[way] = None
    return known[way]


def random_history(
    random: Random,
    found: TableLayout,
    count: int = RUNS,
    keys: int = KEYS,
    retracts: tuple[int, ...] = RETRACTIONS,
    row: Callable[[Random, int], dict[str, Any]] | None = None,
    most: int = 3,
) -> History:
    """Records that can follow one another: a key begins with an addition, and no retraction comes
    behind a -D of partial-update. Where retractions wait, a job has a key once, elsewhere up to
    `most` times; where a -U begins a row, no job begins a key with one. `row` makes the values of a
    record of a job.
    """
    is_partial = found.options.get("merge-engine") == "partial-update"
    begins = plan_merge(found, ["k"]).engine.begins_jobs(parse(found))
    most = 1 if History(found, ()).waits else most
    values = row or partial(_numbers, "sequence.field" in found.options)
    last: dict[int, int] = {}
    jobs = []
    for _ in range(count):
        kinds = random.choice((ADDITIONS, (*ADDITIONS, *retracts)))
        job, named = [], set[int]()
        for key in (key for key in range(keys) for _ in range(random.randrange(most + 1))):
            kind = random.choice(kinds)
            if key not in last:
                kind = INSERT
            elif is_partial and kind in RETRACTIONS and last[key] == DELETE:
                kind = UPDATE_AFTER
            if begins and kind == UPDATE_BEFORE and key not in named:
                kind = UPDATE_AFTER
            last[key] = kind
            named.add(key)
            job.append((kind, {"k": key, **values(random, len(jobs))}))
        jobs.append(tuple(job))
    return History(found, tuple(jobs))


def _numbers(is_ordered: bool, random: Random, job: int) -> dict[str, Any]:
    numbers = {name: random.choice((None, 1, 1, 2, -1)) for name in ("n", "v", "w")}
    return {**numbers, "g": job if is_ordered else random.randrange(RUNS)}


def test_ways_are_all_ways() -> None:
    assert [len(ways(0, count)) for count in range(1, 6)] == [1, 1, 3, 11, 45]


@pytest.mark.parametrize("name", TABLES)
def test_no_compaction_changes_a_read(name: str) -> None:
    check(name, Random(f"{name}"))


def check(name: str, random: Random) -> None:
    history = random_history(random, layout(COLUMNS, ["k"], TABLES[name]))
    known: dict[Cuts, Run | None] = {}
    tried = 0
    for way in ways(0, RUNS):
        runs = [compacted(history, part, known) for part in way[2]]
        there = [run for run in runs if run is not None]
        if len(there) == len(runs):
            tried += 1
            try:
                check_same(history.read(there), history.expected, history.columns)
            except AssertionError as error:
                raise AssertionError(f"{way}: {error}") from None
    assert tried
