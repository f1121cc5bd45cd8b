"""The page about operations says of each of Paimon's procedures whether it is here."""

import re
from collections.abc import Iterator

from integration.docs.pages import DOCS
from keyfold.procedures import procedures

OURS = {"analyze", "check_table", "clone", "table_health"}  # Paimon has no such procedures
ANSWERS = ("here", "later", "not needed")


def rows() -> Iterator[tuple[list[str], str]]:
    """The names of each row of the table, and what it says of them."""
    page = (DOCS / "operate.md").read_text()
    (chapter,) = re.findall(r"### Paimon's procedures\n(.*?)\n###? ", page, re.DOTALL)
    for line in re.findall(r"^\| (`.*) \|$", chapter, re.MULTILINE):
        names, answer = line.split(" | ")
        yield re.findall(r"`(\w+)`", names), answer


def test_each_procedure_that_is_here_is_declared() -> None:
    found = list(rows())
    assert all(answer.startswith(ANSWERS) for _, answer in found)
    named = [name for names, _ in found for name in names]
    assert len(named) == len(set(named)) > 40
    here = {name for names, answer in found if answer.startswith("here") for name in names}
    assert here == set(procedures()) - OURS
    assert not OURS & set(named)
