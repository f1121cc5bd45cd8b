"""Random histories of ALTER TABLE, writes, compactions and deletes against a plain Python model."""

import tempfile
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.read import harness
from tests.read.altered import STEPS, Altered

ENGINES = ("deduplicate", "first-row", "partial-update", "aggregation")


def check(altered: Altered) -> None:
    """All rows, some columns, and filters over what was renamed, widened and added."""
    names = altered.table.layout.arrow_schema.names
    assert names == ["k", *(one.name for one in altered.model.columns)]
    expected = altered.model.rows()
    assert by_key(harness.rows(altered.table)) == expected
    one = altered.random.choice(altered.model.columns)
    projected = by_key(harness.rows(altered.table, ["k", one.name]))
    assert projected == [{"k": row["k"], one.name: row[one.name]} for row in expected]
    for node in altered.model.columns:
        if node.kind in ("integer", "long"):
            for value in {None, 2, node.initial, *(row[node.name] for row in expected)}:
                check_filter(altered, node.name, value, node.kind, expected)


def check_filter(
    altered: Altered, name: str, value: object, kind: str, expected: list[dict[str, object]]
) -> None:
    """No row that passes is left out, and what comes are the table's rows."""
    literal = {"literal": value, "type": kind}
    predicate = {"op": "<=>", "args": [{"column": [name]}, literal]}
    found = by_key(harness.rows(altered.table, filters=[predicate]))
    assert [row for row in found if row[name] == value] == [
        row for row in expected if row[name] == value
    ]
    assert all(row in expected for row in found)


def by_key(rows: list[dict[str, object]]) -> list[dict[str, object]]:
    return sorted(rows, key=lambda row: str(row["k"]))


@pytest.mark.parametrize("engine", ENGINES)
@settings(max_examples=12)
@given(random=st.randoms(use_true_random=False))
def test_histories(engine: str, random: Random) -> None:
    with tempfile.TemporaryDirectory() as folder:
        altered = Altered.made(Path(folder), engine, random)
        for step in random.choices(list(STEPS), list(STEPS.values()), k=14):
            step(altered)
            if not altered.pending:
                check(altered)
        altered.commit_jobs()
        check(altered)
        altered.compact()
        check(altered)
