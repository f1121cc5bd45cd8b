"""Changelog files go with what holds them: a snapshot, a changelog that outlives it, a tag."""

import json
from pathlib import Path

import pytest

from keyfold.changelog.changed_rows import read_task
from keyfold.storage.table import Table
from keyfold.streams.batches import Shown, plan_batch
from keyfold.streams.offsets import offset_at
from tests.changelog.changelog_files import changes_of, files_of, path_of
from tests.concurrency import jobs
from tests.storage import tables
from tests.storage.snapshots import manifest_files

LONGER = {"changelog__num_retained__min": "5", "changelog__time_retained": "1 ms"}
SHORT = {"snapshot__num_retained__min": "2", "snapshot__time_retained": "1 ms"}


def make(folder: Path, commits: int, **options: str) -> Table:
    given = {"bucket": "1", "changelog_producer": "input", "write_only": "true", **options}
    table = tables.table(folder, tables.new_table(**given))
    for number in range(commits):
        jobs.written(str(folder), [{"k": number % 3, "v": number}])
    return tables.reload(table)


def told(table: Table) -> list[str]:
    """The changelog files on the disk."""
    return sorted(str(path) for path in Path(table.layout.location).rglob("bucket-*/changelog-*"))


def of(table: Table, numbers: range) -> list[str]:
    """Those that belong to some snapshots."""
    found = (files_of(table, table.snapshots.read(number)) for number in numbers)
    return sorted(path_of(table, file) for files in found for file in files)


def ids(table: Table) -> list[int]:
    """The changelogs that outlive their snapshots."""
    names = Path(table.layout.location, "changelog").glob("changelog-*")
    return sorted(int(path.name.removeprefix("changelog-")) for path in names)


def expire(table: Table, at_most: int = 2) -> None:
    """Expire all but the newest snapshots, twice: the second time nothing is left to do."""
    folder = str(Path(table.layout.location).parent.parent)
    for _ in range(2):
        jobs.expired(folder, at_most, at_most)


def test_changelog_files_expire_with_their_snapshots(tmp_path: Path) -> None:
    table = make(tmp_path, 6)
    kept = of(table, range(5, 7))
    expire(table)
    assert told(table) == kept
    assert not ids(table)


def test_changes_may_outlive_their_snapshots(tmp_path: Path) -> None:
    table = make(tmp_path, 9, **SHORT, **LONGER)
    files = {number: of(table, range(number, number + 1)) for number in range(1, 10)}
    texts = {number: table.snapshots.read(number).to_json() for number in range(1, 8)}
    expire(table)
    expire(table)
    assert sorted(table.snapshots.ids()) == [8, 9]
    assert ids(table) == [5, 6, 7]
    assert told(table) == sorted(path for number in range(5, 10) for path in files[number])
    folder = Path(table.layout.location, "changelog")
    for number in ids(table):
        assert json.loads((folder / f"changelog-{number}").read_text()) == texts[number]
        kept = table.snapshots.parse(str(folder / f"changelog-{number}"))
        assert [path_of(table, file) for file in files_of(table, kept)] == files[number]
    assert (folder / "EARLIEST").read_text() == "5"
    assert (folder / "LATEST").read_text() == "7"
    before, manifests = told(table), manifest_files(table)
    jobs.orphans_removed(str(tmp_path), Path(folder).stat().st_mtime)
    assert (told(table), manifest_files(table)) == (before, manifests)


def test_a_batch_of_a_stream_ends_where_a_changelog_alone_is_left(tmp_path: Path) -> None:
    """As one that is planned anew after a failure: its end is stored."""
    table = make(tmp_path, 6, **SHORT, **LONGER)
    ends, view = (offset_at(table, 2), offset_at(table, 4)), Shown("changes")
    expire(table)
    _, spec, tasks = plan_batch(tables.reload(table), *ends, view, ["v"], {}, 1)
    batches = [batch for task in tasks for batch in read_task(spec, task)]
    assert [v for batch in batches for v in batch.column("v").to_pylist()] == [2, 3]


def test_a_tag_keeps_the_changes_of_its_snapshot(tmp_path: Path) -> None:
    table = make(tmp_path, 6, **SHORT)
    tagged = of(table, range(3, 4))
    folder = Path(table.layout.location)
    (folder / "tag").mkdir()
    (folder / "tag" / "tag-x").write_bytes((folder / "snapshot" / "snapshot-3").read_bytes())
    expire(table)
    assert told(table) == sorted(tagged + of(table, range(5, 7)))
    tag = table.snapshots.parse(str(folder / "tag" / "tag-x"))
    assert [path_of(table, file) for file in files_of(table, tag)] == tagged


@pytest.mark.parametrize("producer", ["lookup", "full-compaction"])
def test_changes_of_compactions_expire_too(tmp_path: Path, producer: str) -> None:
    table = make(tmp_path, 0, changelog_producer=producer, write_only="false")
    for number in range(3):
        jobs.written(str(tmp_path), [{"k": 1, "v": number}])
        jobs.compacted(str(tmp_path), "auto")
    table = tables.reload(table)
    assert [len(changes_of(table, number)) for number in range(1, 7)] == [0, 1, 0, 2, 0, 2]
    expire(table)
    assert told(table) == of(table, range(5, 7))
