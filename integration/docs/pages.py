"""README.md and docs/: the list of pages, and the tables in them that are made of declarations.

`python -m integration.docs.pages` writes these tables anew; `tests/test_documented.py` compares.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from integration import TOP
from integration.docs import (
    aggregate_tables,
    python_functions,
    python_reference,
    scala_functions,
)
from keyfold.options.declared import FIELD_OPTIONS, known
from keyfold.options.option import Changes, Option
from keyfold.options.values import names
from keyfold.procedures import procedures

README = TOP / "README.md"
DOCS = TOP / "docs"
PAGES = (README, *sorted(DOCS.glob("*.md")))


def rewritten(path: Path) -> str:
    """The page, with its tables as they are now."""
    text = path.read_text(encoding="utf-8")
    for name, make in TABLES.get(path.name, {}).items():
        begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->\n"
        before, _, rest = text.partition(begin)
        text = before + begin + "\n" + make() + "\n\n" + end + rest.partition(end)[2]
    return text


# Sections of docs/options.md, and how the names of their options begin; all others are in "Rows".
SECTIONS: Mapping[str, tuple[str, ...]] = {
    "Rows": (),
    "Columns": ("fields.",),
    "Data files": ("file.", "target-file", "keyfold.row-group", "keyfold.data-file", "data-file."),
    "Writes and reads": ("write-buffer", "source."),
    "Compaction": ("write-only", "num-", "compaction.", "keyfold.compaction."),
    "Snapshots": ("snapshot.",),
    "Commits and manifests": ("commit.", "manifest."),
}
HEAD = ("option", "values", "default", "changes", "meaning")
CHANGES: Mapping[Changes, str] = {
    "in a call": "ALTER, CALL",
    "by ALTER": "ALTER",
    "while empty": "while empty",
    "never": "never",
}


def options() -> str:
    """A table for each section; those that hardly have a choice come last."""
    rows: dict[str, list[Sequence[str]]] = {title: [] for title in (*SECTIONS, FORMAT)}
    for option in known().values():
        is_format = option.has_one_value or option.name.startswith("partition.")
        title = FORMAT if is_format else _section(option.name)
        default = f"`{option.default}`" if option.default else ""
        changes = CHANGES[option.changes] + (", read" if option.per_call else "")
        rows[title].append((f"`{option.name}`", _values(option), default, changes, option.doc))
    rows["Columns"] += [
        (f"`fields.<column>.{suffix}`", "", "", CHANGES["by ALTER"], one.doc)
        for suffix, one in FIELD_OPTIONS.items()
    ]
    return "\n\n".join(
        f"## {title}\n\n{aggregate_tables.table(HEAD, found)}" for title, found in rows.items()
    )


FORMAT = "Format"


def _section(name: str) -> str:
    found = (title for title, begins in SECTIONS.items() if name.startswith(begins))
    return next(found, "Rows")


def _values(option: Option[Any]) -> str:
    """What the option's parser expects, in its own words."""
    if option.parse is names:
        return "columns, separated by commas"
    try:
        option.parse("\0")
    except ValueError as expected:
        words = str(expected).removeprefix("a ").removesuffix(" to 2147483647")
        return words.replace(" or ", ", ")
    return ""


# The README's figures are rows of docs/benchmarks.md, found by the beginning of a section's title
# and the row's first cell; the columns are keyfold's, Delta Lake's and Paimon's, 0 if it has none.
FIGURES = (
    ("upsert of 800 rows into 8,000,000", "Upserts", "0.01 %", (1, 2, 3)),
    ("upsert of 80,000 rows into 8,000,000", "Upserts", "1 %", (1, 2, 3)),
    ("upsert of all 8,000,000 rows", "Upserts", "100 %", (1, 2, 3)),
    ("read of 16,000,000 rows in 4 runs, merged", "Merge-on-read", "`deduplicate`", (1, 0, 3)),
    ("the same, each column by its function", "Merge-on-read", "`aggregation`", (1, 0, 3)),
    ("full compaction of them", "Compaction", "full compaction, `deduplicate`", (1, 0, 3)),
    ("read after the full compaction", "Compaction", "read after it, `deduplicate`", (1, 0, 3)),
    ("bulk write of 4,000,000 rows", "Compaction", "write 4,000,000 rows", (1, 4, 3)),
    ("look-up of one key of 8,000,000", "Look-ups", "one key of 8,000,000 rows", (1, 3, 4)),
    ("read of 4 runs of 200 columns, merged", "Width", "200", (1, 0, 3)),
)
MEDIAN = re.compile(r"[\d.]+")


def figures() -> str:
    """Medians of seconds, the least of each row in bold."""
    page = (DOCS / "benchmarks.md").read_text(encoding="utf-8")
    sections = {part.partition("\n")[0]: part for part in page.split("\n## ")[1:]}
    rows = []
    for label, title, first, columns in FIGURES:
        section = next(text for head, text in sections.items() if head.startswith(title))
        line = next(line for line in section.splitlines() if line.startswith(f"| {first} |"))
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        found = [MEDIAN.match(cells[column]) if column else None for column in columns]
        medians = [match[0] if match else "-" for match in found]
        least = min(float(match[0]) for match in found if match)
        rows.append(
            (label, *(f"**{m}**" if m != "-" and float(m) == least else m for m in medians))
        )
    return aggregate_tables.table(("seconds", "keyfold", "Delta Lake", "Paimon (Java)"), rows)


def called() -> str:
    """The procedures, with the arguments that each takes."""
    rows = [
        (f"`{one.name}`", ", ".join(f"`{given.name}`" for given in one.parameters), one.doc)
        for one in procedures().values()
    ]
    return aggregate_tables.table(("procedure", "arguments after `table`", "what it does"), rows)


TABLES: Mapping[str, Mapping[str, Callable[[], str]]] = {
    "README.md": {"figures": figures},
    "aggregates.md": {
        "functions": aggregate_tables.functions,
        "parameters": aggregate_tables.parameters,
    },
    "engines.md": {"engines": aggregate_tables.merge_engines},
    "operate.md": {"procedures": called},
    "options.md": {"options": options},
    "python-reference.md": {"reference": python_reference.reference},
    "states.md": {"states": aggregate_tables.states},
}


def write() -> None:
    """Write all these tables, and the functions of Python and Scala."""
    for name in TABLES:
        path = README if name == README.name else DOCS / name
        path.write_text(rewritten(path), encoding="utf-8")
    python_functions.write()
    scala_functions.write()


if __name__ == "__main__":
    write()
