"""The benchmark suite on tiny tables: its programs run, and systems that are compared answer alike.
All cases on all systems are `make bench-smoke`.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from pathlib import Path

from integration import TOP
from integration.bench import (
    figures,
    groups,
    growth,
    many_files,
    many_files_of_others,
    marked,
    measure,
    report,
    retractions,
    written_files,
)
from integration.bench.cases import ENGINES, full
from integration.bench.without_spark import __main__ as without_spark

GROWN = "## Growth: 3 commits\n\nAs they were measured.\n"
# Two that run in Spark and three that read what keyfold wrote, in the cases that have an answer.
MEASURED = ("keyfold", "plain", "reader", "python", "paimon")
CASES = "^(merges|scans|windows|upserts|lookups|a_day)$"


def smoke(module: str, docs: Path, *more: str) -> str:
    """The page that a module writes in place of the one in a folder."""
    run(module, "--docs", str(docs), *more)
    return (docs / "benchmarks.md").read_text(encoding="utf-8")


def run(module: str, *arguments: str) -> str:
    """What a module prints of tiny tables."""
    done = subprocess.run(
        [sys.executable, "-m", module, "--smoke", *arguments],
        cwd=TOP,
        env={**os.environ, "PYTHONPATH": f"{TOP / 'python'}{os.pathsep}{TOP}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_smoke(tmp_path: Path) -> None:
    docs, folder = tmp_path / "docs", tmp_path / "work"
    docs.mkdir()
    (docs / "benchmarks.md").write_text(f"# Before\n\n{GROWN}", encoding="utf-8")
    chosen = ["--systems", ",".join(MEASURED), "--only", CASES, "--folder", str(folder)]
    page = smoke("integration.bench", docs, *chosen)
    found = figures.load(folder / "results")
    assert {system for _, system in found.results} >= set(MEASURED)
    compared = {
        case: {r.system for r in of} for case, of in figures.compared(found.results.values())
    }
    merged = [case for case in compared if case.startswith("merge/")]
    assert len(merged) >= 15
    assert all({"keyfold", "reader", "paimon"} <= compared[case] for case in merged)
    assert len([case for case in merged if "truth" in compared[case]]) >= len(ENGINES)
    for case in ("upsert/100 %", "lookup/point", "day"):
        assert {"keyfold", "paimon"} <= compared[case]
    for case in ("upsert/100 %", "lookup/point", "lookup/range, 4 runs"):
        assert {"python", "paimon"} <= compared[case]
    pictures = re.findall(r"!\[[^]]*\]\(([^)]*)\)", page)
    assert len(pictures) >= 5
    assert all((docs / picture).stat().st_size > 0 for picture in pictures)
    assert str(tmp_path) not in page
    assert page.endswith(GROWN)


def test_tables_from_python() -> None:
    """The program checks how many rows each system found."""
    case = "all rows, by batches"
    found = run("integration.bench.without_spark", "--only", case)
    assert found.startswith("## From Python alone: 2,000 rows\n")
    systems = [line.split(" | ")[1] for line in found.splitlines() if line.startswith("| ")]
    expected = {system.name for system in without_spark.cases(2_000)[case]}
    assert {*systems} - {"", "---"} == expected


def test_deletion_vectors(tmp_path: Path) -> None:
    """The program checks how many rows each read has."""
    (tmp_path / "benchmarks.md").write_text(f"# Before\n\n{GROWN}", encoding="utf-8")
    found = smoke("integration.bench.marked", tmp_path)
    assert found.startswith("# Before\n\n## Deletion vectors: 8,000 rows\n")
    assert found.endswith(GROWN)
    assert all(f"| {form} | " in found for form in marked.FORMS)
    assert all(f"| Java, {shape} | " in found for shape in marked.SHAPES)


def test_written_files(tmp_path: Path) -> None:
    found = written_files.measured(tmp_path, 300)
    assert found["files"] == 300
    assert f"| {found['text']:.0f} |" in written_files.shown([found])


def test_many_files(tmp_path: Path) -> None:
    """The program checks how many files each plan has."""
    (tmp_path / "benchmarks.md").write_text(f"# Before\n\n{GROWN}", encoding="utf-8")
    found = smoke("integration.bench.many_files", tmp_path)
    assert found.startswith("# Before\n\n## Many files: ")
    assert found.endswith(GROWN)
    assert all(f"| {what} | " in found for what in many_files.STEPS.values())


def test_systems_of_many_files_that_were_not_measured_are_left_out() -> None:
    took = {step: [1.5, 0.25] for step in many_files_of_others.STEPS}
    few = {1000: {"keyfold": took, "delta": took}}
    found = many_files_of_others.section(few)
    assert "| keyfold | Delta 4.4 in Spark |" in found
    assert found.count("| 1.50 / 0.25 | 1.50 / 0.25 |") == len(many_files_of_others.STEPS)
    found = many_files_of_others.section({**few, 2000: {"keyfold": took, "iceberg": took}})
    assert "| 2,000 files: plan of everything | 1.50 / 0.25 | - | 1.50 / 0.25 |" in found


def test_each_run_of_retractions_has_its_own_rows() -> None:
    found = retractions.written(50, 0.1)
    given = [list(run.batches) for run in retractions.as_runs(found)]
    assert given == [[rows] for rows in found]
    assert found[0] != found[1]


def test_the_page_says_nothing_of_systems_that_were_not_measured(tmp_path: Path) -> None:
    settings, case = full(tmp_path), f"merge/deduplicate/{full(tmp_path).main.name}"

    def page(*measured: tuple[str, str]) -> str:
        results = {of: figures.Result(*of, measure.Times(1.0, ())) for of in measured}
        found = figures.Figures(results, [], {})
        return report.statements(found, settings) + report.others_who_merge(found, settings)

    assert "format 3" not in page()
    assert "Iceberg was not measured" in page()
    assert "LakeSoul and ClickHouse were not measured" in page()
    assert "FINAL" not in page()
    every = page(("rows/MERGE of 1 %", "iceberg"), (case, "clickhouse"))
    assert "format 3" in every
    assert "FINAL" in every
    assert "not measured" not in every


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
