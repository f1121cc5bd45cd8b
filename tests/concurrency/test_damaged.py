"""Stored files that are damaged: whatever needs one says which and what can be done, nothing is
written on top of it or removed because of it, and what does not need it works.
"""

import os
import random
import re
import shutil
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from keyfold.errors import CorruptDataError
from keyfold.storage.commits import commit
from tests.concurrency import jobs
from tests.concurrency.flips import drawn, flip
from tests.storage import damaged, tables
from tests.storage.damaged import KINDS

ROWS = 400
FLIPS = int(os.environ.get("KEYFOLD_FLIPS", "60"))
NEW = [{"k": 1, "v": 7, "s": "new"}]
METADATA = [kind for kind in KINDS if kind not in ("data file", "schema")]


@pytest.fixture(autouse=True)
def _forget() -> None:
    damaged.forget()


@pytest.fixture(scope="module")
def origin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse with a table of three runs of the same keys."""
    folder = tmp_path_factory.mktemp("origin")
    columns = tables.column("k"), tables.column("v"), tables.column("s", "string")
    tables.table(folder, tables.new_table(*columns, bucket="1"))
    for job in range(3):
        rows = [{"k": k, "v": k + job, "s": f"{k:x}" * 3} for k in range(ROWS)]
        jobs.written(str(folder), rows)
    return folder


@pytest.fixture
def folder(origin: Path, tmp_path: Path) -> str:
    """A copy of the warehouse."""
    return str(shutil.copytree(origin, tmp_path, dirs_exist_ok=True))


def rows(folder: str) -> dict[int, Any]:
    return jobs.rows_of(jobs.table_of(folder))


def files(folder: str) -> set[str]:
    return {str(path) for path in Path(folder).rglob("*") if path.is_file()}


@pytest.mark.parametrize("how", damaged.ruined(b""))
@pytest.mark.parametrize("kind", KINDS)
def test_a_ruined_file_is_named_with_what_can_be_done(folder: str, kind: str, how: str) -> None:
    path = damaged.path_of(jobs.table_of(folder), kind)
    path.write_bytes(damaged.ruined(path.read_bytes())[how])
    damaged.forget()
    with pytest.raises(CorruptDataError, match=r"can't be read: .*restore the file") as error:
        rows(folder)
    assert str(path) in str(error.value)


@pytest.mark.parametrize("kind", KINDS)
def test_a_missing_file_is_named(folder: str, kind: str) -> None:
    before = rows(folder)
    path = damaged.path_of(jobs.table_of(folder), kind)
    path.unlink()
    damaged.forget()
    if kind == "snapshot":  # then the table is what it was before it
        assert rows(folder) == {k: row - 1 for k, row in before.items()}
        return
    told = "has lost its schemas" if kind == "schema" else f"{path.name} .*it is missing; restore"
    with pytest.raises(CorruptDataError, match=told):
        rows(folder)


@pytest.mark.parametrize("kind", KINDS)
def test_a_wrong_bit_is_an_error_of_ours_or_changes_nothing(
    folder: str, kind: str, seed: int
) -> None:
    size = damaged.path_of(jobs.table_of(folder), kind).stat().st_size
    outcome = flip(folder, kind, drawn(seed, size, FLIPS))
    # Manifests have no checksum that would tell a wrong number in them.
    assert outcome.others == 0 or kind in METADATA
    assert outcome.refused or kind == "data file"


@pytest.mark.parametrize("codec", ["zstd", "none"])
def test_a_wrong_bit_in_a_page_is_never_a_wrong_row(tmp_path: Path, codec: str, seed: int) -> None:
    """Where no codec meets the wrong bit, only the page's checksum knows."""
    folder, draw = str(tmp_path), random.Random(seed)
    tables.table(tmp_path, tables.new_table(bucket="1", file__compression=codec))
    jobs.written(folder, [{"k": k, "v": draw.getrandbits(62)} for k in range(ROWS)])
    size = damaged.path_of(jobs.table_of(folder), "data file").stat().st_size
    outcome = flip(folder, "data file", drawn(seed, size // 2, FLIPS))  # pages come first
    assert outcome.others == 0
    assert outcome.refused.keys() == {"CorruptDataError"}


@pytest.mark.parametrize("column", ["k", "v"])
def test_a_page_of_a_kind_that_is_none(tmp_path: Path, column: str) -> None:
    """Its kind is the second byte of its header. Arrow passes over such a page: the table was
    read as empty.
    """
    folder = str(tmp_path)
    tables.table(tmp_path, tables.new_table(bucket="1"))
    jobs.written(folder, [{"k": k, "v": k * k} for k in range(ROWS)])
    path = damaged.path_of(jobs.table_of(folder), "data file")
    group = pq.read_metadata(path).row_group(0)
    (page,) = [
        found.data_page_offset
        for found in map(group.column, range(group.num_columns))
        if found.path_in_schema == column
    ]
    outcome = flip(folder, "data file", [(page + 1, bit) for bit in range(8)])
    assert outcome.others == 0
    assert outcome.refused == {"CorruptDataError": 8}


def test_names_in_a_footer_that_are_no_text(folder: str) -> None:
    good = damaged.path_of(jobs.table_of(folder), "data file").read_bytes()
    places = [found.start() for found in re.finditer(b"_SEQUENCE_NUMBER|_VALUE_KIND", good)]
    outcome = flip(folder, "data file", [(place, 7) for place in places])
    assert outcome.others == 0
    assert outcome.refused.keys() == {"CorruptDataError"}


def test_a_type_in_a_footer_that_is_none(folder: str) -> None:
    """Of a column chunk it stands before the name. Arrow ends the process that asks for statistics
    then.
    """
    good = damaged.path_of(jobs.table_of(folder), "data file").read_bytes()
    name = good.rindex(b"_VALUE_KIND")
    assert name > good.rindex(b"_SEQUENCE_NUMBER"), "the last chunk's"
    outcome = flip(
        folder, "data file", [(name - back, bit) for back in range(1, 17) for bit in range(8)]
    )
    assert outcome.others == 0
    assert outcome.refused.keys() == {"CorruptDataError"}


@pytest.mark.parametrize("kind", [*METADATA, "schema"])
def test_nothing_is_written_upon_damaged_metadata(folder: str, kind: str) -> None:
    path = damaged.path_of(jobs.table_of(folder), kind)
    job = None if kind == "schema" else jobs.Write(folder, NEW).run()
    path.write_bytes(path.read_bytes()[:-1])
    before = files(folder)
    damaged.forget()
    with pytest.raises(CorruptDataError, match="restore the file"):
        jobs.written(folder, NEW)
    assert files(folder) == before
    if job is not None:
        with pytest.raises(CorruptDataError, match="restore the file"):
            job.commit()
        assert {path for path in files(folder) if "bucket" not in path} == {
            path for path in before if "bucket" not in path
        }
    for ask in (jobs.compacted, jobs.expired):
        with pytest.raises(CorruptDataError, match="restore the file"):
            ask(folder, *([1] if ask is jobs.expired else []))


def test_a_table_with_a_damaged_data_file_is_written_and_not_compacted(folder: str) -> None:
    path = damaged.path_of(jobs.table_of(folder), "data file")
    path.write_bytes(path.read_bytes()[:-1])
    damaged.forget()
    jobs.written(folder, NEW)
    snapshot = jobs.table_of(folder).snapshot_id
    before = files(folder)
    with pytest.raises(CorruptDataError, match=path.name):
        jobs.compacted(folder)
    assert jobs.table_of(folder).snapshot_id == snapshot
    assert files(folder) == before
    jobs.written(folder, NEW, "overwrite")
    assert rows(folder) == {1: 7}


def test_orphan_removal_is_refused_where_a_manifest_is_cut_between_blocks(tmp_path: Path) -> None:
    """As Avro it is sound, and says less: files would be taken for orphans."""
    found = tables.table(tmp_path)
    message = tables.message(found, files=300)
    folder = Path(found.layout.location) / "bucket-0"
    folder.mkdir()
    for file in message.files:
        (folder / file.name).touch()
    commit.append(found, tables.spec(found), [message])
    found = tables.reload(found)
    path = damaged.path_of(found, "manifest")
    whole = path.read_bytes()
    marker = whole[-16:]  # ends each block
    second = whole.find(marker, whole.find(marker) + 16) + 16
    assert second < len(whole), "one block"
    path.write_bytes(whole[:second])
    damaged.forget()
    with pytest.raises(CorruptDataError, match="cut short"):
        rows(str(tmp_path))
    with pytest.raises(CorruptDataError, match="cut short"):
        jobs.orphans_removed(str(tmp_path), time.time())
    assert len(list(folder.iterdir())) == 300


def test_going_back_to_the_snapshot_before(folder: str) -> None:
    found = jobs.table_of(folder)
    path = damaged.path_of(found, "snapshot")
    before = {k: k + 1 for k in range(ROWS)}
    for kind in ("delta list", "snapshot"):
        damaged.path_of(found, kind).write_bytes(b"")
    damaged.forget()
    path.unlink()  # as the error says
    assert rows(folder) == before
    jobs.written(folder, NEW)
    assert jobs.table_of(folder).snapshot_id == found.snapshot_id
    assert rows(folder) == before | {1: 7}


@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_table_is_listed_and_dropped(folder: str, kind: str) -> None:
    path = damaged.path_of(jobs.table_of(folder), kind)
    path.write_bytes(b"")
    damaged.forget()
    assert tables.catalog(Path(folder)).list_tables(["default"]) == ["t"]
    assert jobs.dropped(folder)
    assert tables.catalog(Path(folder)).list_tables(["default"]) == []
