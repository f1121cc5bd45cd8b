"""docs/private-api.md lists the sources that use Spark's private API, all of them and no others."""

import re
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[1]
PAGE = (TOP / "docs/private-api.md").read_text(encoding="utf-8")
# What a connector is written with; errors are what the interfaces of catalogs and tables throw.
PUBLIC = re.compile(
    r"org\.apache\.spark\.(sql\.)?"
    r"([A-Z]|keyfold\b|unsafe\.types\.|functions\.|rdd\.|util\.CaseInsensitiveStringMap"
    r"|(connector|types|sources|streaming|vectorized)\."
    r"|catalyst\.InternalRow|catalyst\.analysis\.\w+Exception\b)"
)


def is_private(text: str) -> bool:
    """Whether a source stands in Spark's packages, or names more of them than is public."""
    if text.startswith("package org.apache.spark"):
        return True
    named = re.findall(r"\borg\.apache\.spark\.[\w.]*(?:\{[^}]*\})?", text)
    return not all(PUBLIC.match(one) for name in named for one in each_of(name))


def each_of(name: str) -> list[str]:
    """The names of an import of several classes: `a.{B, C}` is `a.B` and `a.C`."""
    folder, several, classes = name.partition("{")
    return [folder + one.strip() for one in classes.rstrip("}").split(",")] if several else [name]


def listed(of: str) -> list[str]:
    section = re.search(rf"^## `jvm/src/{of}`.*?(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert section
    rows = re.findall(r"^\| (`.*?) \|", section[0], re.MULTILINE)
    return [name for row in rows for name in re.findall(r"`(\w+)`", row)]


@pytest.mark.parametrize("of", ["shim", "sql", "client"])
def test_the_page_lists_what_uses_private_api(of: str) -> None:
    sources = (TOP / "jvm/src" / of).rglob("*.scala")
    found = {at.stem for at in sources if is_private(at.read_text(encoding="utf-8"))}
    named = listed(of)
    assert len(named) == len(set(named))
    assert set(named) == found


def test_each_row_says_why() -> None:
    rows = [line.split("|") for line in PAGE.splitlines() if line.startswith("| `")]
    assert all(len(row) == 5 and row[2].strip() for row in rows)


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan", True),
        ("import org.apache.spark.sql.connector.catalog.Table", False),
        ("import org.apache.spark.sql.catalyst.analysis.NoSuchTableException", False),
        ("import org.apache.spark.sql.catalyst.analysis.{NoSuchTableException, Resolver}", True),
        ("  case _: org.apache.spark.sql.execution.SparkPlan => true", True),
        ("import org.apache.spark.sql.{AnalysisException, SparkSession}", False),
    ],
)
def test_what_is_private(line: str, wanted: bool) -> None:
    assert is_private(f"package keyfold.spark\n\n{line}\n") == wanted
