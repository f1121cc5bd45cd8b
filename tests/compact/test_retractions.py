"""Retractions keep their effect until a compaction merges them with what they take back from."""

import time
from pathlib import Path
from random import Random

import pyarrow.compute as pc
import pytest

from keyfold.storage.table import Table
from keyfold.testing.tables import layout, parse, render
from keyfold.wire.layout import TableLayout
from keyfold.wire.specs import MARKED_SUFFIX
from tests import readers
from tests.compact import harness as compaction
from tests.compact.histories import append, rows, stored
from tests.merge.random_tables import check_same
from tests.merge.test_any_compaction import COLUMNS, TABLES, random_history
from tests.storage import tables

OTHERS = range(1000, 5000)  # keys that make the oldest file large
NOW = int(time.time() * 1000) << 20  # as a job that starts now numbers its records


def made(folder: Path, options: dict[str, str], *jobs: str) -> Table:
    """A table with a large file, compacted, and jobs after it that a minor compaction merges."""
    found = layout(COLUMNS, ["k"], options)
    table = stored(
        folder,
        found,
        num_sorted_run__compaction_trigger="2",
        num_levels="6",
        compaction__max_size_amplification_percent="1000",
    )
    base, *newer = jobs
    append(table, [*(parse(found, base) if base else ()), *wide(found)], NOW)
    compaction.compact(table)
    for number, job in enumerate(newer, NOW + 1):
        append(table, parse(found, job), number)
    return table


def wide(found: TableLayout) -> list[tuple[int, dict[str, int]]]:
    names, random = ("n", "v", "w"), Random(1)
    return [(0, {"k": k, "g": 0} | {n: random.getrandbits(40) for n in names}) for k in OTHERS]


def row(table: Table) -> str:
    """The row of key 1."""
    return render([one for one in rows(table) if one[1]["k"] == 1])


def minor(table: Table) -> None:
    done = compaction.compact(table, "minor")
    assert [one["outcome"] for one in done] == ["committed"]


def is_marked(table: Table) -> bool:
    return any(f.name.endswith(MARKED_SUFFIX) for f in tables.reload(table).live_files())


def test_a_removal_waits_for_the_row_below(tmp_path: Path) -> None:
    options = TABLES["removing"]
    jobs = ("+I 1 4 null null 0", "-D 1 null null null 0", "+I 1 3 null null 0")
    table = made(tmp_path, options, *jobs)
    assert row(table) == "+I 1 3 null null 0"
    minor(table)
    assert set(compaction.levels(table)) == {4, 5}
    assert row(table) == "+I 1 3 null null 0"
    assert is_marked(table)
    compaction.compact(table)
    assert row(table) == "+I 1 3 null null 0"
    assert not is_marked(table)


def test_sums_take_back_in_files_that_others_read(tmp_path: Path) -> None:
    jobs = ("+I 1 9 7 null 0", "-U 1 4 7 null 0", "+U 1 1 5 null 0", "-D 1 2 null null null")
    table = made(tmp_path, TABLES["sum"], *jobs)
    minor(table)
    assert set(compaction.levels(table)) == {4, 5}
    assert not is_marked(table)
    assert row(table) == "+I 1 4 5 null 0"
    for read in (readers.read, readers.read_by_rust):
        found = read(tmp_path, "default.t").filter(pc.field("k") == 1)
        assert found.drop_columns("k").to_pylist() == [{"n": 4, "v": 5, "w": None, "g": 0}]


def test_other_readers_refuse_what_they_would_get_wrong(tmp_path: Path) -> None:
    jobs = ("+I 1 9 7 null 0", "-U 1 4 7 null 0", "+U 1 1 null null 0")
    table = made(tmp_path, TABLES["sum"], *jobs)
    minor(table)
    assert row(table) == "+I 1 6 null null 0"
    for read in (readers.read, readers.read_by_rust):
        with pytest.raises(Exception, match="keyfold"):
            read(tmp_path, "default.t")


def test_files_wait_whose_functions_need_the_row_itself(tmp_path: Path) -> None:
    jobs = ("+I 1 0 6 null 0", "-U 1 0 6 null 0", "+U 1 0 5 null 0")
    table = made(tmp_path, TABLES["product"], *jobs)
    assert row(table) == "+I 1 0 5 null 0"
    minor(table)
    assert set(compaction.levels(table)) == {5}
    assert row(table) == "+I 1 0 5 null 0"
    for number in (NOW + 10, NOW + 11):
        append(table, parse(table.layout, "+I 1 0 2 null 0"), number)
    minor(table)
    assert set(compaction.levels(table)) == {4, 5}
    assert row(table) == "+I 1 0 20 null 0"


def test_retractions_of_the_oldest_files_stay(tmp_path: Path) -> None:
    table = made(tmp_path, TABLES["sum"], "-D 1 5 null null 0", "+I 2 1 null null 0")
    compaction.compact(table)
    assert row(table) == ""
    append(table, parse(table.layout, "+I 1 3 null null 0"), NOW + 10)
    assert row(table) == "+I 1 -2 null null 0"
    compaction.compact(table)
    assert row(table) == "+I 1 -2 null null 0"


@pytest.mark.parametrize("name", TABLES)
def test_random_compactions_change_no_row(tmp_path: Path, name: str, seed: int) -> None:
    random = Random(f"{seed} {name}")
    table = made(tmp_path, TABLES[name], "")
    history = random_history(random, table.layout, 9)
    for number, job in enumerate(history.jobs, NOW + 10):
        append(table, job, number)
        compaction.compact(table, random.choice(("minor", "auto", "minor", "full")))
    found = [one for one in rows(table) if one[1]["k"] not in OTHERS]
    check_same(found, history.expected, history.columns)
