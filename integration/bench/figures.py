"""The results of all systems, looked up by case, and how answers compare."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from integration.bench.measure import Result, Times

NAMES = {
    "keyfold": "keyfold",
    "python": "keyfold from Python",
    "plain": "plain Spark",
    "window": "Spark, window function",
    "reader": "keyfold, reader alone",
    "delta": "Delta Lake",
    "iceberg": "Iceberg",
    "paimon": "Paimon Java",
    "paimon-spark": "Paimon Java in Spark",
    "pypaimon": "pypaimon",
    "pypaimon-rust": "pypaimon-rust",
    "lakesoul": "LakeSoul",
    "clickhouse": "ClickHouse",
}


@dataclass(frozen=True)
class Figures:
    """Everything that the sessions wrote."""

    results: dict[tuple[str, str], Result]
    errors: list[dict[str, Any]]
    took: dict[str, float]

    def get(self, case: str, system: str) -> Result | None:
        """A figure, if there is one."""
        found = self.results.get((case, system))
        return found if found and found.times else None

    def seconds(self, case: str, system: str) -> float | None:
        """Its median."""
        found = self.get(case, system)
        return found.median if found else None

    def rate(self, case: str, system: str) -> float | None:
        """Rows per second."""
        found = self.get(case, system)
        return found.rows / found.median if found else None

    def ratio(self, case: str, other: str, theirs: str = "", ours: str = "keyfold") -> float | None:
        """How many times as fast as another system keyfold is, or its reader `ours`; the other's
        case may have its own name.
        """
        own, peer = self.seconds(case, ours), self.seconds(theirs or case, other)
        return peer / own if own and peer else None

    def cases(self, prefix: str) -> list[str]:
        """Names of cases, in the order they came."""
        return list(dict.fromkeys(case for case, _ in self.results if case.startswith(prefix)))


def load(folder: Path) -> Figures:
    """Lines of all sessions."""
    results: dict[tuple[str, str], Result] = {}
    errors: list[dict[str, Any]] = []
    took: dict[str, float] = {}
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            given = json.loads(line)
            if "error" in given:
                errors.append(given)
            elif "took" in given:
                took[f"{path.stem} {given['case']}"] = given["took"]
            else:
                times = given["times"]
                made = times and Times(times["cold"], tuple(times["warm"]))
                result = Result(**{**given, "times": made})
                results[result.case, result.system] = result
    return Figures(results, errors, took)


def compared(results: Iterable[Result]) -> Iterator[tuple[str, list[Result]]]:
    """Cases that several systems answered."""
    by_case: dict[str, list[Result]] = {}
    for result in results:
        if result.answer is not None:
            by_case.setdefault(result.case, []).append(result)
    return ((case, found) for case, found in by_case.items() if len(found) > 1)


def differences(figures: Figures) -> list[str]:
    """Answers of one case that are not equal: a sentence each."""
    found = []
    for case, results in compared(figures.results.values()):
        first = results[0]
        for other in results[1:]:
            if other.answer != first.answer:
                found.append(
                    f"{case}: {first.system} answers {first.answer}, "
                    f"{other.system} answers {other.answer}"
                )
    return found
