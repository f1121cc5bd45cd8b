"""Which buckets a compaction takes, how much of them, and how tasks share the work."""

from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pytest

from keyfold.compact import compaction_plan
from keyfold.errors import NotSupportedError, TableError
from keyfold.storage.table import Table
from keyfold.wire.predicates import Predicate
from tests import readers
from tests.compact import harness as compaction
from tests.read import harness
from tests.storage import tables


def made(folder: Path, **options: str) -> Table:
    return tables.table(folder, tables.new_table(**({"bucket": "1"} | options)))


def fill(table: Table, jobs: int = 5, count: int = 20, step: int = 1) -> None:
    for number in range(jobs):
        first = number * step
        harness.upsert(table, [{"k": k, "v": number} for k in range(first, first + count)])


def fill_base(table: Table, count: int = 10_000) -> None:
    """Rows that take some room."""
    random = Random(count)
    harness.upsert(table, [{"k": k, "v": random.randrange(1 << 40)} for k in range(count)])
    assert compaction.compact(table)


def partitioned(folder: Path) -> Table:
    columns = (tables.column("p"), tables.column("d", "date"), tables.column("k"))
    settings = {"bucket": "1", "primary_key__nullable": "true"}
    new = tables.new_table(*columns, key="p,d,k", by="p,d", **settings)
    table = tables.table(folder, new)
    for number in range(2):
        days = (None, number)
        harness.upsert(table, [{"p": p, "d": d, "k": number} for p in (1, 2) for d in days])
        harness.upsert(table, [{"p": p, "d": d, "k": number} for p in (1, 2) for d in days])
    return table


def partitions(table: Table, where: Sequence[Predicate] = (), **asked: Any) -> set[str]:
    asked["where"] = [predicate.to_json() for predicate in where]
    return {step["partition"] for step in compaction.plan(table, **asked)["steps"]}


DAYS = ("__DEFAULT_PARTITION__", "1970-01-01", "1970-01-02")
ALL = {f"p={p}/d={d}" for p in (1, 2) for d in DAYS}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (None, ALL),
        (" ", ALL),
        ("p=1", {name for name in ALL if name.startswith("p=1")}),
        ("p=1,d=1970-01-02", {"p=1/d=1970-01-02"}),
        ("p=1, d=1970-01-02; p=2,d=1970-01-01", {"p=1/d=1970-01-02", "p=2/d=1970-01-01"}),
        ("p='1', d=\"1970-01-02\"", {"p=1/d=1970-01-02"}),
        ("d=__DEFAULT_PARTITION__", {name for name in ALL if "DEFAULT" in name}),
        ("p=3", set()),
    ],
)
def test_partitions_are_named_as_in_paimon(tmp_path: Path, text: str, expected: set[str]) -> None:
    assert partitions(partitioned(tmp_path), partitions=text) == expected


def test_a_condition_takes_partitions(tmp_path: Path) -> None:
    table = partitioned(tmp_path)
    found = partitions(table, where=[harness.where(">", "p", 1)], partitions="d=1970-01-01")
    assert found == {"p=2/d=1970-01-01"}
    with pytest.raises(NotSupportedError, match="a condition takes partition columns"):
        partitions(table, where=[harness.where(">", "k", 1)])
    for undecided in (harness.where("LIKE", "p", 1), harness.where("=", "p", "1", type="string")):
        with pytest.raises(NotSupportedError, match="with constants of their type; found"):
            partitions(table, where=[harness.where("<", "p", 0), undecided])


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"partitions": "x=1"}, "of the partition columns \\(p, d\\), found 'x=1'"),
        ({"partitions": "p"}, "such as `a=1,b=2;a=3`"),
        ({"partitions": "p=one"}, "partition column p is of another type than 'one'"),
        ({"strategy": "most"}, "compact_strategy is 'most'; expected 'full' or 'minor'"),
        ({"options": {"compaction.size-ration": "1"}}, "did you mean compaction.size-ratio"),
        ({"options": {"num-levels": "one"}}, "expected a whole number from 2 to 100"),
        ({"options": {"merge-engine": "first-row"}}, "merge-engine .* can't be given for one"),
        ({"options": {"bucket": "7"}}, "option bucket .* can't be given for one call"),
        ({"options": {"fields.k.aggregate-function": "sum"}}, "can't be given for one call"),
        ({"max_bytes": 0}, "max_bytes is 0; expected 1 or more"),
    ],
)
def test_what_is_asked_wrongly_is_refused(
    tmp_path: Path, asked: dict[str, Any], message: str
) -> None:
    table = partitioned(tmp_path)
    with pytest.raises(TableError, match=message):
        compaction.plan(table, **asked)


def test_a_decimal_partition_of_too_many_digits_is_none(tmp_path: Path) -> None:
    """Arrow's cast of this text gives 1973234829041653.4793645104899106078720."""
    columns = (tables.column("p", "decimal(38,22)"), tables.column("k"))
    table = tables.table(tmp_path, tables.new_table(*columns, key="p,k", by="p", bucket="1"))
    harness.upsert(table, [{"p": Decimal("1973234829041653.4793645104899106078720"), "k": 1}])
    with pytest.raises(TableError, match="partition column p is of another type than"):
        partitions(table, partitions="p=8679173591312972471.795417")


def test_what_a_call_leaves_alone_is_said_why(tmp_path: Path) -> None:
    table = partitioned(tmp_path)
    skipped = compaction.plan(table, partitions="p=3")["skipped"]
    assert skipped == "no partition that holds rows is among those asked for"
    assert (
        compaction.plan(table, max_bytes=1)["skipped"] == "no bucket needs merging within 1 bytes"
    )
    compaction.compact(table)
    assert compaction.plan(table, partitions="p=1")["skipped"] == "no bucket needs merging"


def test_a_write_compacts_the_buckets_it_touched(tmp_path: Path) -> None:
    table = made(tmp_path, bucket="2")
    fill(table)
    assert compaction.plan(table, "auto", touched=[])["steps"] == []
    planned = compaction.plan(table, "auto", touched=[((), 1)])
    assert [step["bucket"] for step in planned["steps"]] == [1]
    compaction.compact(table, "auto", touched=[((), 0), ((), 1)])
    assert compaction.levels(table) == {5: 2}


def test_small_buckets_that_lack_a_run_join_those_that_are_due(tmp_path: Path) -> None:
    columns = (tables.column("p"), tables.column("k"), tables.column("v"))
    table = tables.table(tmp_path, tables.new_table(*columns, key="p,k", by="p", bucket="1"))

    def add(partition: int, jobs: int, count: int = 20) -> None:
        random = Random(partition)
        rows = [{"p": partition, "k": k, "v": random.randrange(1 << 40)} for k in range(count)]
        for _ in range(jobs):
            harness.upsert(table, rows)

    def due() -> set[tuple[str, int, int]]:
        steps = compaction.plan(table, "auto")["steps"]
        return {(step["partition"], step["files"], step["level"]) for step in steps}

    add(1, 4)
    add(2, 3)
    add(3, 1, 60_000)
    add(3, 3)
    assert due() == set()
    add(4, 4)
    add(4, 1)
    assert due() == {("p=1", 4, 5), ("p=4", 5, 5)}, "3 has as many runs, but is not small"


def test_a_small_bucket_is_merged_whole(tmp_path: Path) -> None:
    for name, count, picked in (("small", 10_000, (5, 5)), ("large", 60_000, (4, 4))):
        table = made(tmp_path / name)
        fill_base(table, count)
        fill(table, 4)
        (step,) = compaction.plan(table, "auto")["steps"]
        assert (step["files"], step["level"]) == picked, name


def test_a_write_only_table_is_compacted_by_hand(tmp_path: Path) -> None:
    table = made(tmp_path, write_only="true")
    fill(table)
    assert compaction.plan(table, "auto")["skipped"] == "the table is write-only"
    compaction.compact(table, "minor")
    assert compaction.levels(table) == {5: 1}


def test_a_write_stays_within_its_budget_until_runs_are_too_many(tmp_path: Path) -> None:
    table = made(tmp_path, keyfold__compaction__write_budget="1 b")
    fill(table, 7)
    assert compaction.plan(table, "auto")["skipped"] == "no bucket needs merging"
    (step,) = compaction.plan(table, "minor")["steps"]
    assert (step["files"], step["level"]) == (7, 5)
    fill(table, 1)
    compaction.compact(table, "auto")
    assert compaction.levels(table) == {5: 1}


def test_a_pick_beyond_the_budget_shrinks_to_the_newest_runs(tmp_path: Path) -> None:
    table = made(tmp_path, compaction__max_size_amplification_percent="0")
    fill_base(table)
    fill(table, 4)
    large = max(file.size for file in tables.reload(table).live_files())
    (step,) = compaction.plan(table, "minor")["steps"]
    assert (step["files"], step["level"]) == (5, 5)
    (step,) = compaction.plan(table, "auto", max_bytes=large)["steps"]
    assert (step["files"], step["level"]) == (4, 4)
    before = harness.rows(table)
    compaction.compact(table, "auto", max_bytes=large)
    assert compaction.levels(table) == {4: 1, 5: 1}
    assert harness.rows(table) == before


def test_early_full_compactions(tmp_path: Path) -> None:
    table = made(tmp_path)
    fill(table, 2)
    asked = {
        "compaction.total-size-threshold": "1 mb",
        "compaction.incremental-size-threshold": "1 b",
        "compaction.optimization-interval": "1 ms",
    }
    for name, text in asked.items():
        (step,) = compaction.plan(table, "auto", options={name: text})["steps"]
        assert (step["files"], step["level"]) == (2, 5)
    assert compaction.plan(table, "auto")["steps"] == []
    compaction.compact(table)
    fill(table, 1)
    later = {"compaction.optimization-interval": "1 h"}
    assert compaction.plan(table, "auto", options=later)["steps"] == []


def test_paimons_readers_see_first_rows_once(tmp_path: Path) -> None:
    table = made(tmp_path, merge_engine="first-row")
    fill_base(table)
    base = harness.rows(table)
    for number in range(1, 3):
        new = range(9990, 10_000 + 10 * number)
        harness.upsert(table, [{"k": k, "v": number} for k in new])
        (step,) = compaction.compact(table, "auto")
        assert (step["outcome"], step["rows"]) == ("committed", 10 * number)
    assert 0 not in compaction.levels(table)
    found = harness.rows(table)
    added = [{"k": k, "v": 1 + (k >= 10_010)} for k in range(10_000, 10_020)]
    assert found == base + added
    assert sum(file.rows for file in tables.reload(table).live_files()) == len(found)
    assert sorted(theirs(tmp_path), key=lambda row: row["k"]) == found


def test_first_row_takes_keys_anew_that_rows_of_staying_files_no_longer_have(
    tmp_path: Path,
) -> None:
    table = made(tmp_path, merge_engine="first-row")
    fill_base(table)
    base = {row["k"]: row["v"] for row in harness.rows(table)}
    harness.delete(table, {"k": 4}, {"k": 5})
    assert compaction.compact(table, "auto")
    assert compaction.levels(table) == {4: 1, 5: 1}
    harness.upsert(table, [{"k": k, "v": -1} for k in (3, 4)])
    expected = [{"k": k, "v": v} for k, v in sorted((base | {4: -1}).items()) if k != 5]
    assert harness.rows(table) == expected
    assert compaction.compact(table, "auto")
    assert 0 not in compaction.levels(table)
    assert harness.rows(table) == expected
    compaction.compact(table)
    assert harness.rows(table) == expected


def theirs(folder: Path) -> list[dict[str, Any]]:
    """The rows pypaimon reads."""
    return list(readers.read(folder, "default.t").to_pylist())


SUM = {"merge_engine": "aggregation", "fields__v__aggregate_function": "sum"}


@pytest.mark.parametrize("options", [{}, {"merge_engine": "partial-update"}, SUM])
@pytest.mark.parametrize("strategy", ["minor", "full"])
def test_pypaimon_reads_the_same(tmp_path: Path, options: dict[str, str], strategy: str) -> None:
    table = made(tmp_path, **options)
    fill_base(table)
    fill(table, 5, 10, step=7)
    before = harness.rows(table)
    assert compaction.compact(table, strategy)
    assert (4 in compaction.levels(table)) == (strategy == "minor")
    assert sorted(theirs(tmp_path), key=lambda row: row["k"]) == before


def test_max_bytes_takes_as_many_steps_as_fit(tmp_path: Path) -> None:
    table = made(tmp_path, bucket="3")
    fill(table)
    planned = compaction.plan(table)
    sizes = [step["bytes"] for step in planned["steps"]]
    assert len(sizes) == 3
    assert len(compaction.plan(table, max_bytes=sum(sizes) - 1)["steps"]) == 2
    assert (
        compaction.plan(table, max_bytes=1)["skipped"] == "no bucket needs merging within 1 bytes"
    )


def test_a_step_is_a_section_and_large_files_only_change_their_level(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compaction_plan, "STEP_BYTES", 1)
    table = made(tmp_path, target_file_size="1 b", keyfold__row_group__rows="1024")
    for start in (0, 500, 5000, 5500, 9000):
        fill_range(table, start)
    before = harness.rows(table)
    planned = compaction.plan(table)
    assert [(step["files"], len(step["tasks"])) for step in planned["steps"]] == [(3, 1), (2, 1)]
    done = [
        compaction.commit(table, planned, step, compaction.run(planned, step))
        for step in planned["steps"]
    ]
    assert [one["outcome"] for one in done] == ["committed"] * 2
    assert compaction.levels(table) == {5: 5}
    assert harness.rows(table) == before


def fill_range(table: Table, start: int) -> None:
    harness.upsert(table, [{"k": k, "v": start} for k in range(start, start + 1000)])


def test_one_bucket_is_compacted_by_all_cores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compaction_plan, "LEAST_PIECE", 1)
    table = made(tmp_path, keyfold__row_group__rows="1024")
    for number in range(3):
        rows = [{"k": k, "v": k * k * number} for k in range(number, 20_000, number + 1)]
        harness.upsert(table, rows)
    before = harness.rows(table)
    planned = compaction.plan(table, parallelism=4)
    (step,) = planned["steps"]
    assert len(step["tasks"]) == 4
    done = compaction.run(planned, step)
    written = [one["metrics"]["rows_out"] for one in done]
    assert sum(written) == len(before)
    assert min(written) > len(before) / 8
    answer = compaction.commit(table, planned, step, done)
    assert (answer["outcome"], answer["files"]) == ("committed", 4)
    assert harness.rows(table) == before


def test_what_a_task_says_of_itself(tmp_path: Path) -> None:
    table = made(tmp_path)
    fill(table, 2, 10, step=5)
    planned = compaction.plan(table)
    (step,) = planned["steps"]
    (done,) = compaction.run(planned, step)
    found = {name: done["metrics"][name] for name in ("rows_in", "rows_out", "bytes_in")}
    assert found == {"rows_in": 20, "rows_out": 15, "bytes_in": step["bytes"]}
    assert {"bytes_out", "work_nanos", "peak_bytes"} <= set(done["metrics"])
    where = step["description"].split(": ")[0]
    assert where == "compaction of test.default.t, bucket-0"


def test_a_level_that_num_levels_no_longer_has_stays(tmp_path: Path) -> None:
    table = made(tmp_path)
    fill(table)
    compaction.compact(table)
    fill(table)
    compaction.compact(table, options={"num-levels": "3"})
    assert compaction.levels(table) == {5: 1}
