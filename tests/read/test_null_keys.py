"""`primary-key.nullable`: NULL is one more value of a key, from the write to the plan of a scan."""

import random
from pathlib import Path
from typing import Any

import pytest

from keyfold.errors import TableError
from keyfold.storage.table import Table
from keyfold.wire.predicates import Predicate
from tests.predicates.test_ranges import compare, connect
from tests.read import harness
from tests.read.harness import where
from tests.storage import tables

Row = dict[str, Any]
KINDS = {"p": "string", "a": "integer", "b": "string"}
SMALL = {"source__split__target_size": "4 kb", "source__split__open_file_cost": "1 b"}


def made(folder: Path, *columns: tuple[str, str], key: str, by: str = "", **options: str) -> Table:
    listed = [tables.column(name, kind) for name, kind in columns]
    settings = {"primary_key__nullable": "true"} | options
    return tables.table(folder, tables.new_table(*listed, key=key, by=by, **settings))


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> tuple[Table, list[Row]]:
    """A partitioned table with NULLs in all of its key, after ten jobs, and what it holds."""
    columns = (*KINDS.items(), ("v", "long"))
    folder = tmp_path_factory.mktemp("nulls")
    table = made(folder, *columns, key="p,a,b", by="p", bucket="3")
    draw, model = random.Random(5), {}
    for job in range(10):
        rows = [
            {
                "p": draw.choice(["x", "y", None]),
                "a": draw.choice([None, *range(job, job + 9)]),
                "b": draw.choice([None, "", "g"]),
                "v": job,
            }
            for _ in range(60)
        ]
        harness.upsert(table, rows)
        model |= {(row["p"], row["a"], row["b"]): row for row in rows}
    return table, list(model.values())


def test_nulls_are_equal_and_no_empty_text(stored: tuple[Table, list[Row]]) -> None:
    table, model = stored
    assert sorted(harness.rows(table), key=str) == sorted(model, key=str)
    assert any(row["b"] == "" for row in model)
    assert any(row["p"] is None and row["a"] is None and row["b"] is None for row in model)


def passes(predicate: Any, row: Row) -> bool | None:
    """A predicate of one row in SQL's three-valued logic."""
    op, args = predicate.op, predicate.args
    if op in ("AND", "OR", "NOT"):
        return connect(op, [passes(arg, row) for arg in args])
    value, literals = row[predicate.column], [arg.value for arg in args[1:]]
    if op in ("IS_NULL", "IS_NOT_NULL"):
        return (value is None) == (op == "IS_NULL")
    if op == "<=>":
        return bool(value == literals[0])
    if op == "IN":
        return connect("OR", [None if None in (value, v) else value == v for v in literals])
    return None if None in (value, literals[0]) else compare(op, value, literals[0])


def random_predicate(draw: random.Random, depth: int = 2) -> Any:
    if depth and draw.random() < 0.4:
        op = draw.choice(["AND", "OR", "NOT"])
        parts = [random_predicate(draw, depth - 1) for _ in range(1 if op == "NOT" else 2)]
        return Predicate(op, tuple(parts))
    name = draw.choice(list(KINDS))
    op = draw.choice(["=", "<=>", "<=>", "<>", "<", ">=", "IN", "IS_NULL", "IS_NULL"])
    values = [None, *range(-1, 20)] if name == "a" else [None, "", "g", "x"]
    count = 0 if op == "IS_NULL" else 3 if op == "IN" else 1
    return where(op, name, *(draw.choice(values) for _ in range(count)), type=KINDS[name])


def test_filters_change_nothing_but_the_files_read(
    stored: tuple[Table, list[Row]], seed: int
) -> None:
    table, model = stored
    draw, pruned = random.Random(seed), 0
    for _ in range(120):
        filters = [random_predicate(draw) for _ in range(draw.choice([1, 2, 3]))]
        scan, splits, report = harness.planned(table, filters=filters)
        found = [r for r in harness.rows_of(scan, splits) if all(passes(f, r) for f in filters)]
        wanted = [r for r in model if all(passes(f, r) for f in filters)]
        assert sorted(found, key=str) == sorted(wanted, key=str), filters
        pruned += report.files_read < report.files_total
    assert pruned > 10


@pytest.mark.parametrize("op", ["IS_NULL", "<=>"])
def test_a_key_of_nulls_reads_one_bucket(stored: tuple[Table, list[Row]], op: str) -> None:
    table, _ = stored
    literals = [] if op == "IS_NULL" else [None]
    filters = [where(op, name, *literals, type=kind) for name, kind in KINDS.items()]
    scan, splits, report = harness.planned(table, filters=filters)
    assert len({split.bucket for split in splits}) == 1
    assert report.files_read < report.files_total / 3
    found = [(r["p"], r["a"], r["b"]) for r in harness.rows_of(scan, splits)]
    assert found.count((None, None, None)) == 1
    never = [where("=", name, None, type=kind) for name, kind in KINDS.items()]
    assert harness.planned(table, filters=never)[1] == []


def test_leading_nulls_bound_a_file(tmp_path: Path) -> None:
    table = made(tmp_path, ("k", "long"), ("v", "long"), key="k", bucket="1")
    harness.upsert(table, [{"k": None, "v": 0}])
    harness.upsert(table, [{"k": None, "v": 1}, *({"k": k, "v": 1} for k in range(5, 9))])
    harness.upsert(table, [{"k": k, "v": 2} for k in range(20, 29)])

    def files(*filters: Any) -> int:
        return harness.planned(table, filters=filters)[2].files_read

    assert files(where("IS_NULL", "k")) == 2
    assert files(where("IS_NOT_NULL", "k")) == 2
    assert files(where("=", "k", 4)) == 0
    assert files(where("=", "k", 7)) == 1
    assert files(where("<", "k", 5)) == 0
    assert files(where("<=>", "k", None)) == 2
    assert harness.rows(table)[0] == {"k": None, "v": 1}


@pytest.mark.parametrize("key", ["k", "s,k", "k,s"])
def test_key_ranges_cut_buckets_with_nulls(tmp_path: Path, key: str) -> None:
    columns = (("k", "long"), ("s", "string"), ("v", "long"))
    small_groups = {"keyfold__row_group__rows": "1024"}
    table = made(tmp_path, *columns, key=key, bucket="1", **small_groups)
    model = {}
    for job in range(3):
        rows = [
            {"k": k if k % 5 else None, "s": None if k % 3 else f"{k}", "v": job}
            for k in range(job, 20000, job + 2)
        ]
        harness.upsert(table, rows)
        model |= {(row["k"], row["s"]) if "s" in key else row["k"]: row for row in rows}
    scan, splits, _ = harness.planned(table, **SMALL)
    assert len(splits) > 1
    found = [row for split in splits for row in harness.rows_of(scan, [split])]
    assert len(found) == len(model)
    assert sorted(found, key=str) == sorted(model.values(), key=str)
    for op, literals in (("IS_NULL", ()), ("IS_NOT_NULL", ()), ("=", (77,))):
        filters = [where(op, "k", *literals)]
        rows = [r for r in harness.rows(table, filters=filters, **SMALL) if passes(filters[0], r)]
        wanted = [row for row in model.values() if passes(filters[0], row)]
        assert sorted(rows, key=str) == sorted(wanted, key=str)


def test_the_same_key_is_refused_without_the_option(tmp_path: Path) -> None:
    table = made(tmp_path, ("k", "long"), ("v", "long"), key="k", primary_key__nullable="false")
    with pytest.raises(TableError, match=r"Cannot write null to non-null column\(k\)"):
        harness.upsert(table, [{"k": None, "v": 1}])


def test_the_option_decides_for_every_key_column_as_in_paimon(tmp_path: Path) -> None:
    columns = [tables.column("j", nullable=False), tables.column("k"), tables.column("v")]
    new = tables.new_table(*columns, key="j,k", primary_key__nullable="true")
    table = tables.table(tmp_path, new)
    assert table.layout.nullable_key == (True, True)
    harness.upsert(table, [{"j": None, "k": None, "v": 1}])
    assert harness.rows(table) == [{"j": None, "k": None, "v": 1}]
