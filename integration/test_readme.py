"""Every block of README.md runs without those before it, and what it shows as the answer is the
answer.
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

import pytest
from pyspark.sql import SparkSession

from integration.processes import DEADLINE
from integration.scala_block import run_scala
from integration.scenarios import TOP
from keyfold.options.declared import FIELD_OPTIONS, OPTIONS

README = TOP / "README.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MADE = re.compile(r"CREATE TABLE keyfold\.shop\.(\w+)")
NAMED = re.compile(r"\bshop\.`?(\w+)")
TABLE = re.compile(r"^\+[-+]+\+$", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A fenced block and the answer shown after it, if there is one."""

    number: int
    language: str
    text: str
    shown: str | None


def blocks() -> list[Block]:
    """Code in order; a `text` block holding a table is the answer of the block before it."""
    fenced = BLOCK.findall(README.read_text())
    found = []
    for number, (language, text) in enumerate(fenced):
        if language != "text":
            following = fenced[number + 1] if number + 1 < len(fenced) else ("", "")
            shown = following[1] if following[0] == "text" and TABLE.search(following[1]) else None
            found.append(Block(number, language, text, shown))
    return found


BLOCKS = blocks()


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


def run_python(text: str) -> str:
    """Run it as a program; what it prints."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(text, str(README), "exec"), {"__name__": "__main__"})
    return printed.getvalue()


def run_shell(text: str, folder: Path) -> str:
    """Run it in an empty folder with this environment's programs; `make` is only asked."""
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    making = text.lstrip().startswith("make ")
    command = re.sub(r"^make ", f"make -n -C {TOP} ", text, flags=re.MULTILINE) if making else text
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


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: f"{block.number}-{block.language}")
def test_block(spark: SparkSession, tmp_path: Path, block: Block) -> None:
    in_fresh_namespace(spark, block)
    if block.language == "sql":
        printed = run_sql(spark, block.text)
    elif block.language == "python":
        printed = run_python(block.text)
    elif block.language == "scala":
        printed = run_scala(spark, block.text, tmp_path)
    else:
        assert block.language == "sh"
        printed = run_shell(block.text, tmp_path)
        assert printed.strip()
    if block.shown is not None:
        assert printed.strip() == block.shown.strip()


def test_what_the_blocks_are() -> None:
    languages = [block.language for block in BLOCKS]
    assert languages[:4] == ["sh", "sql", "python", "scala"]
    assert "make demo" in BLOCKS[0].text
    assert "make test" in BLOCKS[0].text
    assert sum(block.shown is not None for block in BLOCKS) >= 3
    for block in BLOCKS[1:4]:
        assert len(block.text.splitlines()) <= 12


def test_every_option_is_listed() -> None:
    text = README.read_text()
    for option in (option for option in OPTIONS if option.attribute):
        default = f"`{option.default}`" if option.default else ""
        assert f"| `{option.name}` | {default} | {option.doc} |" in text
    for suffix, doc in FIELD_OPTIONS.items():
        assert f"`fields.<column>.{suffix}`" in text
        assert doc in text


def test_errors_are_quoted_as_they_are() -> None:
    """What the table of errors quotes stands in a message of the code."""
    section = README.read_text().partition("## Errors and what to do\n")[2].partition("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| `")]
    assert len(rows) >= 10
    sources = [*TOP.glob("python/keyfold/**/*.py"), *TOP.glob("jvm/**/*.scala")]
    texts = [re.sub(r'"\s*(\+\s*)?f?s?"', "", path.read_text()) for path in sources]
    for row in rows:
        for words in re.findall(r"`([^`]+)`", row.split("|")[1]):
            assert any(words in text for text in texts), words
