"""Changes of random histories of every engine are what two snapshots show."""

from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from keyfold.changelog import parts
from keyfold.errors import TableError
from keyfold.storage.commits import commit
from keyfold.storage.table import Table
from tests.changelog.ranges_of_changes import check_every_range, state
from tests.compact import harness as compaction
from tests.compact.histories import History, stored, written
from tests.compact.test_histories import depends_on_what_is_merged, is_refused
from tests.compact.test_rescale import rescaled
from tests.merge.random_tables import ENGINES, random_table
from tests.read import harness
from tests.read.altered import Altered
from tests.storage import tables

ADDS, ANY = (0, 2), (0, 0, 1, 2, 3)


def append(history: History) -> None:
    history.append(1)


def overwrite(history: History) -> None:
    """Other rows in place of all."""
    spec, messages = written(history.table, history.some(5), history.next_number())
    commit.overwrite(tables.reload(history.table), spec, messages, "all")


def compact(history: History) -> None:
    compaction.compact(history.table, history.random.choice(("full", "minor")))


def truncate(history: History) -> None:
    commit.truncate(tables.reload(history.table))


STEPS: dict[Callable[[History], None], int] = {append: 6, compact: 2, overwrite: 1, truncate: 1}


@pytest.mark.parametrize("engine_name", ENGINES)
@pytest.mark.parametrize("number", range(2))
def test_every_engine(
    tmp_path: Path, engine_name: str, number: int, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Keys are looked up, or all rows of touched sections compared."""
    random = Random(f"{seed} changes {engine_name} {number}")
    monkeypatch.setattr(parts, "SPARSE", 0 if number else 1 << 20)
    layout = random_table(random, engine_name)
    while is_refused(layout) or depends_on_what_is_merged(layout):
        layout = random_table(random, engine_name)
    table = stored(tmp_path, layout, num_sorted_run__compaction_trigger="2")
    history = History(random, table, ANY if engine_name == "deduplicate" else ADDS)
    history.append(1)
    for _ in range(6):
        step = random.choices(list(STEPS), list(STEPS.values()))[0]
        try:
            step(history)
            state(table, tables.reload(table).snapshot_id or 0)
        except TableError:
            return  # records that the engine refuses to fold
    assert check_every_range(table)


ALTERING: dict[Callable[[Altered], None], int] = {
    Altered.insert: 6,
    Altered.compact: 2,
    Altered.delete: 2,
    Altered.add: 2,
    Altered.drop: 2,
    Altered.rename: 2,
    Altered.widen: 2,
}


@pytest.mark.parametrize("engine_name", ["deduplicate", "partial-update", "aggregation"])
@pytest.mark.parametrize("number", range(2))
def test_altered_tables_read_as_today(
    tmp_path: Path, engine_name: str, number: int, seed: int
) -> None:
    random = Random(f"{seed} altered {engine_name} {number}")
    found = Altered.made(tmp_path, engine_name, random)
    found.insert()
    for _ in range(8):
        random.choices(list(ALTERING), list(ALTERING.values()))[0](found)
    assert check_every_range(found.table)


@pytest.fixture
def partitioned(tmp_path: Path) -> Table:
    """Rows `d`, `k` and `v` in partitions and buckets."""
    columns = (tables.column("d", "string", False), tables.column("k"), tables.column("v"))
    new = tables.new_table(*columns, key="d,k", by="d", write_only="true")
    return tables.table(tmp_path, new)


def rows(days: str, keys: range, value: int) -> list[dict[str, object]]:
    return [{"d": day, "k": key, "v": value} for day in days for key in keys]


def test_partitions_rescaled_dropped_and_deleted(partitioned: Table) -> None:
    harness.upsert(partitioned, rows("ab", range(20), 1))
    harness.upsert(partitioned, rows("b", range(10, 30), 2))
    rescaled(partitioned, 3)
    found = tables.reload(partitioned)
    harness.upsert(found, rows("abc", range(5), 3))
    commit.truncate(tables.reload(found), lambda partition: partition == ("a",))
    harness.delete(found, *({"d": day, "k": 12} for day in "bc"))
    compaction.compact(found)
    harness.upsert(found, rows("b", range(30), 2))
    assert check_every_range(found) > 100
