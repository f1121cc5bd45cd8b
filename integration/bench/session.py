"""One system in a process of its own: python -m integration.bench.session SYSTEM SETTINGS RESULTS

SETTINGS is a file of JSON; each figure becomes a line of JSON in RESULTS as soon as it is there. A
case that fails becomes a line too, and the next one goes on.
"""

from __future__ import annotations

import importlib
import json
import re
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any, TextIO

from integration.bench import cases
from integration.bench.measure import Result

# The module of each, imported by its own process alone: not all have the same packages.
SYSTEMS = {
    "plain": "plain",
    "keyfold": "keyfold",
    "reader": "readers",
    "python": "from_python",
    "paimon": "paimon",
    "paimon-spark": "paimon_spark",
    "delta": "delta",
    "iceberg": "iceberg",
    "pypaimon": "other_readers",
    "pypaimon-rust": "other_readers",
    "lakesoul": "engines.systems",
    "clickhouse": "engines.systems",
}


def line(out: TextIO, found: dict[str, Any]) -> None:
    """Keep one, and say it on the terminal."""
    out.write(json.dumps(found) + "\n")
    out.flush()


def said(result: Result) -> str:
    """A figure in few words."""
    if result.times is None:
        return f"{result.case:<44}{result.system:>9}  answered"
    warm = result.times.warm
    spread = f"{min(warm):.3f}-{max(warm):.3f}, {len(warm)} turns" if warm else "no warm turn"
    rate = f"{result.rows / result.median / 1e6:7.2f} M/s" if result.rows > 1 else ""
    return (
        f"{result.case:<44}{result.system:>9}{result.median:9.3f} s ({spread}, "
        f"cold {result.times.cold:.3f}){rate} {result.memory or ''}"
    )


def run(case: Callable[[Any], Iterator[Result]], session: Any, out: TextIO) -> None:
    """All figures of one case; what it raised, if it did."""
    start = time.perf_counter()
    try:
        for result in case(session):
            line(out, asdict(result))
            print(said(result), flush=True)
    except Exception:
        error = traceback.format_exc()
        line(out, {"case": case.__name__, "system": session.system, "error": error})
        print(f"{case.__name__} of {session.system} failed:\n{error}", flush=True)
    line(out, {"took": time.perf_counter() - start, "case": case.__name__})


def main(system: str, settings: Path, results: Path, only: str) -> None:
    """Start the system, measure, end it."""
    module: Any = importlib.import_module(f"integration.bench.{SYSTEMS[system]}")
    module = getattr(module, "SYSTEMS", {system: module})[system]
    given = cases.from_json(json.loads(settings.read_text()))
    chosen = [case for case in module.CASES if re.search(only, case.__name__)]
    with results.open("a", encoding="utf-8") as out, module.start(given) as session:
        for case in chosen:
            run(case, session, out)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4])
