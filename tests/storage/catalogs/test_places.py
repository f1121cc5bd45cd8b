"""Tables by their path: made where nothing is in the way, replaced, dropped, and nothing else."""

from pathlib import Path

import pytest

from keyfold.errors import NoSuchTableError, NotSupportedError, TableError, TableExistsError
from keyfold.merge.plan import check
from keyfold.storage.catalogs.interface import Catalog, Staged
from keyfold.storage.catalogs.path_tables import NAMELESS, is_path, open_place
from keyfold.storage.commits import commit
from keyfold.storage.table import open_handle
from tests.storage import tables
from tests.storage.tables import new_table

HERE = [NAMELESS]


def place(path: Path) -> Catalog:
    return open_place("c", str(path), {"warehouse": "/nowhere"}, check)


@pytest.mark.parametrize(
    ("namespace", "name", "found"),
    [([], "/a/t", True), ([], "t", False), (["n"], "t", False), ([], "s3://b/t", True)],
)
def test_what_is_a_path(namespace: list[str], name: str, found: bool) -> None:
    assert is_path(namespace, name) == found


def test_made_filled_and_dropped(tmp_path: Path) -> None:
    path = tmp_path / "not there yet" / "stock"
    made = place(path).create_table(HERE, str(path), new_table())
    assert made.layout.location == str(path)
    assert made.layout.name == f"c.`{path}`"
    commit.append(made, tables.spec(made), [tables.message(made)])
    assert [p.name for p in path.parent.iterdir()] == ["stock"]
    found = place(path).load_table(HERE, str(path))
    assert len(found.live_files()) == 1
    again = open_handle(found.handle, {})
    assert (again.layout, again.snapshot_id) == (found.layout, 1)
    with pytest.raises(TableExistsError):
        place(path).create_table(HERE, str(path), new_table())
    assert place(path).drop_table(HERE, str(path))
    assert not path.exists()
    assert not place(path).drop_table(HERE, str(path))
    with pytest.raises(NoSuchTableError, match="stock"):
        place(path).load_table(HERE, str(path))


def test_an_empty_folder_is_taken(tmp_path: Path) -> None:
    place(tmp_path / "t").create_table(HERE, str(tmp_path / "t"), new_table())
    (tmp_path / "e").mkdir()
    made = place(tmp_path / "e").create_table(HERE, str(tmp_path / "e"), new_table())
    assert made.layout.location == str(tmp_path / "e")


@pytest.mark.parametrize("mode", ["create", "create_or_replace"])
def test_what_is_no_table_is_left_alone(tmp_path: Path, mode: str) -> None:
    path = tmp_path / "mine"
    path.mkdir()
    (path / "letter.txt").write_text("dear")
    with pytest.raises(TableError, match=r"mine is no table, and holds letter\.txt"):
        place(path).stage(HERE, str(path), new_table(), mode)
    with pytest.raises(TableError, match="is a file"):
        place(path / "letter.txt").stage(HERE, str(path / "letter.txt"), new_table(), mode)
    assert not place(path).drop_table(HERE, str(path))
    assert (path / "letter.txt").read_text() == "dear"


@pytest.mark.parametrize("mode", ["create", "create_or_replace"])
def test_what_came_while_the_table_was_made_is_left_alone(tmp_path: Path, mode: str) -> None:
    path = tmp_path / "mine"
    staged = place(path).stage(HERE, str(path), new_table(), mode)
    path.mkdir()
    (path / "letter.txt").write_text("dear")
    with pytest.raises(TableError, match=r"letter\.txt"):
        place(path).commit_staged(Staged.from_json(staged.to_json()))
    assert [p.name for p in tmp_path.iterdir()] == ["mine"]
    assert (path / "letter.txt").read_text() == "dear"


def test_replaced_in_one_step(tmp_path: Path) -> None:
    path = tmp_path / "t"
    old = place(path).create_table(HERE, str(path), new_table())
    commit.append(old, tables.spec(old), [tables.message(old)])
    staged = place(path).stage(HERE, str(path), new_table(key="v"), "replace")
    place(path).commit_staged(staged)
    new = place(path).load_table(HERE, str(path))
    assert new.layout.primary_key == ("v",)
    assert new.live_files() == []


def test_names_and_renaming(tmp_path: Path) -> None:
    path = tmp_path / "t"
    place(path).create_table(HERE, str(path), new_table())
    with pytest.raises(NotSupportedError, match="is named by its path: move its folder"):
        place(path).rename_table(HERE, str(path), ["n"], "u")
    with pytest.raises(TableError, match=r"not allowed \(\$\)"):
        place(path).create_table(HERE, f"{path}$files", new_table())
