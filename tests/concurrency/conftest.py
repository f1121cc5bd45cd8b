"""The table that two jobs meet at, and what they bring."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.concurrency import jobs
from tests.storage import tables

OLD = [{"k": 1, "v": 10}, {"k": 2, "v": 20}]
NEW = [{"k": 2, "v": 200}, {"k": 3, "v": 300}]
ADDED = {"change": "add_column", "name": ["w"], "type": "long"}


@pytest.fixture(scope="session")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse with a table of one bucket: two runs of the same two keys."""
    folder = tmp_path_factory.mktemp("warehouse")
    tables.table(folder, tables.new_table(bucket="1"))
    jobs.written(str(folder), [{"k": 1, "v": 1}, {"k": 2, "v": 2}])
    jobs.written(str(folder), OLD)
    return folder


@pytest.fixture
def folder(warehouse: Path, tmp_path: Path) -> str:
    """A copy of the warehouse."""
    return str(shutil.copytree(warehouse, tmp_path, dirs_exist_ok=True))


def rows(folder: str) -> dict[int, Any]:
    return jobs.rows_of(jobs.table_of(folder))
