"""Plans of real tables: what is left out never changes the answer, and enough is left out."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from keyfold.errors import NotSupportedError, TableError
from keyfold.read import reader
from keyfold.read.call_options import check_asked
from keyfold.storage.table import Table
from keyfold.wire.predicates import Predicate
from tests.predicates.test_ranges import compare, connect
from tests.read import harness
from tests.read.harness import where
from tests.storage import tables

Row = dict[str, Any]


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> tuple[Table, dict[tuple[Any, ...], Row]]:
    """A partitioned table after ten jobs, and what it holds by key."""
    columns = (
        tables.column("p", "string"),
        tables.column("a", "integer"),
        tables.column("b", "string"),
        tables.column("v"),
    )
    new = tables.new_table(*columns, key="p,a,b", by="p", bucket="3")
    table = tables.table(tmp_path_factory.mktemp("plans"), new)
    draw, model = random.Random(11), {}
    for job in range(10):
        rows = [
            {
                "p": draw.choice("xy"),
                "a": draw.randrange(job, job + 20),
                "b": draw.choice("fgh"),
                "v": job,
            }
            for _ in range(60)
        ]
        harness.upsert(table, rows)
        model |= {(row["p"], row["a"], row["b"]): row for row in rows}
    return table, model


def passes(predicate: Any, row: Row) -> bool:
    """A predicate of one row without NULLs."""
    op, args = predicate.op, predicate.args
    if op in ("AND", "OR", "NOT"):
        return bool(connect(op, [passes(arg, row) for arg in args]))
    value = row[predicate.column]
    literals = [arg.value for arg in args[1:]]
    return value in literals if op == "IN" else compare(op, value, literals[0])


def random_predicate(draw: random.Random, depth: int = 2) -> Any:
    if depth and draw.random() < 0.5:
        op = draw.choice(["AND", "OR", "NOT"])
        parts = [random_predicate(draw, depth - 1) for _ in range(1 if op == "NOT" else 2)]
        return Predicate(op, tuple(parts))
    column, kind, value = draw.choice(
        [
            ("p", "string", lambda: draw.choice("wxyz")),
            ("a", "integer", lambda: draw.randrange(-2, 35)),
            ("b", "string", lambda: draw.choice("efghi")),
            ("v", "long", lambda: draw.randrange(12)),
        ]
    )
    op = draw.choice(["=", "=", "<>", "<", "<=", ">", ">=", "IN"])
    count = 2 if op == "IN" else 1
    return where(op, column, *(value() for _ in range(count)), type=kind)


def test_filters_change_nothing_but_the_files_read(
    stored: tuple[Table, dict[tuple[Any, ...], Row]], seed: int
) -> None:
    table, model = stored
    draw, pruned = random.Random(seed), 0
    for _ in range(60):
        filters = [random_predicate(draw) for _ in range(draw.choice([1, 2]))]
        scan, splits, report = harness.planned(table, filters=filters)
        read = harness.rows_of(scan, splits)
        by_key = [f for f in filters if f.columns <= set("pab")]
        assert all(passes(f, row) for row in read for f in by_key), by_key
        found = [row for row in read if all(passes(f, row) for f in filters)]
        wanted = [row for row in model.values() if all(passes(f, row) for f in filters)]
        assert sorted(found, key=str) == sorted(wanted, key=str), filters
        pruned += report.files_read < report.files_total
        if {column for f in filters for column in f.columns} == {"v"}:
            assert report.files_read == report.files_total
    assert pruned > 10


def test_a_whole_key_reads_one_bucket(stored: tuple[Table, dict[tuple[Any, ...], Row]]) -> None:
    table, model = stored
    key = next(iter(model))
    filters = [
        where("=", name, value, type=kind)
        for name, value, kind in zip("pab", key, ("string", "integer", "string"), strict=True)
    ]
    scan, splits, report = harness.planned(table, filters=filters)
    assert len({split.bucket for split in splits}) == 1
    assert report.files_read < report.files_total / 3
    assert report.pushed[0] == f"p = '{key[0]}'"
    assert model[key] in harness.rows_of(scan, splits)
    none = [*filters[:2], where("=", "b", "f", type="string"), where("=", "b", "g", type="string")]
    assert harness.planned(table, filters=none)[1] == []


@pytest.mark.parametrize("key", ["k", "s,k", "k,s"])
def test_key_ranges_cut_one_bucket_into_many_splits(tmp_path: Path, key: str) -> None:
    new = tables.new_table(
        tables.column("k"), tables.column("s", "string"), tables.column("v"), key=key, bucket="1",
        **{"keyfold.row-group.rows": "1024"},
    )  # fmt: skip
    table = tables.table(tmp_path, new)
    model = {}
    for job in range(3):
        rows = [{"k": k, "s": f"{k % 7}", "v": job} for k in range(job, 20000, job + 2)]
        harness.upsert(table, rows)
        model |= {row["k"]: row for row in rows}
    small = {"source__split__target_size": "4 kb", "source__split__open_file_cost": "1 b"}
    scan, splits, _ = harness.planned(table, **small)
    assert len(splits) > 4
    parts = [harness.rows_of(scan, [split]) for split in splits]
    assert all(parts)
    whole = [row for part in parts for row in part]
    assert len(whole) == len(model)
    assert {row["k"]: row for row in whole} == model
    only_v, splits, _ = harness.planned(table, ["v"], **small)
    assert len(harness.rows_of(only_v, splits)) == len(model)


def test_sections_are_packed_up_to_the_target_size(tmp_path: Path) -> None:
    table = tables.table(tmp_path, tables.new_table(bucket="1"))
    for job in range(10):
        harness.upsert(table, [{"k": job, "v": job}])
    assert len(harness.planned(table)[1]) == 1
    _, splits, _ = harness.planned(table, source__split__target_size="8 mb")
    assert [len(split.sections) for split in splits] == [2] * 5


def test_a_limit_counts_merged_rows_and_stops_early(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = tables.table(tmp_path, tables.new_table(bucket="1"))
    for job in range(20):
        harness.upsert(table, [{"k": 2 * job + i, "v": job} for i in range(2)])
    opened = counted(monkeypatch)
    assert len(harness.rows(table, limit=3)) == 3
    assert opened() == 2
    harness.upsert(table, [{"k": k, "v": 99} for k in range(40)])
    assert harness.rows(table, limit=39) == [{"k": k, "v": 99} for k in range(39)]
    assert harness.rows(table, limit=0) == []


def counted(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    calls = []
    original = reader.read_file

    def read_file(*args: Any) -> Any:
        calls.append(args[3])
        return original(*args)

    monkeypatch.setattr(reader, "read_file", read_file)
    return lambda: len(calls)


def test_no_columns_still_count_rows(tmp_path: Path) -> None:
    table = tables.table(tmp_path, tables.new_table())
    for job in range(2):
        harness.upsert(table, [{"k": k, "v": job} for k in range(10 + job)])
        scan, splits, _ = harness.planned(table, [])
        batches = [batch for split in splits for batch in reader.read(scan, split)]
        assert sum(batch.num_rows for batch in batches) == 10 + job


def test_an_empty_table_has_no_splits(tmp_path: Path) -> None:
    _, splits, report = harness.planned(tables.table(tmp_path))
    assert (splits, report.rows, report.snapshot) == ([], 0, None)


@pytest.mark.parametrize(
    ("name", "value", "hint"),
    [
        ("scan.snapshot-id", "1", "VERSION AS OF"),
        ("versionAsOf", "1", "newest snapshot"),
        ("scan.mode", "from-snapshot", "newest snapshot"),
    ],
)
def test_older_rows_are_asked_for_elsewhere(
    tmp_path: Path, name: str, value: str, hint: str
) -> None:
    """Spark, or a rule of the session extension, has loaded the table of then."""
    layout = tables.table(tmp_path).layout
    with pytest.raises(NotSupportedError, match=rf"option {name} = '{value}' .*{hint}"):
        check_asked(layout, {name: value})
    check_asked(layout, {"scan.mode": "latest-full"})
    for asked in ({"versionAsOf": "1"}, {"scan.mode": "from-snapshot"}):
        check_asked(layout, asked, is_past=True)


def test_read_optimized_is_true_or_false(tmp_path: Path) -> None:
    found = tables.table(tmp_path)
    harness.upsert(found, [{"k": 1, "v": 1}])
    assert harness.rows(found, read_optimized="True") == []
    assert len(harness.rows(found, read_optimized="false")) == 1
    with pytest.raises(TableError, match="read-optimized: expected true or false, found 'yes'"):
        harness.planned(found, read_optimized="yes")
