"""Statements that change rows in a session without keyfold's extension: they do what they do in one
with it, or are refused by its name and leave the rows as they are.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from integration import TOP
from integration.faults.processes import DEADLINE
from integration.statements.plain_session import ALL, run

EXTENSION = "spark.sql.extensions=keyfold.spark.KeyfoldExtensions"
SPARKS_OWN = (
    "Unexpected table relation"  # what it says of a table with CHAR columns: docs/limits.md
)


def without(folder: Path) -> list[Any]:
    """What the program says."""
    command = [sys.executable, "-m", "integration.statements.plain_session", str(folder)]
    ran = subprocess.run(
        command, cwd=TOP, capture_output=True, text=True, timeout=DEADLINE, check=False
    )
    assert ran.returncode == 0, ran.stderr
    return [json.loads(line) for line in ran.stdout.splitlines() if line.startswith("[")]


def test_statements_are_right_or_refused(spark: SparkSession, tmp_path: Path) -> None:
    expected, found, refused = list(run(spark)), without(tmp_path), {}
    assert [tuple(one[:2]) for one in found] == [one[:2] for one in expected]
    before: dict[str, Any] = {}
    for (table, sql, error, rows), (_, _, known, wanted) in zip(found, expected, strict=True):
        assert not known, (table, sql, known)
        if error:
            refused[table, sql] = error
        assert rows == (before[table] if error else wanted), (table, sql)
        before[table] = rows
    assert refused.keys() == {("sequence", ALL), ("padded", ALL)}, refused
    assert EXTENSION in refused["sequence", ALL]
    assert SPARKS_OWN in refused["padded", ALL]
