"""The file docs/benchmarks.md, which several programs write: all of it, or a section of it."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = "benchmarks.md"
GROUPS, GROWTH = "## GROUP BY: ", "## Growth: "  # the last sections, in this order


def kept(docs: Path) -> str:
    """The sections of other programs as they stand, empty if there are none."""
    return "\n".join(_parts(docs)[1].values())


def put(docs: Path, section: str) -> None:
    """Put a section of another program in the place of the one that is there."""
    before, parts = _parts(docs)
    parts[_beginning(section)] = section
    text = "\n".join([before.rstrip("\n") + "\n", *(parts[name] for name in sorted(parts))])
    (docs / PAGE).write_text(text, encoding="utf-8")


def _parts(docs: Path) -> tuple[str, dict[str, str]]:
    """What comes before those sections, and each by its beginning."""
    path = docs / PAGE
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    before, *parts = re.split(f"^(?={GROUPS}|{GROWTH})", text, flags=re.MULTILINE)
    return before, {_beginning(part): part.rstrip("\n") + "\n" for part in parts}


def _beginning(section: str) -> str:
    return next(name for name in (GROUPS, GROWTH) if section.startswith(name))
