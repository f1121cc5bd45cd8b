"""`sequence.snapshot-ordering`: the later snapshot wins, whatever numbers its job wrote."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from keyfold.errors import NotSupportedError
from keyfold.options.parsing import parse
from keyfold.storage.commits import attempts, commit
from keyfold.storage.metadata.entries import COMPACT_SOURCE, LiveFile, stamped
from keyfold.storage.support import check_files
from keyfold.storage.table import Table
from keyfold.wire.specs import CommitMessage, WriteSpec
from keyfold.write.writer import write
from tests.read import harness
from tests.storage import tables


def made(folder: Path, **options: str) -> Table:
    settings = {"sequence__snapshot_ordering": "true", "write_only": "true", "bucket": "1"}
    return tables.table(folder, tables.new_table(**(settings | options)))


def job(
    table: Table, sequence: int, *rows: dict[str, Any]
) -> tuple[WriteSpec, list[CommitMessage]]:
    """A job that wrote its files with this number and has not committed yet."""
    spec = replace(harness.job(table.layout), sequence=sequence)
    return spec, write(spec, harness.batches(table.layout, rows))


def test_the_job_that_commits_last_wins_though_it_began_first(tmp_path: Path) -> None:
    table = made(tmp_path)
    early = job(table, 7, {"k": 1, "v": 10}, {"k": 2, "v": 20})
    late = job(table, 1 << 60, {"k": 1, "v": 11}, {"k": 3, "v": 31})
    assert commit.append(table, *late) == 1
    assert commit.append(table, *early) == 2
    files = {file.name: file for file in tables.reload(table).live_files()}
    numbers = [files[found[1][0].files[0].name] for found in (late, early)]
    assert [(file.min_sequence, file.max_sequence) for file in numbers] == [(1, 1), (2, 2)]
    expected = [{"k": 1, "v": 10}, {"k": 2, "v": 20}, {"k": 3, "v": 31}]
    assert harness.rows(table) == expected
    assert tables.reload(table).highest_sequence() == 2


def test_a_lost_race_is_stamped_with_the_snapshot_it_becomes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = made(tmp_path, commit__min_retry_wait="1 ms")
    first, second = (job(table, 5, {"k": 1, "v": v}) for v in (1, 2))
    publish, raced = attempts.publish, []

    def lose_once(*args: Any) -> bool:
        if not raced:
            raced.append(True)
            assert commit.append(table, *second) == 1
        return publish(*args)

    monkeypatch.setattr(attempts, "publish", lose_once)
    assert commit.append(table, *first) == 2
    assert {f.min_sequence for f in tables.reload(table).live_files()} == {1, 2}
    assert harness.rows(table) == [{"k": 1, "v": 1}]


def test_a_delete_of_a_later_snapshot_wins(tmp_path: Path) -> None:
    columns = (tables.column("k"), tables.column("kind", "string"))
    settings = {"sequence__snapshot_ordering": "true", "write_only": "true", "bucket": "1"}
    new = tables.new_table(*columns, rowkind__field="kind", **settings)
    table = tables.table(tmp_path, new)
    delete = job(table, 1, {"k": 1, "kind": "-D"})
    commit.append(table, *job(table, 2, {"k": 1, "kind": "+I"}))
    commit.append(table, *delete)
    assert harness.rows(table) == []


def test_an_overwrite_is_stamped_too(tmp_path: Path) -> None:
    table = made(tmp_path)
    harness.upsert(table, [{"k": 1, "v": 1}])
    commit.overwrite(table, *job(table, 1 << 60, {"k": 1, "v": 2}), "all")
    late = job(table, 3, {"k": 1, "v": 3})
    commit.append(table, *late)
    assert {f.min_sequence for f in tables.reload(table).live_files()} == {2, 3}
    assert harness.rows(table) == [{"k": 1, "v": 3}]


def changed(file: LiveFile, low: int, high: int, source: int | None) -> LiveFile:
    record = stamped(file.record, low)
    numbers = {"_MAX_SEQUENCE_NUMBER": high, "_FILE_SOURCE": source}
    found = {**record, "_FILE": {**record["_FILE"], **numbers}}
    return LiveFile.of(found, file.partition, file.shapes)


def test_compacted_files_keep_the_numbers_of_their_rows(tmp_path: Path) -> None:
    table = made(tmp_path)
    harness.upsert(table, [{"k": 1, "v": 1}])
    (file,) = tables.reload(table).live_files()
    compacted, appended = changed(file, 3, 9, COMPACT_SOURCE), changed(file, 3, 9, 0)
    for found, highest in ((compacted, 9), (appended, 3)):
        data = found.as_read(table.options)
        assert (data.min_sequence, data.max_sequence) == (3, highest)
    others = replace(table.layout, options={})
    assert appended.as_read(parse(others)).max_sequence == 9


def test_a_file_that_does_not_say_where_it_comes_from_is_refused(tmp_path: Path) -> None:
    table = made(tmp_path)
    harness.upsert(table, [{"k": 1, "v": 1}])
    (file,) = tables.reload(table).live_files()
    with pytest.raises(NotSupportedError, match="does not say whether it was appended"):
        check_files(table.layout, [changed(file, 1, 1, None)])
