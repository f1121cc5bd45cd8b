"""keyfold, plain Spark, Delta Lake, Iceberg, Paimon's libraries: docs/benchmarks.md.

python -m integration.bench            the whole suite: 20 minutes of two cores
python -m integration.bench --smoke    every case once on tiny tables, answers compared

Each system runs in a process of its own, one after the other, on the same generated data. With
--smoke, where times decide nothing, two run at once. Iceberg is among them if it is named, or if
`make build/iceberg/.installed` made the Spark that it needs; so are LakeSoul and ClickHouse, with
`make build/engines/.installed`.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from integration import TOP
from integration.bench import cases, data, delta, figures, iceberg, plain, report
from integration.bench.engines import systems as engines
from integration.bench.session import SYSTEMS
from integration.docs import pages


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m integration.bench",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--smoke", action="store_true", help="tiny tables, each case once")
    parser.add_argument("--rows", type=int, help="rows of each of four runs")
    parser.add_argument("--sweep", type=int, help="rows of the tables whose layout is varied")
    parser.add_argument("--commits", type=int, help="commits of the day")
    parser.add_argument("--repeat", type=int, help="warm turns")
    parser.add_argument("--budget", type=float, help="seconds after which no warm turn begins")
    optional = {iceberg.SYSTEM: iceberg, **dict.fromkeys(engines.SYSTEMS, engines)}
    default = [s for s in SYSTEMS if s not in optional or optional[s].is_installed()]
    parser.add_argument("--systems", default=",".join(default), help="some of the systems")
    parser.add_argument("--only", default="", help="cases whose name this expression finds")
    parser.add_argument("--check", action="store_true", help="plain Spark answers all merges too")
    parser.add_argument("--seed", type=int)
    parser.add_argument("--docs", type=Path, default=pages.DOCS, help="where the report goes")
    parser.add_argument("--folder", type=Path, help="work here and keep it")
    return parser.parse_args()


def settings(said: argparse.Namespace, folder: Path) -> cases.Settings:
    """Sizes of the chosen form, with what the command line says."""
    chosen = cases.smoke(folder) if said.smoke else cases.full(folder)
    named = ("rows", "sweep", "repeat", "budget", "seed")
    given = {name: getattr(said, name) for name in named if getattr(said, name) is not None}
    if said.check:
        given["check"] = True
    if said.commits:
        given["commits"] = {
            system: min(commits, said.commits) for system, commits in chosen.commits.items()
        }
    return replace(chosen, **given)


def prepare(chosen: cases.Settings) -> None:
    """All input; the tables and results of a former run go."""
    for name in ("warehouse", "plain", "delta", "iceberg", "clickhouse", "checkpoints", "results"):
        shutil.rmtree(chosen.folder / name, ignore_errors=True)
    (chosen.folder / "results").mkdir(parents=True)
    shapes = {chosen.main, chosen.base, chosen.few, chosen.today, *chosen.swept}
    data.generate(chosen.input, chosen.seed, shapes, {chosen.main}, chosen.upserts)
    (chosen.folder / "settings.json").write_text(json.dumps(chosen.to_json()))


def measure(chosen: cases.Settings, system: str, only: str) -> None:
    """One session; how it ended is in what it wrote."""
    python = str(iceberg.PYTHON) if system == iceberg.SYSTEM else sys.executable
    command = [python, "-m", "integration.bench.session", system]
    results = chosen.folder / "results" / f"{system}.jsonl"
    done = subprocess.run(
        [*command, str(chosen.folder / "settings.json"), str(results), only],
        cwd=TOP,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(TOP / "python"), str(TOP)])},
        check=False,
    )
    if done.returncode:
        ended = {"case": "session", "system": system, "error": f"ended with {done.returncode}"}
        with results.open("a", encoding="utf-8") as out:
            out.write(json.dumps(ended) + "\n")


def one_after_another(chosen: cases.Settings, said: argparse.Namespace) -> None:
    """All sessions; where times decide nothing, those that need nothing of others beside them."""
    systems = said.systems.split(",")
    alone = (plain.SYSTEM, delta.SYSTEM, iceberg.SYSTEM)
    beside = [system for system in systems if system in alone] if said.smoke else []
    chains = [beside, [system for system in systems if system not in beside]]

    def chain(of: list[str]) -> None:
        for system in of:
            began = time.monotonic()
            measure(chosen, system, said.only)
            print(f"{'session of ' + system:<53}{time.monotonic() - began:9.1f} s", flush=True)

    with ThreadPoolExecutor(len(chains)) as pool:
        list(pool.map(chain, chains))


def main() -> int:
    """Status 1 if a case failed or answers differ; a goal missed is no failure."""
    said = arguments()
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="keyfold-bench-") as scratch:
        chosen = settings(said, said.folder or Path(scratch))
        prepare(chosen)
        print(f"{'input':<53}{time.monotonic() - start:9.1f} s", flush=True)
        one_after_another(chosen, said)
        found = figures.load(chosen.folder / "results")
        took = time.monotonic() - start
        report.write(found, chosen, said.docs, sys.argv[1:], took)
        if said.docs == pages.DOCS:
            pages.write()  # the README quotes figures of the page
        wrong = figures.differences(found)
    compared = sum(1 for _ in figures.compared(found.results.values()))
    print(f"{compared} cases answered by several systems, {len(wrong)} differences, {took:.0f} s")
    for problem in (*wrong, *(f"{e['system']} {e['case']}: {e['error']}" for e in found.errors)):
        print(problem, file=sys.stderr)
    return 1 if wrong or found.errors else 0


if __name__ == "__main__":
    sys.exit(main())
