"""docs/states.md has each scalar function in the words of DESCRIBE FUNCTION."""

from __future__ import annotations

from pathlib import Path

from keyfold.questions.scalar_functions import _ALL, describe_function

PAGE = Path(__file__).resolve().parents[2] / "docs" / "states.md"


def row(name: str) -> str:
    """The function's line of the page."""
    said = dict(line.split(": ", 1) for line in describe_function({"name": name}))
    _, *aliases = said["Names"].split(", ")
    also = f"<br>also {', '.join(f'`{alias}`' for alias in aliases)}" if aliases else ""
    return f"| `{said['Usage']}`{also} | {said['Kind']} | {said['Gives']} | {said['NULL']} |"


def test_the_page_has_the_words_of_each_function() -> None:
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    found = [line for line in lines if "| scalar |" in line]
    assert sorted(found) == sorted(map(row, _ALL))
