"""Every engine against its definition: random tables, runs, kinds, nulls and batch boundaries."""

from collections.abc import Iterator, Sequence
from random import Random

import pyarrow as pa
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from keyfold.errors import KeyfoldError
from keyfold.layout import TableLayout
from keyfold.merge import SortedRun, fold_unsorted, merge_runs, plan, run, window
from keyfold.testing.definitions import Record, accepted, fold, visible
from keyfold.testing.tables import batch, layout, records
from keyfold.testing.values import ATOMIC, same, value

FUNCTIONS = ("sum", "max", "min", "last_value", "last_non_null_value", "first_value")
KEYS = ({"k": "INT"}, {"k": "STRING"}, {"k": "BIGINT", "j": "STRING"}, {"k": "DECIMAL(20, 2)"})
FLAGS = {
    "deduplicate": ("ignore-delete", "ignore-update-before"),
    "aggregation": ("aggregation.remove-record-on-delete", "ignore-delete"),
}


def random_table(random: Random, engine: str) -> TableLayout:
    key = random.choice(KEYS)
    columns = dict(key) | {"s": random.choice(("INT", "DOUBLE", "STRING", "DECIMAL(38, 3)"))}
    columns |= {"t": "SMALLINT", "v": random.choice(("INT", "BIGINT", "FLOAT", "DECIMAL(18, 0)"))}
    columns |= {name: random.choice(list(ATOMIC)) for name in ("w", "x")}
    options = {"merge-engine": engine}
    if random.random() < 0.4:
        options["sequence.field"] = random.choice(("s", "s,t"))
        options["sequence.field.sort-order"] = random.choice(("ascending", "descending"))
    if random.random() < 0.3:
        options["primary-key.nullable"] = "true"
    if random.random() < 0.3:
        options[random.choice(FLAGS[engine])] = "true"
    if engine == "aggregation":
        options["fields.v.aggregate-function"] = random.choice(FUNCTIONS)
        options["fields.w.aggregate-function"] = random.choice(FUNCTIONS[1:])
        if "aggregation.remove-record-on-delete" not in options:
            options |= {
                f"fields.{name}.ignore-retract": "true"
                for name in ("v", "w")[: random.randrange(3)]
            }
    return layout(columns, list(key), options)


def random_records(
    random: Random, table: TableLayout, count: int, kinds: Sequence[int]
) -> list[Record]:
    null_rate = random.choice((0.1, 0.6)) if any(table.nullable_key) else 0.0
    keys = [
        [value(f.type, random, null_rate) for f in table.arrow_schema if f.name in table.key]
        for _ in range(12)
    ]
    found = []
    for _ in range(count):
        values = {f.name: value(f.type, random, 0.3) for f in table.arrow_schema}
        values |= dict(zip(table.key, random.choice(keys), strict=True))
        found.append((random.choice(kinds), values))
    return found


def cut(random: Random, batches: Sequence[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same rows in batches cut anywhere, some empty."""
    for part in batches:
        start = 0
        while start <= part.num_rows:
            stop = start + random.choice((0, 1, 2, 5, 50))
            yield part.slice(start, stop - start)
            start = max(stop, start + 1) if start == stop == part.num_rows else stop
            if stop >= part.num_rows:
                break


def check_same(found: Sequence[Record], expected: Sequence[Record], names: Sequence[str]) -> None:
    assert [kind for kind, _ in found] == [kind for kind, _ in expected]
    for (_, mine), (_, theirs) in zip(found, expected, strict=True):
        assert all(same(mine[name], theirs[name]) for name in names), (mine, theirs)


@pytest.mark.parametrize("engine", ["deduplicate", "aggregation"])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # FLOAT sums that reach infinity
@settings(max_examples=150)
@given(st.integers(0, 2**32), st.integers(1, 20), st.integers(0, 40), st.booleans())
def test_writing_runs_and_merging_them_is_the_definition(
    engine: str, seed: int, runs: int, rows: int, has_deletes: bool
) -> None:
    random = Random(seed)
    table = random_table(random, engine)
    kinds = (0, 0, 0, 1, 2, 3) if has_deletes else (0, 2)
    writes = [random_records(random, table, random.randrange(rows + 1), kinds) for _ in range(runs)]
    output = [column.name for column in table.columns if random.random() < 0.8] or ["v"]
    merge = plan(table, [column.name for column in table.columns])
    read = plan(table, output)
    try:
        stored = [fold_unsorted(merge, list(cut(random, [batch(table, w)]))) for w in writes]
        sources = [SortedRun(cut(random, part), (i, i)) for i, part in enumerate(stored)]
        found = records(list(merge_runs(read, sources)))
    except KeyfoldError as error:
        is_expected = "does not support retraction" in str(error) or "does not fit" in str(error)
        if not is_expected:
            raise
        reject()
    folded = [fold(table, accepted(table, write)) for write in writes]
    for part, expected in zip(stored, folded, strict=True):
        check_same(records(part), expected, merge.output)
    expected = visible(fold(table, [record for part in folded for record in part]))
    check_same([(0, row) for _, row in found], [(0, row) for _, row in expected], output)


@pytest.mark.parametrize("engine", ["deduplicate", "aggregation"])
def test_random_tables_do_fold(engine: str) -> None:
    """The test above passes over refused tables; here is that it sees enough of the others."""
    merged = 0
    for seed in range(60):
        random = Random(seed)
        table = random_table(random, engine)
        write = random_records(random, table, 40, (0, 2))
        try:
            merged += len(fold_unsorted(plan(table, table.key), [batch(table, write)])[0]) < 40
        except KeyfoldError:
            continue
    assert merged > 40


def test_rounds_are_small_and_memory_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """No run is read further ahead than its window; every round and batch stays small."""
    monkeypatch.setattr(window, "ROUND_ROWS", 64)
    monkeypatch.setattr(window, "LEAST_ROWS", 8)
    monkeypatch.setattr(run, "OUTPUT_ROWS", 32)
    table = layout({"k": "INT", "v": "INT"}, ["k"])
    merge, rows, handed = plan(table, ["k", "v"]), 2000, [0, 0, 0, 0]

    def read(number: int) -> Iterator[pa.RecordBatch]:
        for start in range(0, rows, 20):
            handed[number] += 20
            part = [(0, {"k": 2 * k + number % 2, "v": number}) for k in range(start, start + 20)]
            yield batch(table, part)

    seen = 0
    for out in merge_runs(merge, [SortedRun(read(i), (i, i)) for i in range(4)]):
        assert out.num_rows <= 32
        seen += out.num_rows
        assert sum(handed) <= 2 * seen + 4 * (16 + 20) + 2 * 128
    assert seen == 2 * rows
