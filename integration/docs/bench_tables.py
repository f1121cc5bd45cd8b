"""Figures of docs/benchmarks.md summed up: the README's table, and the results that begin the
page. Both are rows of its tables.
"""

from __future__ import annotations

from dataclasses import dataclass

from integration import TOP
from integration.bench import stored
from integration.bench.cells import short
from integration.bench.figures import NAMES
from integration.docs.aggregate_tables import table

DOCS = TOP / "docs"
OURS = ("keyfold", "python")
COLUMNS = (*OURS, "delta", "iceberg", "paimon", "plain")


@dataclass(frozen=True)
class Summary:
    """A row: the section that has its figures, the beginning of its first cell there, and the
    systems that do the same work.
    """

    label: str
    section: str
    first: str
    systems: tuple[str, ...]
    is_in_readme: bool = True


SUMMARIES = (
    Summary("upsert of 800 rows into 8,000,000", "Upserts", "0.01 %", COLUMNS),
    Summary("upsert of 80,000 rows into 8,000,000", "Upserts", "1 %", COLUMNS),
    Summary("upsert of all 8,000,000 rows", "Upserts", "100 %", COLUMNS),
    Summary("MERGE of 80,000 rows into them", "Statements", "MERGE of 1 %", COLUMNS, False),
    Summary("UPDATE of 80,000 rows", "Statements", "UPDATE of 1 %", COLUMNS, False),
    Summary("DELETE of 1,000 keys", "Statements", "DELETE of 1,000 keys", COLUMNS, False),
    Summary(
        "read of 16,000,000 rows in 4 runs, merged",
        "Merge-on-read",
        "`deduplicate`",
        ("keyfold", "paimon-spark"),
    ),
    Summary(
        "the same, each column by its function",
        "Merge-on-read",
        "`aggregation`",
        ("keyfold", "paimon-spark"),
    ),
    Summary("full compaction of them", "Compaction", "full compaction, `deduplicate`", COLUMNS),
    Summary(
        "read after the full compaction", "Compaction", "read after it, `deduplicate`", COLUMNS
    ),
    Summary("bulk write of 4,000,000 rows", "Compaction", "write 4,000,000 rows", COLUMNS),
    Summary("look-up of one key of 8,000,000", "Look-ups", "one key of 8,000,000 rows", COLUMNS),
    Summary("read of 4 runs of 200 columns, merged", "Width", "200", ("keyfold", "paimon-spark")),
)


def medians(summary: Summary) -> dict[str, float]:
    """Seconds by system; Paimon is one column, whether in Spark or not."""
    for row in stored.rows(DOCS, summary.section):
        if row[""].startswith(summary.first):
            found = stored.seconds(row)
            kept = {name: found[name] for name in summary.systems if name in found}
            return {name.removesuffix("-spark"): median for name, median in kept.items()}
    raise LookupError(f"docs/benchmarks.md has no row {summary.first!r} in {summary.section!r}")


def _cells(found: dict[str, float], columns: tuple[str, ...]) -> list[str]:
    """The medians of these systems, the least in bold."""
    least = min(found[name] for name in columns if name in found)
    cells = []
    for name in columns:
        median = found.get(name)
        text = "-" if median is None else short(median)
        cells.append(f"**{text}**" if median == least else text)
    return cells


def figures() -> str:
    """The README's table."""
    rows = [
        (one.label, *_cells(medians(one), (*OURS, "delta", "paimon")))
        for one in SUMMARIES
        if one.is_in_readme
    ]
    return table(("seconds", *(NAMES[n] for n in OURS), "Delta Lake", "Paimon (Java)"), rows)


def results() -> str:
    """The page's first table: who is first, and by how much."""
    rows = []
    for one in SUMMARIES:
        found = medians(one)
        rows.append((one.label, *_cells(found, COLUMNS), first(found)))
    return table(("seconds", *(NAMES[name] for name in COLUMNS), "first"), rows)


def first(found: dict[str, float]) -> str:
    """The least system; its lead over the next one that is not keyfold, or over keyfold."""
    first, *others = sorted(found, key=lambda name: found[name])
    other = next(name for name in others if (name in OURS) != (first in OURS))
    lead = found[other] / found[first]
    times = f"{lead:.1f}" if lead < 10 else f"{lead:.0f}"
    if times == "1.0":
        return f"{NAMES[first]} and {NAMES[other]} equal"
    return f"{NAMES[first]}, {times} times as fast as {NAMES[other]}"
