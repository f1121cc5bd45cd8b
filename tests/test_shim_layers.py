"""Imports of the Scala shim point one way, in either of its trees; a folder holds few files."""

import re
from collections import Counter
from pathlib import Path

import pytest

JVM = Path(__file__).resolve().parents[1] / "jvm/src"
SETS = [JVM / "shim/scala", JVM / "sql/scala"]
# Packages, and what stands beside them as it is named from outside. A part may use every later row
# of its own tree, and any of the other; parts of one row know each other where Spark has it so: a
# table makes its scans, which have it.
ROWS = {
    "keyfold.spark": (
        ("KeyfoldExtensions",),
        ("KeyfoldCatalog", "KeyfoldSource", "catalog", "procedures"),
        ("table", "read", "write", "jobs", "changes"),
        ("questions",),
        ("processes", "Worker"),
        ("buckets", "BucketHash"),
        ("functions",),
        ("metrics",),
        ("Errors", "Settings"),
        ("KeyfoldException", "Json"),
    ),
    "org.apache.spark.sql.keyfold": (
        ("lookups",),
        ("writes",),
        ("statements",),
        ("reads",),
        ("groups",),
        ("aggregates",),
        ("arrow",),
        ("Ours",),
        ("LocalFolder", "SqlTypes", "TaskWorker"),
        ("Refusal",),
    ),
}
RANKS = {
    tree: {part: row for row, parts in enumerate(rows) for part in parts}
    for tree, rows in ROWS.items()
}
MOST_FILES = 20
SOURCES = [
    pytest.param(tree, at.relative_to(top / tree.replace(".", "/")).parts, at, id=at.stem)
    for tree in ROWS
    for top in SETS
    for at in sorted((top / tree.replace(".", "/")).rglob("*.scala"))
]


@pytest.mark.parametrize(("tree", "parts", "source"), SOURCES)
def test_imports_point_down(tree: str, parts: tuple[str, ...], source: Path) -> None:
    text, rank = source.read_text(encoding="utf-8"), RANKS[tree]
    folders = parts[:-1]
    assert text.startswith(f"package {'.'.join((tree, *folders))}\n")
    here = folders[0] if folders else source.stem
    imports = re.findall(rf"\bimport {re.escape(tree)}\.(?:\{{([^}}]*)\}}|(\w+))", text)
    used = {name.strip() for found in imports for name in "".join(found).split(",")}
    if not folders:  # what stands beside it needs no import
        used |= {name for name in rank if name[0].isupper() and re.search(rf"\b{name}\b", text)}
    upward = {there for there in used if rank[there] < rank[here]}
    assert not upward, f"{here} stands below {upward}"


def test_folders_are_small() -> None:
    files = Counter(path.parent for path in JVM.rglob("*.scala"))
    large = {str(at.relative_to(JVM)): size for at, size in files.items() if size > MOST_FILES}
    assert not large
