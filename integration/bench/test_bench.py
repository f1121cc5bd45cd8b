"""The benchmark suite on tiny tables: every case runs on every system and answers are equal."""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from pathlib import Path

from integration import TOP
from integration.bench import figures, groups, growth
from integration.bench.cases import ENGINES
from integration.bench.session import SYSTEMS

GROWN = "## Growth: 3 commits\n\nAs they were measured.\n"
IN_OUR_SPARK = [system for system in SYSTEMS if system != "iceberg"]  # it needs another Spark
COMMAND = [
    sys.executable,
    "-m",
    "integration.bench",
    "--smoke",
    "--systems",
    ",".join(IN_OUR_SPARK),
]


def test_smoke(tmp_path: Path) -> None:
    docs, folder = tmp_path / "docs", tmp_path / "work"
    docs.mkdir()
    (docs / "benchmarks.md").write_text(f"# Before\n\n{GROWN}", encoding="utf-8")
    done = subprocess.run(
        [*COMMAND, "--docs", str(docs), "--folder", str(folder)],
        cwd=TOP,
        env={**os.environ, "PYTHONPATH": f"{TOP / 'python'}{os.pathsep}{TOP}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found = figures.load(folder / "results")
    assert {system for _, system in found.results} >= set(IN_OUR_SPARK)
    compared = {
        case: {r.system for r in of} for case, of in figures.compared(found.results.values())
    }
    assert len([case for case in compared if case.startswith("merge/")]) >= 15
    every = {"keyfold", "reader", "paimon", "paimon-spark"}
    assert len([case for case in compared if every <= compared[case]]) == len(ENGINES)
    assert all({"reader", "paimon"} <= compared[c] for c in compared if c.startswith("merge/"))
    for case in ("upsert/100 %", "lookup/point", "day"):
        assert {"keyfold", "paimon", "delta"} <= compared[case]
    page = (docs / "benchmarks.md").read_text(encoding="utf-8")
    pictures = re.findall(r"!\[[^]]*\]\(([^)]*)\)", page)
    assert len(pictures) >= 5
    assert all((docs / picture).stat().st_size > 0 for picture in pictures)
    assert str(tmp_path) not in page
    assert page.endswith(GROWN)


def test_answers_that_differ_are_found() -> None:
    def answered(system: str, *numbers: float) -> figures.Result:
        return figures.Result("case", system, None, answer=list(numbers))

    results = [answered("keyfold", 1, 2), answered("plain", 1, 3)]
    found = figures.Figures({(r.case, r.system): r for r in results}, [], {})
    assert len(figures.differences(found)) == 1


def test_the_section_on_growth_takes_the_place_of_the_one_before(tmp_path: Path) -> None:
    said = argparse.Namespace(rows=500, keys=1000, retained="10 min", note="")
    counts = (10, 30, 20, 1.5, 900.0, 100.0, 200.0, 140.0, 2, 130.0)
    found = [growth.Sample(50 * n, [0.2] * 49 + [0.9], *counts) for n in range(1, 31)]
    page = tmp_path / "benchmarks.md"
    page.write_text("# Benchmarks\n\nText.\n\n## Growth: old\n", encoding="utf-8")
    for _ in range(2):
        growth.page.put(tmp_path, growth.section(found, said, tmp_path))
    text = page.read_text(encoding="utf-8")
    assert text.startswith(
        "# Benchmarks\n\nText.\n\n## Growth: 1,500 commits of 500 rows into 1,000"
    )
    assert text.count("## ") == 1
    assert text.count("| 0.20 | 0.90 | 10 | 30 | 20 | 2 | 900 | 100 | 200 | 140 | 130 |") == 2
    assert (tmp_path / "benchmarks-growth.png").stat().st_size > 0
    for rows in (1000, 2000):
        cells = [["sum(x)", "sum(x)", "10", "1.0", "1.1", "1.10", "0.7", "met"]]
        growth.page.put(tmp_path, groups.section(cells, rows, 3))
    found = page.read_text(encoding="utf-8")
    assert found.index("## GROUP BY: 2,000 rows") < found.index("## Growth: 1,500")
    assert found.count("## ") == 2
    assert growth.page.kept(tmp_path) == found.partition("\n\nText.\n\n")[2]
