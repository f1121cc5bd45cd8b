"""The file docs/benchmarks.md, which two programs write: all of it, or the section on growth."""

from __future__ import annotations

from pathlib import Path

PAGE = "benchmarks.md"
GROWTH = "## Growth: "  # the last section


def growth(docs: Path) -> str:
    """The section on growth as it stands, empty if there is none."""
    path = docs / PAGE
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    _, found, rest = text.partition(GROWTH)
    return found + rest


def put(docs: Path, section: str) -> None:
    """Put the section on growth in the place of the one that is there."""
    path = docs / PAGE
    before, _, _ = path.read_text(encoding="utf-8").partition(GROWTH)
    path.write_text(before.rstrip("\n") + "\n\n" + section, encoding="utf-8")
