"""Changes between two states, against a look for each row."""

from random import Random
from typing import Any

import pyarrow as pa
import pytest

from keyfold.changelog.compare import changes
from keyfold.kernels.ops import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE
from keyfold.merge.buffer import fold_unsorted
from keyfold.merge.kinds import VALUE_KIND
from keyfold.merge.plan import plan_merge
from keyfold.testing.tables import Record, batch, layout, records
from keyfold.wire.layout import TableLayout
from tests.merge.random_tables import KEYS, cut
from tests.random_values import ATOMIC, same, value

NESTED: dict[str, Any] = {
    "l": {"type": "ARRAY", "element": "DOUBLE"},
    "m": {"type": "MAP", "key": "STRING NOT NULL", "value": "FLOAT"},
    "r": {
        "type": "ROW",
        "fields": [
            {"id": 50, "name": "a", "type": "DOUBLE"},
            {"id": 51, "name": "b", "type": {"type": "ARRAY", "element": "STRING"}},
        ],
    },
}
Row = dict[str, Any]


def table_of(random: Random, *, nullable: bool) -> TableLayout:
    key = random.choice(KEYS)
    columns = dict(key) | {f"c{n}": name for n, name in enumerate(ATOMIC)} | NESTED
    return layout(columns, list(key), {"primary-key.nullable": str(nullable).lower()})


def canonical(item: Any) -> Any:
    """A value as it is compared: the entries of a map have no order."""
    is_map = isinstance(item, list) and bool(item) and isinstance(item[0], tuple)
    return sorted(item, key=lambda entry: str(entry[0])) if is_map else item


def equal(left: Row, right: Row, ignore: set[str]) -> bool:
    return all(same(canonical(left[n]), canonical(right[n])) for n in left if n not in ignore)


def definition(
    before: list[Row], after: list[Row], key: tuple[str, ...], ignore: set[str]
) -> list[Record]:
    """The changes, by a look for each row, in no order."""
    found: list[Record] = []
    for old in before:
        new = [row for row in after if all(same(row[n], old[n]) for n in key)]
        if not new:
            found.append((DELETE, old))
        elif not equal(old, new[0], ignore):
            found += [(UPDATE_BEFORE, old), (UPDATE_AFTER, new[0])]
    return found + [
        (INSERT, new)
        for new in after
        if not any(all(same(row[n], new[n]) for n in key) for row in before)
    ]


def some_keys(random: Random, table: TableLayout, null_rate: float) -> list[tuple[Any, ...]]:
    kinds = [table.column(name).arrow_field.type for name in table.key]
    found: list[tuple[Any, ...]] = []
    for _ in range(14):
        key = tuple(value(kind, random, null_rate) for kind in kinds)
        if not any(same(key, other) for other in found):
            found.append(key)
    return found


def state(random: Random, table: TableLayout, keys: list[tuple[Any, ...]]) -> list[Row]:
    rows = []
    for key in keys:
        row = {f.name: value(f.type, random, 0.2) for f in table.arrow_schema}
        rows.append(row | dict(zip(table.key, key, strict=True)))
    return rows


def following(random: Random, table: TableLayout, before: list[Row], after: list[Row]) -> None:
    """Let most rows of `after` be as before, or differ in one column."""
    for row in after:
        old = [found for found in before if all(same(found[n], row[n]) for n in table.key)]
        if old and random.random() < 0.7:
            changed = random.sample(list(row), random.choice((0, 1)))
            row |= {n: old[0][n] for n in row if n not in changed}
            if old[0]["m"] is not None and random.random() < 0.5:
                row["m"] = old[0]["m"][::-1]


def in_key_order(random: Random, table: TableLayout, rows: list[Row]) -> list[pa.RecordBatch]:
    """The rows, as a merge gives them, cut anywhere."""
    merge = plan_merge(table, table.arrow_schema.names)
    found = fold_unsorted(merge, [batch(table, [(INSERT, row) for row in rows])])
    return list(cut(random, [part.drop_columns([VALUE_KIND]) for part in found]))


@pytest.mark.parametrize("turn", range(40))
def test_changes_are_those_of_the_definition(turn: int, seed: int) -> None:
    random, nullable = Random(seed + turn), turn % 4 == 0
    table = table_of(random, nullable=nullable)
    keys = some_keys(random, table, 0.2 if nullable else 0.0)
    before, after = (
        state(random, table, [key for key in keys if random.random() < 0.7]) for _ in range(2)
    )
    following(random, table, before, after)
    others = [name for name in table.arrow_schema.names if name not in table.key]
    ignore = set(random.sample(others, random.choice((0, 2, 10))))
    batches = [in_key_order(random, table, rows) for rows in (before, after)]
    found = records(list(changes(table, *batches, ignore=ignore)))
    expected = definition(before, after, table.key, ignore)
    assert len(found) == len(expected)
    for kind, row in expected:
        assert any(kind == other and equal(row, there, set()) for other, there in found)
    for place, (kind, row) in enumerate(found):
        if kind == UPDATE_BEFORE:
            then, new = found[place + 1]
            assert then == UPDATE_AFTER
            assert all(same(row[n], new[n]) for n in table.key)


def test_values_that_look_alike() -> None:
    """NaN is NaN whatever its bits, NULL is NULL, -0.0 is not 0.0."""
    table = layout({"k": "INT", "v": "DOUBLE"}, ["k"])
    bits = (0x7FF8000000000000, 0x7FF8000000000001)
    nans = [pa.py_buffer(b"".join(word.to_bytes(8, "little") for word in bits))]
    one, other = (pa.Array.from_buffers(pa.float64(), 1, [None, *nans], offset=n) for n in (0, 1))

    def rows(nan: pa.Array, others: list[float | None]) -> list[pa.RecordBatch]:
        column = pa.concat_arrays([nan, pa.array(others, pa.float64())])
        keys = pa.array(range(len(column)), pa.int32())
        return [pa.RecordBatch.from_arrays([keys, column], schema=table.arrow_schema)]

    before, after = rows(one, [None, 0.0, 1.0]), rows(other, [None, -0.0, None])
    found = records(list(changes(table, before, after)))
    assert [(kind, row["k"]) for kind, row in found] == [
        (UPDATE_BEFORE, 2),
        (UPDATE_AFTER, 2),
        (UPDATE_BEFORE, 3),
        (UPDATE_AFTER, 3),
    ]


def test_many_rows_and_some_columns() -> None:
    """There are several rounds. The columns that are asked for decide what is a change."""
    table = layout({"k": "BIGINT", "a": "STRING", "b": "INT"}, ["k"])
    count, moved, every = 600_000, 10, 1000

    def rows(start: int, mark: str) -> list[pa.RecordBatch]:
        keys = range(start, start + count)
        texts = [f"text {n}{mark if n % every == 0 else ''}" for n in keys]
        arrays = [
            pa.array(keys, pa.int64()),
            pa.array(texts),
            pa.array([start] * count, pa.int32()),
        ]
        whole = pa.RecordBatch.from_arrays(arrays, schema=table.arrow_schema)
        return [whole.slice(at, 70_000) for at in range(0, count, 70_000)]

    parts = list(changes(table, rows(0, ""), rows(moved, "!"), columns=("a", "k")))
    found = pa.Table.from_batches(parts)
    assert found.column_names == ["a", "k", VALUE_KIND]
    kinds = found[VALUE_KIND].to_pylist()
    updates = [UPDATE_BEFORE, UPDATE_AFTER] * (count // every - 1)
    assert kinds == [DELETE] * moved + updates + [INSERT] * moved
    changed = [n for n in range(moved, count) if n % every == 0]
    assert found["k"].to_pylist()[moved:-moved:2] == changed
