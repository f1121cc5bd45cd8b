"""UPDATE and MERGE from Python in a table that numbers its keys."""

from pathlib import Path

import pytest

import keyfold
from keyfold import TableError


@pytest.mark.parametrize("engine", ["deduplicate", "partial-update"])
def test_statements_keep_ids_and_number_new_keys(tmp_path: Path, engine: str) -> None:
    options = {"merge-engine": engine, "auto-increment.fields": "id"}
    columns = {"k": "STRING", "n": "INT", "id": "BIGINT"}
    table = keyfold.connect(tmp_path).create_table("t", columns, ["k"], options=options)
    table.upsert([{"k": "a", "n": 1}, {"k": "b", "n": 2}])
    before = {row["k"]: row["id"] for row in table.scan().to_pylist()}
    table.update("k = 'a'", {"n": 5})
    merge = table.merge([{"k": "b", "n": 9}, {"k": "c", "n": 3}])
    merge.when_matched_update_all().when_not_matched_insert_all().execute()
    found = {row["k"]: (row["n"], row["id"]) for row in table.scan().to_pylist()}
    assert found == {
        "a": (5, before["a"]),
        "b": (9, before["b"]),
        "c": (3, found["c"][1]),
    }
    assert found["c"][1] not in (None, *before.values())
    with pytest.raises(TableError, match="auto increment column id is not allowed"):
        table.update(None, {"id": 5})
    with pytest.raises(TableError, match="auto increment column id is not allowed; found 3"):
        table.merge([{"k": "q", "id": 3}]).when_not_matched_insert_all().execute()
