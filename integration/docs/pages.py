"""README.md and docs/: the list of pages, and the tables in them that are made of declarations.

`python -m integration.docs.pages` writes these tables anew; `tests/test_documented.py` compares.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from integration import TOP
from integration.docs import (
    aggregate_tables,
    bench_tables,
    python_functions,
    python_reference,
    scala_functions,
)
from keyfold.options.column_options import FIELD_OPTIONS
from keyfold.options.declared import known
from keyfold.options.names import TUNING
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
    "Writes and reads": ("write-buffer", "source.", "keyfold.plan-in-tasks"),
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


def called() -> str:
    """The procedures, with the arguments that each takes."""
    rows = [
        (f"`{one.name}`", ", ".join(f"`{given.name}`" for given in one.parameters), one.doc)
        for one in procedures().values()
    ]
    return aggregate_tables.table(("procedure", "arguments after `table`", "what it does"), rows)


def without_effect() -> str:
    """The options that only tune other systems."""
    rows = [
        (system, ", ".join(f"`{n}`" for n in sorted(tuned))) for system, tuned in TUNING.items()
    ]
    return aggregate_tables.table(("of", "options"), rows)


TABLES: Mapping[str, Mapping[str, Callable[[], str]]] = {
    "README.md": {"figures": bench_tables.figures},
    "aggregates.md": {
        "functions": aggregate_tables.functions,
        "parameters": aggregate_tables.parameters,
    },
    "benchmarks.md": {"results": bench_tables.results},
    "dialects.md": {"without effect": without_effect},
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
