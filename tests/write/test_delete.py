"""DELETE by key: under every engine the rows are gone, others and their order as they were."""

import random
from pathlib import Path
from typing import Any

import pytest

from keyfold.errors import ConflictError, KeyfoldError
from keyfold.storage.commits import commit
from keyfold.storage.commits.outcomes import OUTCOMES
from keyfold.storage.table import Table
from keyfold.write.delete import delete_rows
from tests.read import harness
from tests.read.harness import where
from tests.read.test_null_keys import passes, random_predicate
from tests.storage import tables

Row = dict[str, Any]
SUM = {"merge_engine": "aggregation", "fields__v__aggregate_function": "sum"}


def made(folder: Path, **options: str) -> Table:
    columns = (
        tables.column("p", "string"),
        tables.column("a", "integer"),
        tables.column("b", "string"),
        tables.column("v"),
    )
    settings = {"primary_key__nullable": "true", "bucket": "2"} | options
    return tables.table(folder, tables.new_table(*columns, key="p,a,b", by="p", **settings))


def delete(table: Table, *filters: Any) -> int | None:
    found = delete_rows(tables.reload(table), filters)
    return commit.rewrite(tables.reload(table), "job", found.removed, found.job.messages)


@pytest.fixture(autouse=True)
def _forget_jobs() -> None:
    OUTCOMES.known.clear()


@pytest.mark.parametrize("engine", [{}, SUM], ids=["deduplicate", "aggregation"])
def test_rows_that_satisfy_the_condition_are_gone(
    tmp_path: Path, engine: dict[str, str], seed: int
) -> None:
    table, draw, model = made(tmp_path, **engine), random.Random(seed), {}
    for job in range(12):
        rows = [
            {
                "p": draw.choice(["x", None]),
                "a": draw.choice([None, *range(job, job + 5)]),
                "b": draw.choice([None, "", "g"]),
                "v": job,
            }
            for _ in range(20)
        ]
        harness.upsert(table, rows)
        for row in rows:
            key = (row["p"], row["a"], row["b"])
            older = model.get(key, {"v": 0})["v"] if engine else 0
            model[key] = row | {"v": row["v"] + older}
        predicate = random_predicate(draw)
        delete(table, predicate)
        OUTCOMES.known.clear()
        model = {key: row for key, row in model.items() if not passes(predicate, row)}
        assert sorted(harness.rows(table), key=str) == sorted(model.values(), key=str), predicate


def plain(folder: Path, **options: str) -> Table:
    return tables.table(folder, tables.new_table(bucket="1", **options))


@pytest.mark.parametrize(
    "options", [{}, {"sequence__snapshot_ordering": "true", "write_only": "true"}]
)
def test_what_is_left_of_an_old_file_stays_older(tmp_path: Path, options: dict[str, str]) -> None:
    table = plain(tmp_path, **options)
    harness.upsert(table, [{"k": k, "v": 0} for k in range(5)])
    harness.upsert(table, [{"k": 2, "v": 1}, {"k": 4, "v": 1}])
    delete(table, where("=", "k", 1))
    assert harness.rows(table) == [
        {"k": 0, "v": 0}, {"k": 2, "v": 1}, {"k": 3, "v": 0}, {"k": 4, "v": 1},
    ]  # fmt: skip
    harness.upsert(table, [{"k": 1, "v": 9}, {"k": 4, "v": 9}])
    assert [row["v"] for row in harness.rows(table)] == [0, 9, 1, 0, 9]


def test_only_files_with_such_keys_are_touched(tmp_path: Path) -> None:
    table = plain(tmp_path)
    for low in (0, 10, 20):
        harness.upsert(table, [{"k": k, "v": 0} for k in range(low, low + 5)])
    before = {file.name for file in tables.reload(table).live_files()}
    assert delete(table, where("=", "k", 7)) is None
    OUTCOMES.known.clear()
    delete(table, where(">=", "k", 13))
    files = tables.reload(table).live_files()
    assert sum(file.rows for file in files) == 8
    assert len({file.name for file in files} & before) == 1
    assert len(files) == 2, "a file of which nothing is left is not written"


def test_a_file_that_went_meanwhile_is_a_conflict(tmp_path: Path) -> None:
    table = plain(tmp_path)
    harness.upsert(table, [{"k": 1, "v": 1}, {"k": 2, "v": 2}])
    found = delete_rows(tables.reload(table), [where("=", "k", 1)])
    commit.truncate(tables.reload(table))
    with pytest.raises(ConflictError, match="run the statement again"):
        commit.rewrite(tables.reload(table), "job", found.removed, found.job.messages)
    found.job.remove()
    assert not any(Path(table.layout.location).glob("bucket-0/*-1.parquet"))


def test_a_row_that_came_meanwhile_stays(tmp_path: Path) -> None:
    table = plain(tmp_path)
    harness.upsert(table, [{"k": 1, "v": 1}, {"k": 2, "v": 2}])
    found = delete_rows(tables.reload(table), [where("=", "k", 1)])
    harness.upsert(table, [{"k": 1, "v": 5}])
    commit.rewrite(tables.reload(table), "job", found.removed, found.job.messages)
    assert harness.rows(table) == [{"k": 1, "v": 5}, {"k": 2, "v": 2}]


@pytest.mark.parametrize(
    ("options", "predicate", "message"),
    [
        ({}, where("=", "v", 1), "rows can't be deleted by v = 1"),
        ({}, where("=", "k", 1, type="integer"), "constants of their type"),
        ({}, where("SOMETHING", "k", 1), "can't be deleted by"),
        ({"ignore_delete": "true"}, where("=", "k", 1), "ignores deletes"),
        ({"table__delete__behavior": "disable"}, where("=", "k", 1), "is 'disable'"),
    ],
)
def test_refused(tmp_path: Path, options: dict[str, str], predicate: Any, message: str) -> None:
    table = plain(tmp_path, **options)
    with pytest.raises(KeyfoldError, match=message):
        delete_rows(table, [predicate])
