"""Every block of README.md and docs/ runs without those before it, and what it shows as the answer
is the answer. `test_your_own.py` runs the blocks of docs/your-own.md, which build on each other,
`integration/pipelines` those of docs/pipelines.md, which are one pipeline, and `integration/dbt`
the project of docs/dbt.md.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pyspark
import pytest
from pyspark.sql import SparkSession

from integration.docs.java_block import run_java
from integration.docs.pages import DOCS, PAGES, README, TOP
from integration.docs.scala_block import call, compile_scala
from integration.faults.processes import DEADLINE
from integration.sessions import conf

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MADE = re.compile(r"CREATE TABLE keyfold\.shop\.(\w+)")
NAMED = re.compile(r"\bshop\.`?(\w+)")
TABLE = re.compile(r"^\+[-+]+\+$", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A fenced block and the answer shown after it, if there is one."""

    page: Path
    number: int
    language: str
    text: str
    shown: str | None

    def __str__(self) -> str:
        return f"{self.page.stem}-{self.number}-{self.language}"


def blocks(page: Path) -> list[Block]:
    """Code in order; a `text` block holding a table, or after one in Java, is the answer of the
    block before it. A `pyi` block shows how something is declared, and does not run.
    """
    fenced = BLOCK.findall(page.read_text(encoding="utf-8"))
    found = []
    for number, (language, text) in enumerate(fenced):
        if language not in ("text", "pyi"):
            following = fenced[number + 1] if number + 1 < len(fenced) else ("", "")
            is_answer = language == "java" or TABLE.search(following[1])
            shown = following[1] if following[0] == "text" and is_answer else None
            found.append(Block(page, number, language, text, shown))
    return found


RUN_ELSEWHERE = ("your-own.md", "pipelines.md", "dbt.md")
BLOCKS = [block for page in PAGES if page.name not in RUN_ELSEWHERE for block in blocks(page)]
NEWER = [block for block in BLOCKS if "ASOF JOIN" in block.text]  # Spark 4.3's


def in_fresh_namespace(spark: SparkSession, block: Block) -> None:
    """Nothing is there but what an example in SQL may need: the namespace, and tables of other
    examples that it names and does not make.
    """
    spark.sql("DROP NAMESPACE IF EXISTS keyfold.shop CASCADE")
    if block.language != "sql" or "CREATE NAMESPACE" in block.text:
        return
    spark.sql("CREATE NAMESPACE keyfold.shop")
    needed = set(NAMED.findall(block.text)) - set(MADE.findall(block.text))
    for other in BLOCKS:
        if other.language == "sql" and needed & set(MADE.findall(other.text)):
            run_sql(spark, other.text)


def run_sql(spark: SparkSession, text: str) -> str:
    """Run each statement; the last one as `show` prints it."""
    statements = [part.strip() for part in text.split(";\n") if part.strip().rstrip(";")]
    for statement in statements:
        frame = spark.sql(statement.rstrip(";"))
    return str(frame._jdf.showString(20, 20, False))


def run_python(text: str, page: Path) -> str:
    """Run it as a program; what it prints."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(text, str(page), "exec"), {"__name__": "__main__"})
    return printed.getvalue()


def run_shell(text: str, folder: Path) -> str:
    """Run it in an empty folder with this environment's programs; `make` and `pip` only say what
    they would do, and an archive is not packed.
    """
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    command = re.sub(r"^make ", f"make -n -C {TOP} ", text, flags=re.MULTILINE)
    asked = f"pip install --dry-run --no-deps --no-build-isolation '{TOP}["
    command = command.replace("pip install '.[", asked)
    command = re.sub(r"keyfold archive (\S+)", r"keyfold archive --help && touch \1", command)
    done = subprocess.run(
        ["bash", "-euc", command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=DEADLINE,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def scala(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The blocks of Scala, compiled together: most of that is the start of the compiler."""
    folder = tmp_path_factory.mktemp("scala")
    blocks = {class_of(block): block.text for block in BLOCKS if block.language == "scala"}
    compile_scala(blocks, folder)
    return folder


def class_of(block: Block) -> str:
    """What the class of a block of Scala is called."""
    return f"{block.page.stem.title().replace('-', '')}{block.number}"


@pytest.mark.skipif(pyspark.__version__.startswith("4.2."), reason="clause of Spark 4.3")
@pytest.mark.parametrize("block", NEWER, ids=str)
def test_newer_block(spark: SparkSession, block: Block) -> None:
    in_fresh_namespace(spark, block)
    with conf(spark, spark__sql__join__asofJoin__enabled=True):  # which the block sets
        assert run_sql(spark, block.text).strip() == (block.shown or "").strip()


@pytest.mark.parametrize("block", [block for block in BLOCKS if block not in NEWER], ids=str)
def test_block(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
    block: Block,
) -> None:
    monkeypatch.chdir(tmp_path)
    in_fresh_namespace(spark, block)
    if block.language == "sql":
        printed = run_sql(spark, block.text)
    elif block.language == "python":
        printed = run_python(block.text, block.page)
    elif block.language == "scala":
        printed = call(spark, request.getfixturevalue("scala"), class_of(block))
    elif block.language == "java":
        printed = run_java(spark, block.text, tmp_path)
    else:
        assert block.language == "sh"
        printed = run_shell(block.text, tmp_path)
        assert printed.strip()
    if block.shown is not None:
        assert printed.strip() == block.shown.strip()


def test_what_the_blocks_of_the_readme_are() -> None:
    found = [block for block in BLOCKS if block.page == README]
    assert [block.language for block in found] == [
        "sh",
        "sql",
        "python",
        "scala",
        "python",
        "python",
    ]
    assert "make demo" in found[0].text
    assert "make test" in found[0].text
    assert sum(block.shown is not None for block in found) == 4
    for block in found[1:4]:
        assert len(block.text.splitlines()) <= 12


def test_no_two_blocks_make_one_table() -> None:
    """A block names the tables that it needs, so a name must stand for one of them."""
    made = [table for block in BLOCKS for table in set(MADE.findall(block.text))]
    assert sorted(made) == sorted(set(made))


def test_errors_are_quoted_as_they_are() -> None:
    """What the table of errors quotes stands in a message of the code."""
    text = (DOCS / "errors.md").read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if line.startswith("| `")]
    assert len(rows) >= 10
    sources = [*TOP.glob("python/keyfold/**/*.py"), *TOP.glob("jvm/**/*.scala")]
    texts = [re.sub(r'"\s*(\+\s*)?f?s?"', "", path.read_text()) for path in sources]
    for row in rows:
        for words in re.findall(r"`([^`]+)`", row.split("|")[1]):
            assert any(words in text for text in texts), words
