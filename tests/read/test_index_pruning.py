"""Files that scans leave out by their indexes, and the rows that must not come back for it."""

import random
from pathlib import Path
from typing import Any

import pytest

from keyfold.read.indexes import index_pruning
from keyfold.storage.metadata.manifest_columns import ListedFile
from keyfold.storage.table import Table
from keyfold.wire.predicates import Predicate
from tests.compact.harness import compact
from tests.read import harness
from tests.read.harness import where
from tests.storage import tables

Rows = list[dict[str, Any]]
BLOOM = {"file_index__bloom_filter__columns": "k,s,v", "write_only": "true", "bucket": "1"}
BLOOM |= {f"file_index__bloom_filter__{name}__items": "500" for name in "ksv"}
BLOOM |= {f"file_index__bloom_filter__{name}__fpp": "0.001" for name in "ksv"}
BLOOM |= {"file_index__in_manifest_threshold": "100 kb"}
COLUMNS = (tables.column("k"), tables.column("s", "string"), tables.column("v"))


def made(folder: Path, **options: str) -> Table:
    return tables.table(folder, tables.new_table(*COLUMNS, **(BLOOM | options)))


def row(key: int, value: int) -> dict[str, Any]:
    return {"k": key, "s": f"s{value}", "v": value}


def files_read(found: Table, *filters: Predicate) -> int:
    return harness.planned(found, filters=filters)[2].files_read


def rows(found: Table, *filters: Predicate) -> Rows:
    """What the plan's tasks read; Spark evaluates the conditions again."""
    return harness.rows(found, filters=filters)


@pytest.mark.parametrize("place", [{}, {"file_index__in_manifest_threshold": "0 b"}])
def test_a_key_that_no_file_has(tmp_path: Path, place: dict[str, str]) -> None:
    found = made(tmp_path, **place)
    harness.upsert(found, [row(key, key) for key in range(0, 100, 2)])
    harness.upsert(found, [row(key, key) for key in range(1, 100, 2)])
    assert files_read(found) == 2
    assert files_read(found, where("=", "k", 6)) == 1
    assert files_read(found, where("IN", "k", 6, 8)) == 1
    assert files_read(found, where("IN", "k", 6, 9)) == 2
    assert files_read(found, where("<", "k", 9)) == 2
    assert rows(found, where("=", "k", 6)) == [row(6, 6)]


def test_a_value_that_no_file_has(tmp_path: Path) -> None:
    found = made(tmp_path)
    harness.upsert(found, [row(key, 2 * key) for key in range(100)])
    compact(found)
    assert files_read(found, where("=", "v", 6)) == 1
    assert files_read(found, where("=", "v", 7)) == 0
    assert files_read(found, where("=", "s", "s7", type="string")) == 0
    either = Predicate("OR", (where("=", "v", 7), where("=", "s", "s6", type="string")))
    assert files_read(found, either) == 1
    assert files_read(found, Predicate("NOT", (where("=", "v", 7),))) == 1
    assert rows(found, where("=", "v", 7)) == []


def test_an_older_row_does_not_come_back(tmp_path: Path) -> None:
    """The file of the newer row has not the value that is asked for: it hides the older one."""
    found = made(tmp_path)
    harness.upsert(found, [row(key, 1) for key in range(10)])
    harness.upsert(found, [row(key, 3) for key in range(10)])
    assert files_read(found, where("=", "v", 1)) == 2
    assert [one for one in rows(found, where("=", "v", 1)) if one["v"] == 1] == []


def test_an_index_is_not_read_if_the_table_says_so(tmp_path: Path) -> None:
    found = made(tmp_path, file_index__read__enabled="false")
    harness.upsert(found, [row(key, key) for key in range(0, 100, 2)])
    assert files_read(found, where("=", "k", 7)) == 1


def test_a_long_list_asks_no_index(tmp_path: Path) -> None:
    found, odd = made(tmp_path), range(1, 201, 2)
    harness.upsert(found, [row(key, key) for key in range(0, 400, 2)])
    assert files_read(found, where("IN", "k", *odd[:64])) == 0
    assert files_read(found, where("IN", "k", *odd[:65])) == 1
    assert files_read(found, where("IN", "k", *odd[:65]), where("=", "v", 3)) == 0


def test_of_too_many_indexes_no_more_is_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found, looked = made(tmp_path, file_index__in_manifest_threshold="0 b"), list[str]()
    for first in range(5):
        harness.upsert(found, [row(key, key) for key in range(first, 100, 5)])
    index = ListedFile.index

    def noted(file: ListedFile, most: int) -> str:
        looked.append(file.name)
        return index(file, most)

    monkeypatch.setattr(ListedFile, "index", noted)
    monkeypatch.setattr(index_pruning, "MOST_FILES", 2)
    assert files_read(found, where("=", "k", 50)) == 5
    assert len(looked) == 3


@pytest.mark.parametrize(
    ("engine", "vectors"),
    [
        ("deduplicate", "false"),
        ("deduplicate", "true"),
        ("partial-update", "true"),
        ("first-row", "false"),
    ],
)
def test_rows_are_those_without_indexes(tmp_path: Path, engine: str, vectors: str) -> None:
    draw = random.Random(7)
    found = made(tmp_path, merge_engine=engine, deletion_vectors__enabled=vectors)
    read = set()
    for step in range(12):
        values = [row(draw.randrange(60), draw.randrange(200)) for _ in range(12)]
        harness.upsert(found, list({one["k"]: one for one in values}.values()))
        if engine == "deduplicate" and step % 5 == 4:
            harness.delete(tables.reload(found), {"k": draw.randrange(60)})
        if step % 4 == 3:
            compact(found, draw.choice(["full", "minor"]))
        for _ in range(4):
            value = draw.randrange(200)
            key, number = where("=", "k", draw.randrange(60)), where("=", "v", value)
            text = where("IN", "s", f"s{value}", "s5", type="string")
            filters = draw.choice([[key], [number], [text], [key, number]])
            every = rows(found)
            wanted = [one for one in every if all(_holds(each, one) for each in filters)]
            got = [one for one in rows(found, *filters) if all(_holds(e, one) for e in filters)]
            assert got == wanted, (step, filters)
            read.add(files_read(found, *filters) < files_read(found))
    assert read == {True, False}


def _holds(filter: Predicate, row: dict[str, Any]) -> bool:
    column, *values = filter.args
    return row[column.path[0]] in [value.value for value in values]
