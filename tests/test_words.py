"""What a stranger reads first: each class has a name of its own, each docstring's first sentence
stands alone.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "python" / "keyfold"
SOURCES = sorted(PACKAGE.rglob("*.py"))
# Names that two rooms share on purpose: what a user holds, and what it stands on.
SHARED = {
    "Catalog": "a user's connection; the interface of catalogs below it",
    "Table": "a user's table; a table of storage; a hash table of kernels",
}
NEEDS_ITS_NEIGHBOUR = re.compile(r"(The same|What|Of|Those|Where|Who|These)\b")


def classes(source: Path) -> Iterator[str]:
    """The public classes at the top of a module."""
    for node in ast.parse(source.read_text()).body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield node.name


def test_public_classes_have_names_of_their_own() -> None:
    places = defaultdict(list)
    for source in SOURCES:
        for name in classes(source):
            places[name].append(str(source.relative_to(PACKAGE)))
    twice = {name: found for name, found in places.items() if len(found) > 1}
    assert set(twice) == set(SHARED), f"rename, or say in SHARED why not: {twice}"


def first_sentences(source: Path) -> Iterator[tuple[int, str]]:
    """The line and the docstring of the module, its classes and functions."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    for node in ast.walk(ast.parse(source.read_text())):
        if isinstance(node, documented) and (text := ast.get_docstring(node)):
            yield getattr(node, "lineno", 1), text


@pytest.mark.parametrize("source", SOURCES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_the_first_sentence_of_a_docstring_stands_alone(source: Path) -> None:
    leaning = [
        f"{source.name}:{line}: {text.splitlines()[0]}"
        for line, text in first_sentences(source)
        if NEEDS_ITS_NEIGHBOUR.match(text)
    ]
    assert not leaning
