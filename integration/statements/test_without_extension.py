"""Statements that change rows in a session without keyfold's extension: they do what they do in one
with it, or are refused by its name and leave the rows as they are.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
from pyspark.sql import SparkSession

from integration import TOP
from integration.faults.processes import DEADLINE
from integration.statements.plain_session import ALL, run

EXTENSION = "spark.sql.extensions=keyfold.spark.KeyfoldExtensions"
SPARKS_OWN = (
    "Unexpected table relation"  # what it says of a table with CHAR columns: docs/limits.md
)


@pytest.fixture(scope="module")
def without(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the program says."""
    folder = str(tmp_path_factory.mktemp("without"))
    command = [sys.executable, "-m", "integration.statements.plain_session", folder]
    ran = subprocess.run(
        command, cwd=TOP, capture_output=True, text=True, timeout=DEADLINE, check=False
    )
    assert ran.returncode == 0, ran.stderr
    found: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    return found


def test_statements_are_right_or_refused(spark: SparkSession, without: dict[str, Any]) -> None:
    expected, found, refused = list(run(spark)), without["statements"], {}
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


def test_tables_that_fold_are_written_whole_or_by_the_option(without: dict[str, Any]) -> None:
    folds = [*3 * [(True, [])], (False, [1, 2, "x"])]
    some, whole = (False, [1, 2, None]), (False, [1, 2, "y"])
    assert [(engine, EXTENSION in error, row) for engine, error, row in without["writes"]] == [
        *(("aggregation", *one) for one in folds),
        *(("partial-update", *one) for one in folds),
        *(("deduplicate", *one) for one in (some, whole, some, some)),
    ]


def test_catalogs_have_their_functions(without: dict[str, Any]) -> None:
    assert without["functions"] == [[3, 2], ["keyfold.sum", "keyfold.to_bitmap"]]
