"""Links that somebody laid into a table's folder: no statement goes through one, so nothing beside
the table is read, changed or deleted; the table's own folder may be a link.
"""

import contextlib
import os
import shutil
import stat
import time
import uuid
from pathlib import Path

import pytest

from keyfold.errors import CorruptDataError, KeyfoldError
from keyfold.storage.maintenance.orphans import remove_orphans
from keyfold.stores import folders
from tests.concurrency import jobs
from tests.storage import beside, damaged, tables
from tests.storage.beside import STATEMENTS, outside

DAY = 24 * 3600.0
FOLDERS = (
    "schema",
    "snapshot",
    "manifest",
    "bucket-0",
    "bucket-7",
    "index",
    "statistics",
    "tag",
    "branch",
    "consumer",
    "changelog",
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All files of the other table, and orphans of it, are old."""
    warehouse = tmp_path_factory.mktemp("made")
    beside.make(warehouse)
    other = warehouse / "default.db" / "other"
    for name in FOLDERS:
        (other / name).mkdir(exist_ok=True)
    for name in (f"manifest/manifest-{uuid.uuid4()}-0", f"index/index-{uuid.uuid4()}-0"):
        (other / name).write_text("of a job under way")
    for path in other.rglob("*"):
        os.utime(path, (time.time() - 3 * DAY,) * 2)
    return warehouse


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> str:
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return str(tmp_path)


@pytest.mark.parametrize("statement", STATEMENTS)
@pytest.mark.parametrize("name", FOLDERS)
def test_a_folder_that_is_a_link(folder: str, name: str, statement: str) -> None:
    place = Path(folder) / "default.db" / "t" / name
    if place.exists():
        place.rename(f"{folder}/aside")
    place.symlink_to(f"../other/{name}")
    before = outside(folder)
    with contextlib.suppress(KeyfoldError):
        STATEMENTS[statement](folder)
    assert outside(folder) == before


@pytest.mark.parametrize("name", ["schema", "snapshot", "manifest", "bucket-0"])
def test_it_is_named(folder: str, name: str) -> None:
    place = Path(folder) / "default.db" / "t" / name
    place.rename(f"{folder}/aside")
    place.symlink_to("../../aside")
    for statement in ("SELECT", "INSERT"):
        with pytest.raises(CorruptDataError, match=f"{place}.* {name} is a link; expected"):
            STATEMENTS[statement](folder)


@pytest.mark.parametrize("kind", damaged.KINDS)
def test_a_file_that_is_a_link(folder: str, kind: str) -> None:
    path = damaged.path_of(jobs.table_of(folder), kind)
    path.rename(f"{folder}/aside")
    path.symlink_to(f"{folder}/aside")
    damaged.forget()
    with pytest.raises(CorruptDataError, match=f"{path}.* is a link; expected a file"):
        STATEMENTS["SELECT"](folder)


def test_orphans_below_a_partition_that_is_a_link(tmp_path: Path) -> None:
    new = tables.new_table(tables.column("p"), tables.column("k"), key="p,k", by="p")
    found, other = tables.table(tmp_path, new), tables.table(tmp_path, new, "other")
    theirs = Path(other.layout.location) / "p=7" / "bucket-0" / f"data-{uuid.uuid4()}-0.parquet"
    theirs.parent.mkdir(parents=True)
    theirs.touch()
    os.utime(theirs, (time.time() - 2 * DAY,) * 2)
    ours = Path(found.layout.location)
    (ours / "p=7").symlink_to("../other/p=7")
    (ours / "p=8").mkdir()
    (ours / "p=8" / "bucket-0").symlink_to("../../other/p=7/bucket-0")
    assert remove_orphans(found, None, dry_run=False) == []
    assert theirs.exists()


def test_a_table_whose_folder_is_a_link(folder: str) -> None:
    """It works as any; DROP removes the link alone."""
    place, real = Path(folder) / "default.db" / "t", Path(folder) / "real"
    place.rename(real)
    place.symlink_to(real)
    for name, statement in STATEMENTS.items():
        if name != "DROP":
            statement(folder)
    before = outside(folder)
    assert jobs.dropped(folder)
    assert outside(folder) == before
    assert [path.name for path in place.parent.iterdir()] == ["other"]


@pytest.mark.parametrize("target", ["nowhere", "default.db/other"])
def test_links_of_dropped_tables_go_a_day_later(folder: str, target: str) -> None:
    home = Path(folder) / "default.db"
    names = [f"{folders.DROPPED}{uuid.uuid4()}" for _ in range(3)]
    for name in names:
        (home / name).symlink_to(f"{folder}/{target}")
    for name in names[:2]:
        os.utime(home / name, (time.time() - 2 * DAY,) * 2, follow_symlinks=False)
    before = outside(folder)
    (home / names[1]).rename(home / "elsewhere")
    listed = remove_orphans(jobs.table_of(folder), None, dry_run=False)
    assert [(orphan.path, orphan.bytes) for orphan in listed] == [(str(home / names[0]), 0)]
    (home / "elsewhere").rename(home / names[1])
    tables.table(Path(folder), name="next")
    shutil.rmtree(home / "next")
    assert sorted(p.name for p in home.iterdir()) == sorted([names[2], "other", "t"])
    assert outside(folder) == before
    assert stat.S_ISLNK((home / names[2]).lstat().st_mode)
