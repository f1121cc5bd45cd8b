"""Words that a stranger reads: each class has a name of its own, each docstring's first sentence
stands alone, a rate says "per".
"""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.statements import statements

TOP = Path(__file__).resolve().parent.parent
PACKAGE = TOP / "python" / "keyfold"
WRITTEN = (".py", ".scala", ".md", ".svg")
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


# Names that mean something else in each folder, so that a stack trace does not tell what is meant:
# each stands once, and other modules say of what.
OF_ANYTHING = (
    *("catalog", "changes", "declare", "functions", "history", "planner", "records"),
    *("kinds", "places", "plan", "ranges", "running"),
)


def test_modules_of_vague_names_stand_once() -> None:
    places = defaultdict(list)
    for source in SOURCES:
        places[source.stem].append(str(source.relative_to(PACKAGE)))
    assert {name: places[name] for name in OF_ANYTHING if len(places[name]) > 1} == {}


def first_sentences(source: Path) -> Iterator[tuple[int, str]]:
    """The line and the docstring of the module, its classes and functions."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    for node in statements(ast.parse(source.read_text())):
        if isinstance(node, documented) and (text := ast.get_docstring(node)):
            yield getattr(node, "lineno", 1), text


def test_the_first_sentence_of_a_docstring_stands_alone() -> None:
    leaning = [
        f"{source.relative_to(PACKAGE)}:{line}: {text.splitlines()[0]}"
        for source in SOURCES
        for line, text in first_sentences(source)
        if NEEDS_ITS_NEIGHBOUR.match(text)
    ]
    assert leaning == []


A_FOR_PER = re.compile(
    r"\b(?:(?:[Oo]ne|few|four) (?:row|value|line|run|task|color|array|batches|tasks|states)"
    r"|ns|\d+ MB|bytes|(?:[Rr]ows|[Ss]tates|[Kk]eys|GB|MB) (?=a second))"
    r" ?a (?:row|group|key|value|number|text|run|core|column|bucket|function|split|system|second)\b"
)


@pytest.mark.parametrize("folder", ["python", "jvm", "integration", "tests", "docs"])
def test_rates_say_per(folder: str) -> None:
    """One row per key, and not "a key": "a" is the article."""
    texts = [path for path in sorted((TOP / folder).rglob("*")) if path.suffix in WRITTEN]
    assert texts
    found = [
        f"{path.relative_to(TOP)}: {said[0]}"
        for path in texts
        if path != Path(__file__)
        for said in A_FOR_PER.finditer(path.read_text(encoding="utf-8"))
    ]
    assert found == []


def test_the_glossary_is_of_words_in_use() -> None:
    page = (TOP / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table = page.partition("| word | meaning |\n|---|---|\n")[2].partition("\n\n")[0]
    words = [word for row in table.splitlines() for word in row.split(" | ")[0][2:].split(", ")]
    text = " ".join(source.read_text(encoding="utf-8") for source in SOURCES)
    assert len(words) == len(set(words)) >= 25
    assert not [word for word in words if not re.search(rf"\b{word.replace(' ', '[ _]')}", text)]
