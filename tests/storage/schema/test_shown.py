"""Columns as Spark shows them."""

from pathlib import Path

import pytest

from tests.storage import tables
from tests.storage.tables import column, new_table

STATES = {"fields.v.agg-state": "sum(BIGINT)", "merge-engine": "aggregation"}


@pytest.mark.parametrize(
    ("comment", "shown"),
    [
        (None, "AGG_STATE<sum(BIGINT)>"),
        ("of visits", "AGG_STATE<sum(BIGINT)>; of visits"),
        ("AGG_STATE<sum(BIGINT)>", "AGG_STATE<sum(BIGINT)>"),
        ("AGG_STATE<sum(BIGINT)>; of visits", "AGG_STATE<sum(BIGINT)>; of visits"),
    ],
)
def test_comments_say_what_states_are_of(tmp_path: Path, comment: str | None, shown: str) -> None:
    columns = column("k"), column("v", "binary", comment=comment)
    made = tables.table(tmp_path, new_table(*columns, **STATES))
    (found,) = [one for one in made.describe()["columns"] if one["name"] == "v"]
    assert (found["comment"], found["state"]["signature"]) == (shown, "sum(BIGINT)")
    assert made.layout.column("v").comment == comment
