"""A process forked from one with clients of a store says so, in place of waiting for ever."""

import multiprocessing

import pytest

import keyfold
from keyfold import EnvironmentMismatchError, Table
from keyfold.stores.objects import ObjectFiles
from tests.stores.test_objects import files_of


def upserted(table: Table) -> int:
    table.upsert([{"k": 2}])
    return table.scan().to_arrow().num_rows


def published(files: ObjectFiles, path: str) -> int:
    return files.publish(path, b"")


@pytest.mark.parametrize("served", ["s3"], indirect=True)
def test_forked_processes_are_refused_and_spawned_ones_are_not(options: dict[str, str]) -> None:
    warehouse = options.pop("warehouse")
    table = keyfold.connect(warehouse, **options).create_table("t", {"k": "INT"}, ["k"])
    table.upsert([{"k": 1}])
    files = files_of(options | {"warehouse": warehouse})
    with multiprocessing.get_context("fork").Pool(1) as pool:
        answer = pool.apply_async(upserted, (table,))
        with pytest.raises(EnvironmentMismatchError, match="start processes with 'spawn'"):
            answer.get(60)
        answer = pool.apply_async(published, (files, f"{files.root}/name"))
        with pytest.raises(EnvironmentMismatchError, match="start processes with 'spawn'"):
            answer.get(60)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply_async(upserted, (table,)).get(100) == 2
