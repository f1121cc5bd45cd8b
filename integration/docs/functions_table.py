"""The SQL functions of docs/states.md from DESCRIBE FUNCTION:
`python -m integration.docs.functions_table`.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from pyspark.sql import SparkSession

from integration import TOP, sessions

DOCUMENT = TOP / "docs" / "states.md"
BEGIN, END = "<!-- sql: begin -->\n\n", "\n<!-- sql: end -->\n"
HEAD = "| function | kind | gives | NULL |\n|---|---|---|---|\n"


def names(spark: SparkSession) -> list[str]:
    """Every name that SHOW FUNCTIONS lists, without the catalog's; aggregates have other tables."""
    rows = spark.sql("SHOW USER FUNCTIONS IN keyfold.sys").collect()
    return sorted(row[0].removeprefix("keyfold.sys.") for row in rows)


def described(spark: SparkSession, name: str) -> dict[str, str]:
    """What DESCRIBE FUNCTION says, by the word before each colon."""
    rows = spark.sql(f"DESCRIBE FUNCTION keyfold.{name}").collect()
    return dict(row[0].split(": ", 1) for row in rows)


def table(spark: SparkSession) -> str:
    """One line per function, its aliases below its name."""
    lines = {}
    for name in names(spark):
        said = described(spark, name)
        first, *aliases = said["Names"].split(", ")
        also = f"<br>also {', '.join(f'`{alias}`' for alias in aliases)}" if aliases else ""
        cells = (f"`{said['Usage']}`{also}", said["Kind"], said["Gives"], said["NULL"])
        lines[first] = f"| {' | '.join(cells)} |\n"
    return HEAD + "".join(lines[name] for name in sorted(lines))


def document(text: str, found: str) -> str:
    """The document with its table replaced."""
    before, rest = text.split(BEGIN)
    return before + BEGIN + found + END + rest.split(END)[1]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        session = sessions.start(Path(folder))
        written = document(DOCUMENT.read_text(encoding="utf-8"), table(session))
        session.stop()
    DOCUMENT.write_text(written, encoding="utf-8")
