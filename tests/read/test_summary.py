"""COUNT, MIN and MAX against the rows: overlaps, deletes, footers that can't say."""

import random
from pathlib import Path
from typing import Any

import pytest

from keyfold.read import reader
from keyfold.read.task import read_task, schema_of
from keyfold.storage.table import Table
from keyfold.wire.specs import Aggregate
from tests.read import harness
from tests.storage import tables

Row = dict[str, Any]
EVERYTHING = Aggregate(
    (),
    (("COUNT", None), ("MIN", "k"), ("MAX", "k"), ("MIN", "s"), ("MAX", "s"), ("MAX", "n")),
)


def made(folder: Path, **options: str) -> Table:
    columns = (
        tables.column("p", "string", False),
        tables.column("k"),
        tables.column("s", "string"),
        tables.column("n", "decimal(10,2)"),
        tables.column("op", "string"),
    )
    settings = {"bucket": "3", "rowkind__field": "op"} | options
    return tables.table(folder, tables.new_table(*columns, key="p,k", by="p", **settings))


def plain(folder: Path) -> Table:
    columns = (tables.column("k"), tables.column("v"), tables.column("s", "string"))
    op = tables.column("op", "string")
    return tables.table(folder, tables.new_table(*columns, op, bucket="1", rowkind__field="op"))


def summary(table: Table, asked: Aggregate, **more: Any) -> list[Row]:
    """What Spark makes of the summaries of all tasks."""
    scan, found, _ = harness.planned_tasks(table, [], aggregate=asked, **more)
    batches = [batch for task in found for batch in read_task(scan, task)]
    assert all(batch.schema.equals(schema_of(scan)) for batch in batches)
    groups: dict[tuple[Any, ...], list[list[Any]]] = {}
    for batch in batches:
        for row in zip(*batch.to_pydict().values(), strict=True):
            by = len(asked.by)
            columns = groups.setdefault(row[:by], [[] for _ in row[by:]])
            for column, value in zip(columns, row[by:], strict=True):
                column.append(value)
    return [
        dict(zip(asked.by, group, strict=True)) | {"found": totals(asked, columns)}
        for group, columns in sorted(groups.items())
    ]


def totals(asked: Aggregate, columns: list[list[Any]]) -> list[Any]:
    known = [[value for value in values if value is not None] for values in columns]
    return [
        sum(values) if op == "COUNT" else (min if op == "MIN" else max)(values, default=None)
        for (op, _), values in zip(asked.functions, known, strict=True)
    ]


def expected(asked: Aggregate, rows: list[Row]) -> list[Any]:
    return totals(
        asked, [[1 if name is None else row[name] for row in rows] for _, name in asked.functions]
    )


@pytest.mark.parametrize("engine", ["deduplicate", "partial-update", "aggregation"])
def test_random_tables(tmp_path: Path, seed: int, engine: str) -> None:
    more = {"fields__s__aggregate_function": "first_value"} if engine == "aggregation" else {}
    if engine != "deduplicate":
        prefix = engine.replace("-", "_")
        more[f"{prefix}__remove_record_on_delete"] = "true"
    table, draw = made(tmp_path, merge_engine=engine, **more), random.Random(seed)
    asked = EVERYTHING
    assert summary(table, asked) == [{"found": [0, None, None, None, None, None]}]
    for job in range(8):
        wide = draw.random() < 0.5  # else a stretch of keys of its own
        low = 0 if wide else 1000 * (job + 1)
        rows = [
            {
                "p": draw.choice("xyz"),
                "k": draw.randrange(low, low + 60),
                "s": draw.choice([None, "", "a" * 40, f"{job}"]),
                "n": draw.choice([None, draw.randrange(1000)]),
                "op": "-D" if draw.random() < 0.2 * (job % 3 == 2) else "+I",
            }
            for _ in range(draw.randrange(1, 60))
        ]
        harness.upsert(table, {(row["p"], row["k"]): row for row in rows}.values())
        stored = harness.rows(table)
        assert summary(table, asked) == [{"found": expected(asked, stored)}]
        assert summary(table, asked, cores=4) == [{"found": expected(asked, stored)}]
        by = Aggregate(("p",), asked.functions)
        groups = sorted({row["p"] for row in stored})
        assert summary(table, by) == [
            {"p": p, "found": expected(by, [row for row in stored if row["p"] == p])}
            for p in groups
        ]
        most = draw.randrange(9000)
        condition = [harness.where("<", "k", most)]
        kept = [row for row in stored if row["k"] < most]
        found = summary(table, asked, filters=condition, enforced=condition)
        assert found == [{"found": expected(asked, kept)}]


def test_footers_answer_where_they_can(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = []
    original = reader.read_file
    monkeypatch.setattr(
        reader, "read_file", lambda *args: opened.append(args[3]) or original(*args)
    )
    table = plain(tmp_path)
    numbers = Aggregate((), (("COUNT", None), ("MIN", "k"), ("MAX", "v")))
    for job in range(4):
        rows = [{"k": 10 * job + i, "v": -i, "s": "x", "op": "+I"} for i in range(10)]
        harness.upsert(table, rows)
    assert summary(table, numbers) == [{"found": [40, 0, 0]}]
    assert opened == []
    harness.upsert(table, [{"k": 3, "v": 9, "s": "y", "op": "+I"}])
    harness.upsert(table, [{"k": 99, "v": 1, "s": "y", "op": "-D"}])
    assert summary(table, numbers) == [{"found": [40, 0, 9]}]
    assert len(opened) == 3  # two that overlap, one that holds a delete
    opened.clear()
    assert summary(table, Aggregate((), (("MAX", "s"),))) == [{"found": ["y"]}]
    assert len(opened) == 6  # statistics of text may be cut
