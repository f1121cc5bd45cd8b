"""The file docs/benchmarks.md, which several programs write: all of it, or a section of it."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = "benchmarks.md"
PYTHON, GROUPS, GROWTH = "## From Python alone: ", "## GROUP BY: ", "## Growth: "
TPCH, VECTORS = "## TPC-H Q1 and Q6: ", "## Deletion vectors: "
FILES, OTHERS = "## Many files: ", "## Many files in other systems: "
LAST = (PYTHON, GROUPS, TPCH, VECTORS, FILES, OTHERS, GROWTH)  # the last sections, in this order


def kept(docs: Path) -> str:
    """The sections of other programs as they stand, empty if there are none."""
    return "\n".join(_parts(docs)[1].values())


def put(docs: Path, section: str) -> None:
    """Put a section of another program in the place of the one that is there."""
    before, parts = _parts(docs)
    parts[_beginning(section)] = section
    ordered = (parts[name] for name in LAST if name in parts)
    text = "\n".join([before.rstrip("\n") + "\n", *ordered])
    (docs / PAGE).write_text(text, encoding="utf-8")


def _parts(docs: Path) -> tuple[str, dict[str, str]]:
    """What comes before those sections, and each by its beginning."""
    path = docs / PAGE
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    before, *parts = re.split(f"^(?={'|'.join(LAST)})", text, flags=re.MULTILINE)
    return before, {_beginning(part): part.rstrip("\n") + "\n" for part in parts}


def _beginning(section: str) -> str:
    return next(name for name in LAST if section.startswith(name))
