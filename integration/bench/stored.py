"""The figures that docs/benchmarks.md has, read from its tables: what the README quotes, the table
of results sums up and charts are drawn of.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from integration.bench.cases import ENGINES, Settings
from integration.bench.figures import NAMES, Figures
from integration.bench.measure import Result, Times
from integration.bench.page import PAGE

MEDIAN = re.compile(r"[\d.]+")
Row = Mapping[str, str]  # a cell by its head; the first column's head is ""
SYSTEMS = {f"{words}, s": system for system, words in NAMES.items()} | {
    "keyfold in Spark, s": "keyfold",
    "scan of all rows by Spark, s": "plain",
    "Paimon Java in Spark, s": "paimon-spark",
    "keyfold's reader, s": "reader",
    "Paimon's Java reader, s": "paimon",
}


def rows(docs: Path, section: str) -> Iterator[Row]:
    """The rows of all tables in the section whose title begins like this."""
    text = (docs / PAGE).read_text(encoding="utf-8")
    (part,) = (part for part in text.split("\n## ")[1:] if part.startswith(section))
    heads: list[str] = []
    for line in part.splitlines():
        if not line.startswith("|"):
            heads = []
            continue
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        if not heads:
            heads = ["", *cells[1:]]
        elif set(line) - set("|- "):
            yield dict(zip(heads, cells, strict=True))


def seconds(row: Row) -> dict[str, float]:
    """The medians of a row, by system."""
    found = {SYSTEMS[head]: MEDIAN.match(row[head]) for head in row if head in SYSTEMS}
    return {system: float(median[0]) for system, median in found.items() if median}


def figures(docs: Path, settings: Settings) -> Figures:
    """Medians of upserts and merges, as the suite's results: what charts need."""
    results: dict[tuple[str, str], Result] = {}

    def note(case: str, row: Row, total: int, scan: str = "") -> None:
        for system, median in seconds(row).items():
            name = scan if scan and system == "plain" else case
            results[name, system] = Result(name, system, Times(median, (median,)), rows=total)

    for row in rows(docs, "Upserts"):
        note(f"upsert/{row['']}", row, settings.base.total)
    main = settings.main
    for row in rows(docs, "Merge-on-read"):
        if (engine := row[""].strip("`")) in ENGINES:
            note(f"merge/{engine}/{main.name}", row, main.total, f"scan/{main.name}")
    for name, title in (("runs", "Runs"), ("width", "Width")):
        for row in rows(docs, title):
            shape = settings.sweeps[name][row[""]]
            note(f"merge/deduplicate/{shape.name}", row, shape.total, f"scan/{shape.name}")
    return Figures(results, [], {})
