"""Imports of the Scala shim point one way; of Spark's private API (org.apache) it may use any."""

import re
from pathlib import Path

import pytest

SHIM = Path(__file__).resolve().parents[1] / "jvm/src/main/scala/keyfold/spark"
# Packages, and what stands beside them as it is named from outside. A part may use every later row;
# parts of one row know each other where Spark has it so: a table makes its scans, which have it.
ROWS = (
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
)
RANK = {part: row for row, parts in enumerate(ROWS) for part in parts}
IMPORTS = re.compile(r"^import keyfold\.spark\.(?:\{([^}]*)\}|(\w+))", re.MULTILINE)


@pytest.mark.parametrize("source", sorted(SHIM.rglob("*.scala")), ids=lambda path: path.stem)
def test_imports_point_down(source: Path) -> None:
    text = source.read_text(encoding="utf-8")
    folders = source.relative_to(SHIM).parts[:-1]
    assert text.startswith(f"package {'.'.join(('keyfold', 'spark', *folders))}\n")
    here = folders[0] if folders else source.stem
    used = {name.strip() for found in IMPORTS.findall(text) for name in "".join(found).split(",")}
    if not folders:  # what stands beside it needs no import
        used |= {name for name in RANK if name[0].isupper() and re.search(rf"\b{name}\b", text)}
    upward = {there for there in used if RANK[there] < RANK[here]}
    assert not upward, f"{here} stands below {upward}"
