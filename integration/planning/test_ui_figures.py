"""The figures of scans and writes in Spark's UI, value by value, through its SQL REST API; and what
statements ask Python.
"""

from __future__ import annotations

import pytest

from integration.planning import ui

PEAK = "peak memory of a worker (most)"
UNITS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
Figures = dict[str, dict[str, str]]
Questions = dict[str, list[str]]


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[Figures, Questions]:
    """What the program says."""
    return ui.run(tmp_path_factory.mktemp("ui"))


@pytest.fixture(scope="module")
def shown(both: tuple[Figures, Questions]) -> Figures:
    """Figures by statement of `ui.STATEMENTS`."""
    return both[0]


def test_one_planning_question_per_table_that_a_statement_reads_or_writes(
    both: tuple[Figures, Questions],
) -> None:
    _, asked = both
    assert asked["query"].count("plan_scan") == 1, asked
    assert asked["join"].count("plan_scan") == 2, asked
    assert asked["write"].count("plan_write") == asked["write"].count("commit_write") == 1, asked


def amount(text: str) -> float:
    """A size or a time as a number of bytes or ms."""
    number, unit = text.split()
    return float(number) * UNITS.get(unit, 1)


def test_a_scan(shown: Figures) -> None:
    scan = shown["scan"]
    counted = {
        "rows into merge": "60",
        "rows out of merge": "45",
        "runs merged at once (most)": "2",
        "files read": "2",
        "files skipped": "1",
    }
    assert counted.items() <= scan.items()
    for name in ("size of files read", "bytes over the bridge to Python"):
        assert 100 < amount(scan[name]) < 100_000
    for name in ("time to decode files", "time to merge", "time at the bridge to Python"):
        assert 0 < amount(scan[name]) < 60_000


@pytest.mark.parametrize(("statement", "rows_in"), [("insert", 60), ("upsert", 30)])
def test_a_write(shown: Figures, statement: str, rows_in: int) -> None:
    write = shown[statement]
    counted = {"rows into merge": str(rows_in), "rows written": "30", "files written": "1"}
    assert counted.items() <= write.items()
    for name in ("size of files written", "bytes over the bridge to Python"):
        assert 100 < amount(write[name]) < 100_000
    for name in ("time to merge", "time to encode files", "time at the bridge to Python"):
        assert 0 < amount(write[name]) < 60_000


def test_a_limit_tells_what_was_read_up_to_it(shown: Figures) -> None:
    assert int(shown["limit"]["rows out of merge"].replace(",", "")) >= 3


def test_peak_memory_is_a_maximum(shown: Figures) -> None:
    one, many = (amount(shown[name][PEAK]) for name in ("task", "tasks"))
    assert shown["tasks"]["files read"] == str(ui.TASKS)
    assert shown["task"]["files skipped"] == str(ui.TASKS - 1)
    assert one > 20 << 20
    assert many < 2 * one, "the peaks of eight tasks are added up"
