"""The format of statements/sql/*.sql: statements ending in `;` under directive comments.

    -- query          compare the rows with plain Spark's, in any order; keyfold must have scanned
    -- query ordered  the same, in order
    -- query any      the same, without asking for a keyfold scan
    -- against        what plain Spark runs for the query above it, where the text must differ
    -- error: text    keyfold alone; must fail with a message holding each of the texts between `|`
    -- holds: text    keyfold alone; the printed rows hold each of the texts between `|`
    -- keyfold        keyfold alone
    -- spark          plain Spark alone

Without a directive a statement runs on both. On plain Spark, tables are Parquet tables: PRIMARY KEY
clauses are taken out. A comment that is none of these is prose.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

DIRECTIVE = re.compile(r"--\s*(query|against|error|holds|keyfold|spark)\b:?\s*(.*)")
PRIMARY_KEY = re.compile(r",\s*PRIMARY KEY\s*\([^)]*\)(\s+NOT ENFORCED)?", re.IGNORECASE)


@dataclass(frozen=True)
class Statement:
    """One statement: `directive` is "" or a word above, `argument` what follows it."""

    line: int
    directive: str
    argument: str
    text: str

    @property
    def for_spark(self) -> str:
        """The text as plain Spark takes it."""
        return PRIMARY_KEY.sub("", self.text)

    @property
    def fragments(self) -> list[str]:
        """What a message or a result must hold."""
        return [part.strip() for part in self.argument.split("|")]


def parse(path: Path) -> list[Statement]:
    """The statements of a file, in order."""
    return list(statements(path.read_text().splitlines()))


def statements(lines: list[str]) -> Iterator[Statement]:
    """Cut at `;` ends; the last directive comment before a statement is its own."""
    directive, argument, text, start = "", "", [], 0
    for number, line in enumerate(lines, 1):
        if not text and (found := DIRECTIVE.fullmatch(line.strip())):
            directive, argument = found.groups()
        if line.lstrip().startswith("--") or not (text or line.strip()):
            continue
        start = start if text else number
        text.append(line)
        if line.rstrip().endswith(";"):
            yield Statement(start, directive, argument, "\n".join(text).rstrip().removesuffix(";"))
            directive, argument, text = "", "", []
    assert not text, f"the statement of line {start} has no end"
