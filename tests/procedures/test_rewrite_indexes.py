"""rewrite_file_index: files that were there before get filters, and go on as they were."""

from pathlib import Path

import pytest

from keyfold.errors import CorruptDataError, TableError
from keyfold.procedures import rewrite_indexes
from keyfold.storage.table import Table
from tests.compact.harness import compact
from tests.procedures.called import called
from tests.read import harness
from tests.read.harness import where
from tests.storage import tables
from tests.storage.snapshots import expired, tag
from tests.write.test_file_indexes import COLUMNS, SMALL, asked, beside, live, put

FILTERS = {name: value for name, value in SMALL.items() if name.startswith("file_index")}
OTHERS = {name: value for name, value in SMALL.items() if name not in FILTERS}


def made(folder: Path, **options: str) -> Table:
    """A table of two files without indexes, which it then asks for."""
    found = tables.table(folder, tables.new_table(*COLUMNS, **(OTHERS | options)))
    put(found, range(0, 100, 2))
    compact(found)
    put(found, range(1, 100, 2))
    return altered(found, folder, **FILTERS)


def altered(found: Table, folder: Path, **options: str) -> Table:
    changes = [
        {"change": "set_property", "key": name.replace("__", ".").replace("_", "-"), "value": text}
        for name, text in options.items()
    ]
    tables.catalog(folder).alter_table(["default"], "t", changes)
    return tables.reload(found)


@pytest.mark.parametrize("threshold", ["500 b", "0 b"])
@pytest.mark.parametrize("vectors", ["false", "true"])
def test_files_get_filters_and_stay(tmp_path: Path, threshold: str, vectors: str) -> None:
    more = {"file_index__in_manifest_threshold": threshold, "deletion_vectors__enabled": vectors}
    more |= {"deletion_vectors__merge_on_read": vectors}
    found = made(tmp_path, **more)
    before = {(file.name, file.level, file.vector) for file in live(found)}
    rows = harness.rows(found)
    (answer,) = called(found, "rewrite_file_index")
    assert answer == {"written_partitions": 1, "written_indexes": 2}
    assert {(file.name, file.level, file.vector) for file in live(found)} == before
    assert all(file.extra_files or file.embedded_index for file in live(found))
    assert len(beside(found)) == (2 if threshold == "0 b" else 0)
    assert harness.rows(found) == rows
    assert harness.planned(found, filters=[where("=", "k", 6)])[2].files_read == 1
    assert asked(found, *range(100)) == [*range(100)]
    assert called(found, "rewrite_file_index") == [{"written_partitions": 0, "written_indexes": 0}]
    compact(found)
    assert asked(found, *range(100)) == [*range(100)]


def test_a_table_that_asks_for_none(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="names no column in file-index"):
        called(tables.table(tmp_path), "rewrite_file_index")


def test_files_that_are_merged_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = made(tmp_path, file_index__in_manifest_threshold="0 b")
    steps = rewrite_indexes._steps

    def merged_before(table: Table, one: list[rewrite_indexes.Made]) -> list[object]:
        compact(found)
        return [*steps(table, one)]

    monkeypatch.setattr(rewrite_indexes, "_steps", merged_before)
    (answer,) = called(found, "rewrite_file_index")
    assert answer["written_indexes"] == 0
    (file,) = live(found)
    assert beside(found) == [*file.extra_files]  # those of files that are gone are not left
    assert asked(found, *range(100)) == [*range(100)]


def test_filters_that_files_had_before(tmp_path: Path) -> None:
    """A snapshot has no file whose entry is that of one which was taken away."""
    found = made(tmp_path)
    for fpp in ("0.1", "0.01", "0.1"):
        found = altered(found, tmp_path, file_index__bloom_filter__k__fpp=fpp)
        assert called(found, "rewrite_file_index")[0]["written_indexes"] == 2
        assert len(harness.rows(found)) == 100


def test_those_that_are_replaced_go_with_their_snapshots(tmp_path: Path) -> None:
    found, shown = made(tmp_path, file_index__in_manifest_threshold="0 b"), list[set[str]]()
    for fpp in ("0.1", "0.01", "0.05"):
        found = altered(found, tmp_path, file_index__bloom_filter__k__fpp=fpp)
        called(found, "rewrite_file_index")
        found = tables.reload(found)
        shown.append({name for file in live(found) for name in file.extra_files})
        if fpp == "0.01":
            tag(found, found.snapshot_id or 0)
    assert {*beside(found)} == set[str]().union(*shown)
    assert len(beside(found)) == 6
    assert expired(found) > 2
    assert {*beside(found)} == shown[1] | shown[2]
    assert asked(found, *range(100)) == [*range(100)]


def test_those_of_snapshots_that_a_rollback_removes_go_too(tmp_path: Path) -> None:
    found = made(tmp_path, file_index__in_manifest_threshold="0 b")
    called(found, "rewrite_file_index")
    found = altered(found, tmp_path, file_index__bloom_filter__k__fpp="0.01")
    newest, kept = tables.reload(found).snapshot_id, {*beside(found)}
    called(found, "rewrite_file_index")
    assert len(beside(found)) == 2 * len(kept) == 4
    called(found, "rollback", version=str(newest))
    assert {*beside(found)} == kept
    assert asked(tables.reload(found), *range(100)) == [*range(100)]


def test_two_calls_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found, steps = made(tmp_path), rewrite_indexes._steps

    def after_another(table: Table, one: list[rewrite_indexes.Made]) -> list[object]:
        monkeypatch.setattr(rewrite_indexes, "_steps", steps)
        called(found, "rewrite_file_index")
        return [*steps(table, one)]

    monkeypatch.setattr(rewrite_indexes, "_steps", after_another)
    called(found, "rewrite_file_index")
    assert len(harness.rows(found)) == 100
    assert asked(found, *range(100)) == [*range(100)]


def test_an_error_leaves_no_index(tmp_path: Path) -> None:
    found = made(tmp_path, file_index__in_manifest_threshold="0 b")
    path = Path(live(found)[0].folder(found.layout)) / live(found)[0].name
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(CorruptDataError, match=path.name):
        called(found, "rewrite_file_index")
    assert beside(found) == []
