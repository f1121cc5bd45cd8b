"""Staged create and replace: the old table stays until the new one is in place."""

import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from keyfold.errors import ConflictError, NoSuchTableError, TableExistsError
from keyfold.storage.catalogs.interface import Staged
from keyfold.storage.commits import commit
from keyfold.storage.table import Table, open_handle
from keyfold.stores import folders
from tests.storage import tables
from tests.storage.tables import catalog, column, new_table

HOME = ["default"]
OTHER = new_table(column("a"), column("b"), key="a")


def hidden(folder: Path) -> list[Path]:
    return [p for p in (folder / "default.db").glob(".*") if p.name != ".namespace.json"]


def fill(found: Table) -> None:
    commit.append(found, tables.spec(found), [tables.message(found)])


def stage(folder: Path, mode: str) -> Staged:
    """A staged table with one commit, after a trip over the wire."""
    staged = catalog(folder).stage(HOME, "t", OTHER, mode)
    fill(catalog(folder).staged_table(staged))
    return Staged.from_json(staged.to_json())


def test_create(tmp_path: Path) -> None:
    ours = catalog(tmp_path)
    staged = stage(tmp_path, "create")
    assert ours.list_tables(HOME) == []
    with pytest.raises(NoSuchTableError):
        ours.load_table(HOME, "t")
    ours.commit_staged(staged)
    assert len(ours.load_table(HOME, "t").live_files()) == 1
    assert hidden(tmp_path) == []


def test_create_loses_to_an_existing_table(tmp_path: Path) -> None:
    staged = stage(tmp_path, "create")
    tables.table(tmp_path)
    with pytest.raises(TableExistsError):
        catalog(tmp_path).commit_staged(staged)
    assert catalog(tmp_path).load_table(HOME, "t").layout.key == ("k",)
    assert hidden(tmp_path) == []
    with pytest.raises(TableExistsError):
        stage(tmp_path, "create")


@pytest.mark.parametrize("mode", ["replace", "create_or_replace"])
def test_replace(tmp_path: Path, mode: str) -> None:
    ours, old = catalog(tmp_path), tables.table(tmp_path)
    fill(old)
    staged = stage(tmp_path, mode)
    assert ours.load_table(HOME, "t").layout.key == ("k",)
    ours.commit_staged(staged)
    new = ours.load_table(HOME, "t")
    assert new.layout.key == ("a",)
    assert len(new.live_files()) == 1
    assert new.live_files()[0].value_stats(new.layout)["b"] == (0, 9, 0)
    assert len(hidden(tmp_path)) == 1, "the old table stays aside for a day"
    with pytest.raises(ConflictError):
        open_handle(old.handle, {})
    fill(new)


def test_a_replaced_table_goes_a_day_later(tmp_path: Path) -> None:
    old = tables.table(tmp_path)
    past = time.time() - folders.STALE_SECONDS - 60
    for path, _, _ in os.walk(old.layout.location):
        os.utime(path, (past, past))
    catalog(tmp_path).commit_staged(stage(tmp_path, "replace"))
    catalog(tmp_path).create_table(HOME, "u", new_table())
    (aside,) = hidden(tmp_path)
    for path, _, _ in os.walk(aside):
        os.utime(path, (past, past))
    catalog(tmp_path).create_table(HOME, "w", new_table())
    assert hidden(tmp_path) == []


def test_create_or_replace_of_nothing(tmp_path: Path) -> None:
    catalog(tmp_path).commit_staged(stage(tmp_path, "create_or_replace"))
    assert catalog(tmp_path).load_table(HOME, "t").layout.key == ("a",)


def test_replace_of_nothing(tmp_path: Path) -> None:
    with pytest.raises(NoSuchTableError):
        stage(tmp_path, "replace")
    tables.table(tmp_path)
    staged = stage(tmp_path, "replace")
    catalog(tmp_path).drop_table(HOME, "t")
    with pytest.raises(NoSuchTableError, match="dropped while it was replaced"):
        catalog(tmp_path).commit_staged(staged)
    assert hidden(tmp_path) == []


def test_abort(tmp_path: Path) -> None:
    old = tables.table(tmp_path)
    fill(old)
    catalog(tmp_path).abort_staged(stage(tmp_path, "replace"))
    assert len(tables.reload(old).live_files()) == 1
    assert hidden(tmp_path) == []


def test_a_crash_leaves_the_old_table_and_is_cleared_a_day_later(tmp_path: Path) -> None:
    old = tables.table(tmp_path)
    crashed, recent = stage(tmp_path, "replace"), stage(tmp_path, "replace")
    assert catalog(tmp_path).list_tables(HOME) == ["t"]
    assert tables.reload(old).layout.key == ("k",)
    past = time.time() - folders.STALE_SECONDS - 60
    for path, _, _ in os.walk(crashed.location):
        os.utime(path, (past, past))
    catalog(tmp_path).create_table(HOME, "u", new_table())
    assert not Path(crashed.location).exists()
    assert Path(recent.location).exists()


def test_one_of_many_creates_wins(tmp_path: Path) -> None:
    def create(_: int) -> bool:
        try:
            tables.table(tmp_path)
        except TableExistsError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sorted(pool.map(create, range(40)))[-2:] == [False, True]
    assert hidden(tmp_path) == []


def test_a_table_is_dropped_when_the_next_one_has_another_time(tmp_path: Path) -> None:
    """Numbers of files are given again at once: without it a handle fits the next table."""
    found = tables.table(tmp_path)
    schemas = Path(found.layout.location) / "schema"
    os.utime(schemas)
    made = schemas.stat().st_mtime
    assert catalog(tmp_path).drop_table(HOME, "t")
    assert time.time() - made > 0.9 * folders.TICK
    tables.table(tmp_path)
    with pytest.raises(ConflictError, match="dropped, renamed or replaced"):
        open_handle(found.handle, {})


def test_without_renameat2(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folders, "LIBC", object())
    tables.table(tmp_path)
    with pytest.raises(TableExistsError):
        tables.table(tmp_path)
    catalog(tmp_path).commit_staged(stage(tmp_path, "replace"))
    assert catalog(tmp_path).load_table(HOME, "t").layout.key == ("a",)
    assert len(hidden(tmp_path)) == 1


def test_what_somebody_else_hides_is_not_cleared(tmp_path: Path) -> None:
    """A table at a path lies in a folder of the user's."""
    old = Path(tables.table(tmp_path).layout.location)
    foreign = [old.parent / name for name in (".staging-area", ".dropped-box", ".staging-")]
    past = time.time() - folders.STALE_SECONDS - 60
    for folder in foreign:
        folder.mkdir()
        os.utime(folder, (past, past))
    tables.table(tmp_path, name="u")
    assert all(folder.is_dir() for folder in foreign)


def test_a_crash_between_two_renames_loses_no_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without `renameat2` the old table is out of its place for a moment."""
    old = tables.table(tmp_path)
    fill(old)
    staged = stage(tmp_path, "replace")

    def killed(self: Path, target: str) -> Path:
        if str(self) == staged.location:
            raise KeyboardInterrupt
        return renamed(self, target)

    with monkeypatch.context() as patched:
        renamed = Path.rename
        patched.setattr(folders, "LIBC", object())
        patched.setattr(Path, "rename", killed)
        with pytest.raises(KeyboardInterrupt):
            catalog(tmp_path).commit_staged(staged)
    past = time.time() - folders.STALE_SECONDS - 60
    for folder in hidden(tmp_path):
        for path, _, _ in os.walk(folder):
            os.utime(path, (past, past))
    tables.table(tmp_path, name="u")
    (aside,) = hidden(tmp_path)
    Path(aside).rename(old.layout.location)
    assert len(tables.reload(old).live_files()) == 1
