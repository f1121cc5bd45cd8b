"""Keyfold against plain Spark Parquet: the same data, one run, medians of both by turns.

python -m integration.bench [--rows N] [--repeat N] [--only NAMES] [--json FILE]
python -m integration.bench --buckets      how rows spread, for choosing the bucket count
python -m integration.bench --planning     planning time over 500 commits and 10,000 files
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import sys
import tempfile
from pathlib import Path

import pyspark

from integration import sessions
from integration.bench import buckets, planning
from integration.bench.data import Sizes, generate
from integration.bench.measure import HEADER
from integration.bench.speed import FIGURES, Bench

DRIVER_MEMORY = "4g"


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m integration.bench",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--rows", type=int, default=4_000_000, help="rows of a run (default 4 M)")
    parser.add_argument("--repeat", type=int, default=5, help="medians of so many turns")
    parser.add_argument("--only", default=",".join(FIGURES), help="some of " + ",".join(FIGURES))
    parser.add_argument("--bucket", type=int, default=2, help="buckets of the measured tables")
    parser.add_argument("--buckets", action="store_true", help="compare bucket counts")
    parser.add_argument("--planning", action="store_true", help="planning time as files pile up")
    parser.add_argument("--commits", type=int, default=500, help="how many for --planning")
    parser.add_argument("--seed", type=int, default=2013)
    parser.add_argument("--json", type=Path, help="write the figures to this file too")
    parser.add_argument("--folder", type=Path, help="work here and keep it")
    return parser.parse_args()


def figures(bench: Bench, names: list[str]) -> list[dict[str, object]]:
    """Measure and print each. `upsert` and `first` use the table that `raw` makes."""
    print(HEADER)
    found = []
    for name in names:
        figure = FIGURES[name](bench)
        print(figure.line(), flush=True)
        found.append(figure.to_json())
    return found


def measure(said: argparse.Namespace, folder: Path) -> list[dict[str, object]]:
    """The chosen mode, in one session."""
    sizes = Sizes(said.rows)
    if not said.planning:
        shutil.rmtree(folder / "input", ignore_errors=True)
        generate(folder / "input", sizes, said.seed)
    spark = sessions.start(folder, spark__driver__memory=DRIVER_MEMORY)
    spark.sql("CREATE NAMESPACE IF NOT EXISTS keyfold.bench")
    bench = Bench(spark, folder, sizes, said.repeat, said.bucket)
    try:
        if said.planning:
            return planning.run(spark, said.commits)
        return buckets.run(bench) if said.buckets else figures(bench, said.only.split(","))
    finally:
        spark.stop()


def main() -> int:
    """Status 0: the figures are for reading, a goal missed is no failure."""
    said = arguments()
    about = (
        f"{os.cpu_count()} cores, {platform.machine()}, Spark {pyspark.__version__} local[2], "
        f"driver {DRIVER_MEMORY}, {said.bucket} buckets, {said.rows:,} rows a run"
    )
    print(about, flush=True)
    with tempfile.TemporaryDirectory(prefix="keyfold-bench-") as scratch:
        found = measure(said, said.folder or Path(scratch))
    if said.json:
        said.json.write_text(json.dumps({"about": about, "figures": found}, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
