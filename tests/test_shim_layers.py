"""Imports of the Scala sources point one way, within their sets and between; folders are small."""

import re
from collections import Counter
from pathlib import Path

import pytest

JVM = Path(__file__).resolve().parents[1] / "jvm/src"
PUBLIC, PRIVATE = "keyfold.spark", "org.apache.spark.sql.keyfold"
CLIENT = "keyfold.client"
# Packages, and what stands beside them as it is named from outside. A part may use every later row
# of its own tree, and any of the other tree of its set; parts of one row know each other where
# Spark has it so: a table makes its scans, which have it. `sql` and `client` may use all of `shim`
# too.
ROWS = {
    ("client", CLIENT): (
        ("KeyfoldTable", "TableBuilder", "UpsertWriter", "Lookuper"),
        ("Functions", "Values"),
    ),
    ("sql", PUBLIC): (
        ("KeyfoldExtensions", "KeyfoldSource"),
        ("functions",),
    ),
    ("sql", PRIVATE): (
        ("lookups",),
        ("groups",),
        ("statements",),
        ("paths",),
        ("aggregates",),
        ("TaskWorker",),
    ),
    ("shim", PUBLIC): (
        ("KeyfoldCatalog", "catalog", "procedures"),
        ("table", "read", "write", "jobs", "changes"),
        ("questions",),
        ("processes", "Worker"),
        ("buckets", "BucketHash"),
        ("metrics",),
        ("Errors", "Settings"),
        ("KeyfoldException", "Json", "Unshown"),
    ),
    ("shim", PRIVATE): (
        ("writes",),
        ("reads",),
        ("arrow",),
        ("KeyfoldNodes",),
        ("Fields", "LocalFolder", "SqlTypes"),
        ("Refusal",),
    ),
}
RANKS = {
    at: {part: row for row, parts in enumerate(rows) for part in parts} for at, rows in ROWS.items()
}
MOST_FILES = 20
SOURCES = [
    pytest.param(of, tree, source, id=f"{of}-{source.stem}")
    for of, tree in ROWS
    for source in sorted((JVM / of / "scala" / tree.replace(".", "/")).rglob("*.scala"))
]


def imported(text: str, tree: str) -> set[str]:
    """The parts of a tree that a source imports."""
    found = re.findall(rf"\bimport {re.escape(tree)}\.(?:\{{([^}}]*)\}}|(\w+))", text)
    return {name.strip() for names in found for name in "".join(names).split(",")}


@pytest.mark.parametrize(("of", "tree", "source"), SOURCES)
def test_imports_point_down(of: str, tree: str, source: Path) -> None:
    text, rank = source.read_text(encoding="utf-8"), RANKS[of, tree]
    folders = source.relative_to(JVM / of / "scala" / tree.replace(".", "/")).parts[:-1]
    assert text.startswith(f"package {'.'.join((tree, *folders))}\n")
    here = folders[0] if folders else source.stem
    used = imported(text, tree)
    if not folders:  # what stands beside it needs no import
        used |= {name for name in rank if name[0].isupper() and re.search(rf"\b{name}\b", text)}
    upward = {there for there in used if rank.get(there, rank[here]) < rank[here]}
    assert not upward, f"{here} stands below {upward}"


@pytest.mark.parametrize("source", sorted((JVM / "shim").rglob("*.scala")), ids=lambda at: at.stem)
def test_shim_knows_nothing_of_sql(source: Path) -> None:
    text = source.read_text(encoding="utf-8")
    for tree in (PUBLIC, PRIVATE):
        used = imported(text, tree) & set(RANKS["sql", tree])
        assert not used, f"{source.name} uses {used}, which stand in jvm/src/sql"


def test_the_client_is_used_by_nothing_and_uses_the_shim() -> None:
    assert not [
        path.name
        for of in ("shim", "sql")
        for path in (JVM / of).rglob("*.scala")
        if CLIENT in path.read_text(encoding="utf-8")
    ]
    for path in (JVM / "client").rglob("*.scala"):
        text = path.read_text(encoding="utf-8")
        used = {t: imported(text, t) & set(RANKS["sql", t]) for t in (PUBLIC, PRIVATE)}
        assert not any(used.values()), f"{path.name} uses {used}, which stand in jvm/src/sql"


def test_no_package_is_in_both() -> None:
    for tree in (PUBLIC, PRIVATE):
        assert not set(RANKS["shim", tree]) & set(RANKS["sql", tree])


def test_folders_are_small() -> None:
    files = Counter(path.parent for path in JVM.rglob("*.scala"))
    large = {str(at.relative_to(JVM)): size for at, size in files.items() if size > MOST_FILES}
    assert not large


# What a pattern may take apart: classes of Scala, and those of Spark that have had the same one or
# two fields in all versions since 2.0.
SCALAS = {"Array", "Left", "NonFatal", "Right", "Seq", "Some"}
CONSTANT = {"Alias", "ArrayType", "EqualTo", "Filter", "IsNotNull", "Literal", "Not", "Project"}
CONSTANT |= {"StructType"}


def patterns(text: str) -> list[str]:
    """The patterns of `case`, without their guards."""
    found = []
    for begin in re.finditer(r"\bcase (?!class\b|object\b)", text):
        depth = 0
        for at in range(begin.end(), len(text)):
            depth += {"(": 1, ")": -1}.get(text[at], 0)
            if depth == 0 and (text.startswith("=>", at) or text.startswith(" if ", at)):
                found.append(text[begin.end() : at])
                break
    return found


def counted(pattern: str) -> list[tuple[str, int]]:
    """Each (name, fields) that a pattern takes apart; a tuple has no name."""
    found = []
    for begin in re.finditer(r"(\w*)\(", pattern):
        depth, fields = 1, 1
        for letter in pattern[begin.end() :]:
            depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(letter, 0)
            if depth == 0:
                break
            fields += depth == 1 and letter == ","
        found.append((begin[1], fields))
    return found


def test_patterns_name_types_of_spark_and_not_their_fields() -> None:
    texts = {path: path.read_text(encoding="utf-8") for path in JVM.rglob("*.scala")}
    defined = re.compile(r"\b(?:class|object|trait|val) ([A-Z]\w+)")
    ours = {name for text in texts.values() for name in defined.findall(text)}
    taken = [
        (path, pattern, name, fields)
        for path, text in texts.items()
        for pattern in patterns(text)
        for name, fields in counted(pattern)
    ]
    assert {name for _, _, name, _ in taken} > CONSTANT
    wrong = [
        f"{path.name}: {pattern}"
        for path, pattern, name, fields in taken
        if name not in SCALAS | CONSTANT | ours and (name or fields > 4)
    ]
    assert not wrong, "match the type and ask its accessors: the number of fields differs"


# A first sentence that begins so needs its neighbour, or names nothing.
NEEDS_NEIGHBOUR = re.compile(
    r"/\*\* (?:(?:Driver|Executor) side: |Both sides: )?"
    r"(?:The same|Those|These|Their|Its|What|Of|Where|As|Whose|With|Without|One of|None)\b",
    re.IGNORECASE,
)


def test_first_sentences_stand_alone() -> None:
    lines = [
        (path, line)
        for path in sorted(JVM.rglob("*.scala"))
        for line in path.read_text(encoding="utf-8").splitlines()
        if "/** " in line
    ]
    assert len(lines) > 500
    assert not [f"{path.name}: {line}" for path, line in lines if NEEDS_NEIGHBOUR.search(line)]
