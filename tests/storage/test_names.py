"""Names in metadata that lead out of their folder: whatever says them is refused by name, and no
statement reads, changes or deletes anything beside the table because of them.
"""

import contextlib
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from keyfold.errors import CorruptDataError, KeyfoldError
from keyfold.storage.metadata.avro_records import is_name
from keyfold.storage.table import Table
from tests.concurrency import jobs
from tests.storage import beside
from tests.storage.beside import STATEMENTS, outside
from tests.storage.crafted import Metadata

ADD, DELETE = 0, 1


def field(name: str) -> Callable[[Any, Table, str], None]:
    return lambda found, table, to: found.say(**{name: to})


def entry(kind: int, set_name: Callable[[dict[str, Any], str], None]) -> Any:
    def craft(found: Metadata, table: Table, to: str) -> None:
        found.of_manifest("deltaManifestList", kind, lambda record: set_name(record["_FILE"], to))

    return craft


def listed(which: str) -> Any:
    def craft(found: Metadata, table: Table, to: str) -> None:
        found.of_list(which, lambda record: record.update(_FILE_NAME=to))

    return craft


def changelog(found: Metadata, table: Table, to: str) -> None:
    path = found.location / "changelog" / "changelog-1"
    path.parent.mkdir()
    path.write_bytes(found.path.read_bytes())
    found.path, snapshot = path, found.path
    found.say(statistics=to)
    found.path = snapshot


def name(file: dict[str, Any], to: str) -> None:
    file["_FILE_NAME"] = to


def extra(file: dict[str, Any], to: str) -> None:
    file["_EXTRA_FILES"] = [to]


FIELDS: dict[str, Callable[[Any, Table, str], None]] = {
    "base list": field("baseManifestList"),
    "delta list": field("deltaManifestList"),
    "changelog list": field("changelogManifestList"),
    "index manifest": field("indexManifest"),
    "statistics": field("statistics"),
    "manifest in the base list": listed("baseManifestList"),
    "manifest in the delta list": listed("deltaManifestList"),
    "added file": entry(ADD, name),
    "extra file of an added one": entry(ADD, extra),
    "deleted file": entry(DELETE, name),
    "extra file of a deleted one": entry(DELETE, extra),
    "index file": lambda found, table, to: found.index(to),
    "statistics of a tag": lambda found, table, to: found.tag(table, statistics=to),
    "base list of a tag": lambda found, table, to: found.tag(table, baseManifestList=to),
    "delta list of a branch": lambda found, table, to: found.branch(table, deltaManifestList=to),
    "statistics of a changelog": changelog,
}
OF_MAINTENANCE = ("tag", "branch", "changelog")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    warehouse = tmp_path_factory.mktemp("made")
    beside.make(warehouse)
    return warehouse


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> str:
    """A copy of it."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return str(tmp_path)


def way_out(folder: str) -> str:
    """A live file of the other table, from the folders of this one."""
    (data,) = (Path(folder) / "default.db" / "other" / "bucket-0").iterdir()
    return f"../../other/bucket-0/{data.name}"


def craft(folder: str, field: str) -> str:
    """Let a field name the other table's file."""
    found, to = jobs.table_of(folder), way_out(folder)
    FIELDS[field](Metadata(found), found, to)
    return to


@pytest.mark.parametrize("statement", STATEMENTS)
@pytest.mark.parametrize("field", FIELDS)
def test_nothing_beside_the_table_is_touched(folder: str, field: str, statement: str) -> None:
    before = outside(folder)
    craft(folder, field)
    with contextlib.suppress(KeyfoldError):
        STATEMENTS[statement](folder)
    assert outside(folder) == before


@pytest.mark.parametrize("field", FIELDS)
def test_what_says_it_is_named(folder: str, field: str) -> None:
    to = craft(folder, field)
    asked = ["expire_snapshots", "remove_orphan_files"]
    if not any(word in field for word in OF_MAINTENANCE):
        asked += ["SELECT"] if "index file" in field else ["SELECT", "INSERT", "compact"]
    for statement in asked:
        with pytest.raises(CorruptDataError, match=f"can't be read: .*'{re.escape(to)}'"):
            STATEMENTS[statement](folder)


def test_a_file_that_lies_elsewhere_by_its_external_path_is_not_touched(folder: str) -> None:
    """Paimon's own way to name one: only Paimon reads and deletes it."""
    before, found = outside(folder), Metadata(jobs.table_of(folder))
    for kind in (ADD, DELETE):
        path = f"{folder}/default.db/t/manifest/{way_out(folder)}"
        found.of_manifest(
            "deltaManifestList", kind, lambda e, path=path: e["_FILE"].update(_EXTERNAL_PATH=path)
        )
    for statement in STATEMENTS.values():
        with contextlib.suppress(KeyfoldError):
            statement(folder)
        assert outside(folder) == before


@pytest.mark.parametrize(
    "name",
    ["", ".", "..", "a/b", "/a", "a/", "..\\a", "a\0", "a\n", "x" * 256, "ä" * 128, "\ud800", 7],
)
def test_no_name_of_a_file(name: Any) -> None:
    assert not is_name(name)


@pytest.mark.parametrize("name", ["data-1-0.parquet", "...", "a b", "%2e%2e%2f", "ß"])
def test_names_of_files(name: str, tmp_path: Path) -> None:
    assert is_name(name)
    (tmp_path / name).touch()
    assert [path.name for path in tmp_path.iterdir()] == [name]
