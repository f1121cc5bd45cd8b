"""The table that two jobs meet at, and what they bring."""

from pathlib import Path
from typing import Any

import pytest

from tests.concurrency import jobs
from tests.storage import tables

OLD = [{"k": 1, "v": 10}, {"k": 2, "v": 20}]
NEW = [{"k": 2, "v": 200}, {"k": 3, "v": 300}]
ADDED = {"change": "add_column", "name": ["w"], "type": "long"}


@pytest.fixture
def folder(tmp_path: Path) -> str:
    """A warehouse with a table of one bucket: two runs of the same two keys."""
    tables.table(tmp_path, tables.new_table(bucket="1"))
    jobs.written(str(tmp_path), [{"k": 1, "v": 1}, {"k": 2, "v": 2}])
    jobs.written(str(tmp_path), OLD)
    return str(tmp_path)


def rows(folder: str) -> dict[int, Any]:
    return jobs.rows_of(jobs.table_of(folder))
