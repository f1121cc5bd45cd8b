"""Every case on tiny tables: all systems find all rows."""

from pathlib import Path

from integration.bench.without_spark.__main__ import System, cases, shown, taken

ROWS = 2_000


def test_every_system_answers(tmp_path: Path) -> None:
    makers = [System("keyfold", "make", ROWS), System("deltalake", "delta_make", ROWS)]
    taken(makers, tmp_path, ROWS, 1)
    found = cases(ROWS)
    for name, systems in found.items():
        taken(systems, tmp_path, ROWS, 1)
        for system in systems:
            asked = system.keys or ROWS
            if name.startswith(("upsert", "100,000")):  # keys repeat
                assert ROWS / 2 < system.turns[0]["rows"] <= asked
            else:
                assert system.turns[0]["rows"] == asked
    assert shown(found).count("keyfold |") == len(found)
