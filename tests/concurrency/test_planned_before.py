"""Jobs planned before an ALTER TABLE or rescales that changed what their files were made by."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from keyfold.errors import ConflictError
from keyfold.storage.commits import commit
from keyfold.wire.specs import MARKED_SUFFIX
from tests.concurrency import jobs
from tests.concurrency.jobs import Write
from tests.storage import tables
from tests.storage.tables import column, new_table

ROWS = [{"k": n, "j": 7 * n, "v": None} for n in range(8)]


def to(key: str, value: str) -> dict[str, Any]:
    return {"change": "set_property", "key": key, "value": value}


def default(name: str) -> dict[str, Any]:
    value = {"default": "5", "default_value": {"literal": 5, "type": "long"}}
    return {"change": "add_column", "name": [name], "type": "long"} | value


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (to("bucket-key", "j"), "bucket-key"),
        (to("merge-engine", "partial-update"), "merge-engine"),
        (to("sequence.field", "v"), "sequence.field"),
        ({"change": "rename_column", "name": ["j"], "to": "i"}, "the primary key"),
        ({"change": "update_column_nullability", "name": ["v"], "nullable": False}, "column v"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_an_empty_table_may_change(tmp_path: Path, change: Any, named: str) -> None:
    """ALTER takes the table for empty while a job writes: its files fit the old definition only."""
    made = new_table(column("k"), column("j"), column("v"), key="k,j", bucket="4", bucket_key="k")
    tables.table(tmp_path, made)
    job = Write(str(tmp_path), ROWS).run()
    jobs.altered(str(tmp_path), [change])
    with pytest.raises(ConflictError, match=f"has changed {named} since the job was planned"):
        job.commit()
    assert jobs.table_of(str(tmp_path)).snapshot_id is None


def test_names_and_other_options_may_change(tmp_path: Path) -> None:
    tables.table(tmp_path, new_table(column("k"), column("v"), bucket="1", sequence__field="v"))
    job = Write(str(tmp_path), [{"k": 1, "v": 2}]).run()
    renamed = {"change": "rename_column", "name": ["v"], "to": "w"}
    jobs.altered(str(tmp_path), [renamed, default("x"), to("write-only", "true")])
    assert job.commit() == 1


def test_a_rescale_and_one_back(tmp_path: Path) -> None:
    """What they merged comes between records of the job and others."""
    folder = str(tmp_path)
    first = {"merge_engine": "aggregation", "fields__v__aggregate_function": "first_value"}
    tables.table(tmp_path, new_table(**first))
    jobs.written(folder, [{"k": 1, "v": 1}])
    job = Write(folder, [{"k": 1, "v": 2}]).run()
    jobs.written(folder, [{"k": 1, "v": 3}])
    jobs.rescaled(folder, 4)
    jobs.rescaled(folder, 2)
    with pytest.raises(ConflictError, match="it had 4 buckets meanwhile, the job wrote 2"):
        job.commit()
    assert jobs.rows_of(jobs.table_of(folder)) == {1: 1}


@pytest.mark.parametrize("is_marked", [False, True])
def test_partial_rows_and_a_default_for_stored_ones(tmp_path: Path, is_marked: bool) -> None:
    """ALTER refuses that DEFAULT where it sees such rows; here they come later."""
    planned = tables.table(tmp_path, new_table(merge_engine="partial-update"))
    commit.append(planned, tables.spec(planned), [tables.message(planned)])
    made = tables.message(planned, 20, 29)
    if is_marked:
        files = [replace(f, name=f"data{MARKED_SUFFIX}") for f in made.files]
        made = replace(made, files=tuple(files))
    jobs.altered(str(tmp_path), [default("x")])
    if is_marked:
        with pytest.raises(ConflictError, match="has changed column x"):
            commit.append(planned, tables.spec(planned), [made])
    else:
        assert commit.append(planned, tables.spec(planned), [made]) == 2
