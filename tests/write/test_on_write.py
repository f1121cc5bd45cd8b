"""`fields.<column>.on-write`: each write sets the column to the time of its job."""

import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import keyfold
from keyfold.errors import TableError

COLUMNS = {"k": "INT", "v": "BIGINT", "w": "STRING", "at": "TIMESTAMP"}
SET = {"fields.at.on-write": "current_timestamp"}
ENGINES: dict[str, dict[str, str]] = {
    "deduplicate": {},
    "first-row": {"merge-engine": "first-row"},
    "partial-update": {"merge-engine": "partial-update"},
    "aggregation": {
        "merge-engine": "aggregation",
        "fields.v.aggregate-function": "sum",
        "fields.at.aggregate-function": "last_non_null_value",
    },
}
OLD = datetime(2001, 1, 1, tzinfo=UTC)


def made(folder: Path, engine: str, **more: str) -> Any:
    options = SET | ENGINES[engine] | more
    return keyfold.connect(folder, threads=2).create_table("t", COLUMNS, ["k"], (), options)


def times(table: Any) -> dict[int, datetime]:
    return {row["k"]: row["at"] for row in table.scan(["k", "at"]).to_pylist()}


@pytest.mark.parametrize("engine", ENGINES)
def test_each_write_sets_the_time_of_its_job(tmp_path: Path, engine: str) -> None:
    table = made(tmp_path, engine)
    begin = datetime.now(UTC)
    table.upsert([{"k": k, "v": k, "w": "a", "at": OLD} for k in range(4)])
    first = times(table)
    assert len(set(first.values())) == 1
    assert begin <= first[0] <= datetime.now(UTC)
    time.sleep(0.002)
    table.upsert([{"k": 1, "v": 5}, {"k": 2, "w": "b", "at": OLD}])
    table.upsert(pa.table({"k": [3], "v": pa.array([1], pa.int64())}))
    second = times(table)
    table.compact()
    assert times(table) == second
    assert second[0] == first[0]
    if engine == "first-row":
        assert second == first
        return
    assert first[0] < second[1] == second[2] < second[3]
    table.update("k = 0", {"v": pc.field("v") + 1})
    table.merge(
        [{"k": 9, "v": 1, "w": "c", "at": OLD}, {"k": 1, "v": 1, "w": "c", "at": OLD}], ["k"]
    ).when_matched_update_all().when_not_matched_insert_all().execute()
    third = times(table)
    assert third[3] == second[3]
    assert second[3] < third[0] < third[9] == third[1]


def test_what_is_taken_back_leaves_the_time(tmp_path: Path) -> None:
    table = made(tmp_path, "aggregation")
    table.upsert([{"k": 1, "v": 5, "w": None}])
    before = times(table)
    table.upsert([{"k": 1, "v": 2, "w": None}], row_kind="-U")
    assert times(table) == before
    assert table.scan(["v"]).to_pylist() == [{"v": 3}]


def test_changes_show_the_time(tmp_path: Path) -> None:
    table = made(tmp_path, "partial-update", **{"changelog-producer": "input"})
    table.upsert([{"k": 1, "v": 5}])
    table.update("k = 1", {"v": 6})
    told = [row["at"] for row in table.changes(1, view="rows").to_arrow().to_pylist()]
    assert told == [times(table)[1]]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"fields.at.on-write": "now"}, "expected current_timestamp, found 'now'"),
        ({"fields.v.on-write": "current_timestamp"}, "column v is BIGINT; expected TIMESTAMP"),
        ({"sequence.field": "at"}, "column at is in sequence.field too"),
        ({"fields.no.on-write": "current_timestamp"}, "Field no can not be found"),
        (
            {"merge-engine": "partial-update", "fields.v.sequence-group": "w,at"},
            "column at is in fields.v.sequence-group, by which",
        ),
    ],
)
def test_columns_that_no_write_can_set_are_refused(
    tmp_path: Path, options: dict[str, str], words: str
) -> None:
    with pytest.raises(TableError, match=words):
        keyfold.connect(tmp_path).create_table("t", COLUMNS, ["k"], (), SET | options)


def test_a_write_that_is_repeated_and_a_transaction(tmp_path: Path) -> None:
    """A batch that the table has already leaves its time; all of a transaction is set."""
    table = made(tmp_path, "deduplicate")
    table.upsert([{"k": 1, "v": 1}], token=("feed", 1))
    first = times(table)
    assert table.upsert([{"k": 1, "v": 1}], token=("feed", 1)) is None
    assert times(table) == first
    time.sleep(0.002)
    with table.transaction() as within:
        within.upsert([{"k": 2, "v": 1}])
        within.update("k = 1", {"v": 2})
        seen = times(within)
    assert times(table) == seen
    assert first[1] < min(seen.values())
