"""How docs/benchmarks.md begins: the place of the table of results, which
`integration.docs.bench_tables` makes of the tables below it, and how everything was measured.
"""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path

from integration import TOP, fetched
from integration.bench import iceberg
from integration.bench.cases import HEAP, Settings
from integration.bench.figures import NAMES, Figures, compared, differences

RESULTS = """\
# Benchmarks

## Results

<!-- results: begin -->
<!-- results: end -->

Seconds on 2 cores and a local disk; the least is bold, - was not measured or is not the same work.
Paimon's library works without Spark, as keyfold from Python does, except where runs are merged:
there both are in Spark. The sections below have each case, its spread, and what else was measured.
[Goals](#goals), and which of them are not met, come behind them.
"""


def about(figures: Figures, settings: Settings, command: Sequence[str], took: float) -> str:
    """What was measured, how, on what."""
    shown = [word for word in command if not word.startswith("/")]
    asked = f"`python -m integration.bench {' '.join(shown)}`" if shown else "`make bench`"
    locked = (TOP / "requirements-readers.lock").read_text(encoding="utf-8")
    others = [" ".join(found) for found in re.findall(r"^(pypaimon.*)==(.*)$", locked, re.M)]
    if any(system == iceberg.SYSTEM for _, system in figures.results):
        locked = (TOP / "requirements-iceberg.lock").read_text(encoding="utf-8")
        (spark,) = re.findall(r"^pyspark==(.*)$", locked, re.MULTILINE)
        others.append(f"Iceberg {fetched.version('iceberg')} in a Spark {spark} of its own")
    pages = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    versions = ", ".join(f"{name} {version(name)}" for name in ("keyfold", "pyspark", "pyarrow"))
    return f"""## How it was measured

{asked} wrote this page in {took / 60:.0f} minutes.

- Machine: {os.cpu_count()} cores ({model()}), {pages / 2**30:.0f} GB of memory, local disk.
- Versions: {versions}, numba {version("numba")}, Delta Lake {fetched.version("delta")},
  Paimon's Java library {fetched.version("paimon")}, {", ".join(others)},
  Python {platform.python_version()}, Java 17.
- Each system runs in a process of its own, one after the other, on the same generated data: Spark
  as `local[2]` with a heap of {HEAP}, Paimon's library with the same heap and two threads, or in
  such a Spark, keyfold from Python in one process. Both of these read, compact and look up in the
  directories that keyfold wrote.
- Rows are `id BIGINT, seq BIGINT, a BIGINT, b BIGINT, c DOUBLE, d STRING(10), e INT` unless
  another shape is given, with keys drawn at random, in {settings.buckets} buckets. Reads
  touch every cell.
- A figure is the median of {settings.repeat} warm turns, {3 * settings.repeat} of those that change
  rows, with the least and the greatest in brackets. The first turn follows after the slash, with
  files out of the page cache. No turn begins after {settings.budget:g} s of turns: ¹ means that
  there was one warm turn, ² two, and so on.
"""


def answered(figures: Figures) -> str:
    """What the comparison of answers found."""
    wrong = differences(figures)
    cases = sum(1 for _ in compared(figures.results.values()))
    if wrong:
        return "".join(f"- **Answers differ**: {sentence}\n" for sentence in wrong)
    return (
        f"- {cases} cases were answered by several systems: counts and sums of all columns agree.\n"
    )


def model() -> str:
    """The processor's name, without its number."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    names = (line.partition(":")[2].split() for line in lines if line.startswith("model name"))
    words = next(names, [platform.machine()])
    return " ".join(words[:2])


def failures(figures: Figures) -> Iterator[str]:
    """Cases that did not end well, in their last line."""
    for error in figures.errors:
        last = error["error"].strip().splitlines()[-1]
        yield f"- {NAMES.get(error['system'], error['system'])}, {error['case']} failed: `{last}`"
