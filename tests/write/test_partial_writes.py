"""Writes that name columns, overwrite or delete: whatever jobs and merges they go through, the rows
are those of a store that keeps one row per key and applies record by record (Fluss' model).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyfold.aggregates import aggregates
from keyfold.kernels.ops import ADD
from keyfold.merge.buffer import fold_unsorted
from keyfold.merge.plan import plan_merge
from keyfold.merge.run import merge_runs
from keyfold.merge.sorted_run import SortedRun
from keyfold.options.fluss import VERSION
from keyfold.options.parsing import parse
from keyfold.testing.tables import layout
from keyfold.wire.layout import TableLayout
from keyfold.wire.specs import WriteSpec
from keyfold.write.marking import Marking
from keyfold.write.writer import prepared
from tests.draws import draws
from tests.option_names import option_names

VALUES = ("a", "b", "c", "d")
COLUMNS = {"k": "INT", "op": "STRING"} | dict.fromkeys(VALUES, "INT")
FUNCTIONS = (
    "sum",
    "max",
    "last_value",
    "last_non_null_value",
    "first_value",
    "first_non_null_value",
)
KEYS = 3
Row = dict[str, Any]


@dataclass(frozen=True)
class Job:
    """One INSERT: records (kind, row), the columns it names (None = all), and its mode."""

    records: Sequence[tuple[str, Row]]
    named: tuple[str, ...] | None = None
    mode: str = "default"


def table(**options: str) -> TableLayout:
    given = option_names(options)
    return layout(COLUMNS, ["k"], {"rowkind.field": "op"} | given)


class Store:
    """One row per key; a value is the list of inputs its function folds, from its last start on."""

    def __init__(self, kept: TableLayout) -> None:
        self.options = parse(kept)
        self.engine = self.options.merge_engine
        self.version = kept.options.get(VERSION)
        self.rows: dict[int, dict[str, list[Any]]] = {}

    def apply(self, job: Job) -> None:
        named = VALUES if job.named is None else tuple(n for n in VALUES if n in job.named)
        for kind, record in job.records:
            if kind == "-D":
                self.delete(record["k"], named, job)
            elif kind != "-U":
                self.upsert(record, named, job)

    def delete(self, key: int, named: Sequence[str], job: Job) -> None:
        is_ignored = self.options.ignore_delete and job.mode == "default"
        if key not in self.rows or is_ignored:
            return
        row = self.rows[key]
        if all(self.value(name, row[name]) is None for name in VALUES if name not in named):
            del self.rows[key]
        else:
            row |= {name: [] for name in named}

    def upsert(self, record: Row, named: Sequence[str], job: Job) -> None:
        old = self.rows.get(record["k"])
        if job.mode == "default" and self.version is not None and old is not None:
            stored = self.value(self.version, old[self.version])
            if (record[self.version] is None and stored is not None) or (
                stored is not None and record[self.version] < stored
            ):
                return
        row = self.rows.setdefault(record["k"], {name: [] for name in VALUES})
        for name in named:
            replaces = job.mode == "overwrite" or self.engine == "deduplicate"
            row[name] = [record[name]] if replaces else [*row[name], record[name]]

    def value(self, name: str, inputs: list[Any]) -> Any:
        if self.engine == "deduplicate":
            return inputs[-1] if inputs else None
        function = self.options.field_options(name).get("aggregate-function")
        folding = aggregates()[function or "last_non_null_value"]
        return folding.definition([(ADD, value) for value in inputs])

    def visible(self) -> dict[int, tuple[Any, ...]]:
        return {
            key: tuple(self.value(name, row[name]) for name in VALUES)
            for key, row in self.rows.items()
        }


@dataclass
class Run:
    """What a job, or a merge, left; `has_marks` as its file's suffix would say."""

    batches: list[pa.RecordBatch]
    sequence: tuple[int, int]

    def open(self) -> SortedRun:
        return SortedRun(iter(self.batches), self.sequence)


def written(kept: TableLayout, job: Job, number: int, random: Random) -> list[Run]:
    """A job's runs: one, or, as a buffer that spills makes them, several merged into one."""
    spec = WriteSpec(
        kept, tuple(COLUMNS), False, number, "job", named=job.named, merge_mode=job.mode
    )
    options = parse(kept)
    marking = Marking.of(spec, options)
    has_marks = marking is not None and marking.has_marks
    merge = plan_merge(kept, list(COLUMNS), marks=has_marks)
    rows = [{**record, "op": kind} for kind, record in job.records]
    whole = pa.RecordBatch.from_pylist(rows, kept.arrow_schema)
    parts, start = [], 0
    while start < whole.num_rows:
        stop = start + random.choice((1, 3, 100))
        parts.append(prepared(spec, merge, marking, whole.slice(start, stop - start)))
        start = stop
    spills: list[list[pa.RecordBatch]] = [[]]
    for part in parts:
        spills[-1].append(part)
        if random.random() < 0.3:
            spills.append([])
    runs = [fold_unsorted(merge, spilled) for spilled in spills]
    if sum(map(bool, runs)) < 2:
        return [Run(run, (number, number)) for run in runs if run]
    sources = [SortedRun(iter(run), (at, at)) for at, run in enumerate(runs) if run]
    batches = list(
        merge_runs(merge, sources, system_columns=True, drop_deletes=False, has_oldest=False)
    )
    return [Run([without_numbers(batch) for batch in batches], (number, number))]


def without_numbers(batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch.drop_columns(["_SEQUENCE_NUMBER"])


def compacted(kept: TableLayout, runs: list[Run], random: Random) -> list[Run]:
    """Some neighbours merged into one run, the oldest among them or not."""
    start = random.randrange(len(runs))
    stop = random.randrange(start, len(runs)) + 1
    chosen = runs[start:stop]
    merge = plan_merge(kept, list(COLUMNS), marks=True)
    batches = merge_runs(
        merge,
        [run.open() for run in chosen],
        system_columns=True,
        drop_deletes=start == 0,
        has_oldest=start == 0,
    )
    span = chosen[0].sequence[0], chosen[-1].sequence[1]
    return [*runs[:start], Run([without_numbers(b) for b in batches], span), *runs[stop:]]


def read(kept: TableLayout, runs: list[Run]) -> dict[int, tuple[Any, ...]]:
    merge = plan_merge(kept, list(COLUMNS))
    rows = pa.Table.from_batches(
        merge_runs(merge, [run.open() for run in runs]), kept.arrow_schema
    ).to_pylist()
    assert len({row["k"] for row in rows}) == len(rows)
    return {row["k"]: tuple(row[name] for name in VALUES) for row in rows}


def random_job(random: Random, kept: TableLayout, *, partial: bool, overwrites: bool) -> Job:
    named = None
    if partial and random.random() < 0.7:
        named = ("k", "op", *(n for n in VALUES if random.random() < 0.5))
    mode = "overwrite" if overwrites and random.random() < 0.3 else "default"
    # A NULL that first_value retains outlives a row that a delete of the other columns removes:
    # that it was removed is not known before the oldest record is.
    retains = named is not None and "first_value" in kept.options.values()
    kinds = ("+I", "+I", "+I", "+U", "+I" if retains else "-D", "-U")
    records = []
    for _ in range(random.randrange(6)):
        row = {"k": random.randrange(KEYS)}
        row |= {name: random.choice((None, 0, 1, 2, 3)) for name in VALUES}
        records.append((random.choice(kinds), row))
    return Job(records, named, mode)


def tables(random: Random, engine: str) -> TableLayout:
    if engine == "default":
        return table(table__delete__behavior="allow")
    if engine == "versioned":
        options = {
            "rowkind.field": "op",
            "sequence.field": "a",
            "ignore-delete": "true",
            "table.delete.behavior": "ignore",
            VERSION: "a",
        }
        return layout(COLUMNS, ["k"], options)
    functions = {
        f"fields.{name}.aggregate-function": random.choice(FUNCTIONS)
        for name in VALUES
        if random.random() < 0.8
    }
    options = {"rowkind.field": "op", "merge-engine": "aggregation"} | functions
    if random.random() < 0.3:
        options |= {"ignore-delete": "true", "table.delete.behavior": "ignore"}
    else:
        options |= {
            "aggregation.remove-record-on-delete": "true",
            "table.delete.behavior": "allow",
        }
    return layout(COLUMNS, ["k"], options)


@pytest.mark.parametrize("engine", ["default", "aggregation", "versioned"])
@draws(80)
@given(st.integers(0, 2**32), st.integers(1, 8), st.integers(0, 4))
def test_any_jobs_and_any_merges_give_the_rows_of_a_store(
    engine: str, seed: int, jobs: int, merges: int
) -> None:
    random = Random(seed)
    kept = tables(random, engine)
    store, runs = Store(kept), []
    for number in range(jobs):
        job = random_job(
            random, kept, partial=engine != "versioned", overwrites=engine != "default"
        )
        store.apply(job)
        runs += written(kept, job, number, random)
    for _ in range(merges if runs else 0):
        runs = compacted(kept, runs, random)
    assert read(kept, runs) == store.visible()


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(
    ("function", "later", "expected"),
    [
        (None, (4, 7), (4, 7)),
        (None, (2, 7), (3, 1)),
        ("sum", (4, 7), (4, 8)),
        ("sum", (2, 7), (3, 8)),
        ("first_value", (2, 7), (3, 7)),
    ],
)
def test_overwriting_the_sequence_of_a_group_begins_it_anew(
    function: str | None, later: tuple[int, int], expected: tuple[int, int], seed: int
) -> None:
    """The group is at 5, then put to 3; later records are compared with 3."""
    own = {} if function is None else {"fields.b.aggregate-function": function}
    options = {"merge-engine": "partial-update", "rowkind.field": "op"}
    kept = layout(COLUMNS, ["k"], options | {"fields.a.sequence-group": "b"} | own)
    random, runs = Random(seed), []
    for number, (a, b, mode) in enumerate(
        [(5, 10, "default"), (3, 1, "overwrite"), (*later, "default")]
    ):
        record = {"k": 0, "a": a, "b": b, "c": None, "d": None}
        job = Job([("+I", record)], ("k", "op", "a", "b"), mode)
        runs += written(kept, job, number, random)
    if seed:
        runs = compacted(kept, runs, random)
    assert read(kept, runs) == {0: (*expected, None, None)}


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("named", [None, ("k", "op", "a", "b")])
def test_a_late_record_folds_with_the_row_that_overwrote(
    named: tuple[str, ...] | None, seed: int
) -> None:
    """It came after that row, though its `sequence.field` puts it in front."""
    options = {"merge-engine": "aggregation", "rowkind.field": "op", "sequence.field": "a"}
    functions = {"fields.b.aggregate-function": "sum", "fields.c.aggregate-function": "last_value"}
    kept = layout(COLUMNS, ["k"], options | functions)
    random, runs = Random(seed), []
    for number, (a, b, c, names, mode) in enumerate(
        [(5, 10, 1, None, "default"), (3, 1, 2, None, "overwrite"), (2, 7, 3, named, "default")]
    ):
        record = {"k": 0, "a": a, "b": b, "c": c, "d": None}
        runs += written(kept, Job([("+I", record)], names, mode), number, random)
    if seed:
        runs = compacted(kept, runs, random)
    assert read(kept, runs) == {0: (3, 8, 2, None)}


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("mode", ["default", "overwrite"])
def test_fields_of_a_group_are_named_together(mode: str, seed: int) -> None:
    """The second job says (3, NULL), so (3, 4) is newer and the 5 of the first job is gone."""
    options = {"merge-engine": "partial-update", "rowkind.field": "op"}
    kept = layout(COLUMNS, ["k"], options | {"fields.a,b.sequence-group": "c"})
    random, runs = Random(seed), []
    for number, (names, a, b, c) in enumerate([("abc", 1, 5, 1), ("ac", 3, None, 2)]):
        record = {"k": 0, "a": a, "b": b, "c": c, "d": None}
        job = Job([("+I", record)], ("k", "op", *names), mode if number else "default")
        runs += written(kept, job, number, random)
    if seed % 2:
        runs = compacted(kept, runs, random)
    assert read(kept, runs) == {0: (3, None, 2, None)}
    record = {"k": 0, "a": 3, "b": 4, "c": 3, "d": None}
    runs += written(kept, Job([("+I", record)], ("k", "op", *"abc")), 2, random)
    if seed > 1:
        runs = compacted(kept, runs, random)
    assert read(kept, runs) == {0: (3, 4, 3, None)}


def random_group_job(random: Random) -> Job:
    """An INSERT of all columns, or of c, d and the group of a and b, each named or not."""
    named = ("k", "op", *random.choice(("", "ab")), *(n for n in "cd" if random.random() < 0.5))
    records = []
    for _ in range(random.randrange(4)):
        row = {name: random.choice((None, 0, 1, 2, 3)) for name in VALUES}
        records.append(("+I", row | {"k": random.randrange(2), "a": random.randrange(5)}))
    mode = "overwrite" if random.random() < 0.3 else "default"
    return Job(records, random.choice((None, named, named)), mode)


def apply_to_groups(rows: dict[int, Row], function: str | None, job: Job) -> None:
    """Record by record: a orders b, which changes with a record that is not older or by its
    function; c and d keep the last value.
    """
    named = VALUES if job.named is None else job.named
    for _, record in job.records:
        row = rows.setdefault(record["k"], dict.fromkeys(VALUES))
        is_newer = row["a"] is None or record["a"] >= row["a"]
        for name in (n for n in VALUES if n in named):
            value, stored = record[name], row[name]
            if job.mode == "overwrite" or (name in "cd" and value is not None):
                row[name] = value
            elif name == "a" or (name == "b" and function in (None, "last_value")):
                row[name] = value if is_newer else stored
            elif name == "b" and value is not None:
                folded = {"sum": sum, "max": max}[function or ""]
                row[name] = value if stored is None else folded((stored, value))


@draws(80)
@given(st.integers(0, 2**32), st.integers(1, 7), st.integers(0, 3))
def test_any_jobs_and_any_merges_of_a_sequence_group(seed: int, jobs: int, merges: int) -> None:
    random = Random(seed)
    function = random.choice((None, "sum", "max", "last_value"))
    own = {} if function is None else {"fields.b.aggregate-function": function}
    options = {"merge-engine": "partial-update", "rowkind.field": "op"}
    kept = layout(COLUMNS, ["k"], options | {"fields.a.sequence-group": "b"} | own)
    rows: dict[int, Row] = {}
    runs: list[Run] = []
    for number in range(jobs):
        job = random_group_job(random)
        apply_to_groups(rows, function, job)
        runs += written(kept, job, number, random)
    for _ in range(merges if runs else 0):
        runs = compacted(kept, runs, random)
    expected = {key: tuple(row[name] for name in VALUES) for key, row in rows.items()}
    assert read(kept, runs) == expected
