"""Random tables of which any one file is gone. A read is right, or says that the file is lost. What
writes, compacts or tidies up does its work or is refused, and keeps all that the table needs: once
the file is back from a backup, the rows are those of before, and what was written.
"""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

import keyfold
from keyfold import CorruptDataError, SnapshotExpiredError, Table, TableError
from tests.storage import damaged

TABLES = int(os.environ.get("KEYFOLD_GONE", "3"))
FILES = 8
LONG_AGO = 10 * 24 * 3600  # seconds: files are as old as those that the removal of orphans takes
NEW = [{"k": 3, "v": 77}, {"k": 99, "v": 78}]
# What changes a table, by name, and the rows then.
ACTIONS: dict[str, tuple[Callable[[Table], object], Callable[[dict[int, Any]], dict[int, Any]]]] = {
    "upsert": (lambda table: table.upsert(NEW), lambda rows: rows | {3: 77, 99: 78}),
    "overwrite": (lambda table: table.overwrite(NEW), lambda _: {3: 77, 99: 78}),
    "delete": (
        lambda table: table.delete(where="k < 9"),
        lambda rows: {k: v for k, v in rows.items() if k >= 9},
    ),
    "compact": (lambda table: table.compact(), dict),
    "expire": (lambda table: table.expire(retain_max=1, retain_min=1), dict),
    "orphans": (lambda table: table.remove_orphans(), dict),
    "changes": (lambda table: table.changes(0).to_pylist(), dict),
}
OPTIONS = {"bucket": "1", "write-only": "true"}


def made(place: Path, draw: Random) -> None:
    """A table of some commits, perhaps compacted, tagged and expired."""
    options = OPTIONS | {"changelog-producer": draw.choice(["none", "lookup"])}
    catalog = keyfold.connect(place, threads=1)
    table = catalog.create_table("t", {"k": "BIGINT", "v": "BIGINT"}, ["k"], options=options)
    for number in range(draw.randrange(2, 6)):
        table.upsert([{"k": draw.randrange(20), "v": number} for _ in range(10)])
        if draw.random() < 0.3:
            table.compact()
        if draw.random() < 0.3:
            table.tags.create(f"t{number}")
    if draw.random() < 0.5:
        table.expire(retain_max=2)


def rows(found: Any) -> list[Any]:
    return sorted(found.to_pylist(), key=repr)


def asked(place: Path) -> dict[str, Callable[[], list[Any]]]:
    """Reads of the table by name."""
    table = keyfold.connect(place, threads=1).table("t")
    at = [int(path.name[9:]) for path in (place / "default.db/t/snapshot").glob("snapshot-*")]
    asks: dict[str, Callable[[], list[Any]]] = {"newest": lambda: rows(table.scan())}
    asks |= {f"at {n}": lambda n=n: rows(table.scan(snapshot=n)) for n in sorted(at)}
    asks |= {f"tag {t}": lambda t=t: rows(table.scan(tag=t)) for t in table.tags.names()}
    asks["keys"] = lambda: rows(table.get_many([{"k": k} for k in range(20)]))
    return asks


@pytest.mark.parametrize("number", range(TABLES))
def test_any_one_file(tmp_path: Path, seed: int, number: int) -> None:
    draw = Random(seed * 1000 + number)
    whole = tmp_path / "whole"
    made(whole, draw)
    before = {name: ask() for name, ask in asked(whole).items()}
    newest = max(int(name[3:]) for name in before if name.startswith("at "))
    files = sorted(path for path in whole.rglob("*") if path.is_file())
    for path in draw.sample(files, min(FILES, len(files))):
        place = tmp_path / "less"
        shutil.copytree(whole, place)
        gone = place / path.relative_to(whole)
        gone.unlink()
        damaged.forget()
        is_newest = gone.name == f"snapshot-{newest}"
        try:
            asks = asked(place)
        except CorruptDataError:  # it can't be opened at all
            assert gone.parent.name in ("schema", "snapshot")
            asks = {}
        for name, ask in asks.items():
            try:
                found = ask()
            except CorruptDataError as error:
                said = str(error)
            except (SnapshotExpiredError, TableError):  # as of another one that is not there now
                said = gone.name
                assert gone.name == name.replace("at ", "snapshot-")
            else:
                said = ""
                assert found == before[name] or is_newest, f"{name} without {gone}"
                assert found, f"{name} without {gone}"
            assert not said or gone.name in said or "snapshot" in gone.name
        shutil.rmtree(place)


@pytest.mark.parametrize("number", range(TABLES))
def test_changes_without_any_one_file(tmp_path: Path, seed: int, number: int) -> None:
    draw = Random(seed * 1000 + number)
    whole = tmp_path / "whole"
    made(whole, draw)
    for path in whole.rglob("*"):
        os.utime(path, (path.stat().st_atime - LONG_AGO, path.stat().st_mtime - LONG_AGO))
    before = {row["k"]: row["v"] for row in asked(whole)["newest"]()}
    tagged = {name: ask() for name, ask in asked(whole).items() if name.startswith("tag")}
    files = sorted(path for path in whole.rglob("*") if path.is_file())
    for path in draw.choices(files, k=FILES):
        place = tmp_path / "less"
        shutil.copytree(whole, place)
        gone = place / path.relative_to(whole)
        gone.unlink()
        damaged.forget()
        action = draw.choice([*ACTIONS])
        do, after = ACTIONS[action]
        expected, said = before, ""
        try:
            do(keyfold.connect(place, threads=1).table("t"))
            expected = after(before)
        except CorruptDataError as error:
            said = str(error)
        except SnapshotExpiredError:
            assert action == "changes" or gone.parent.name == "snapshot"
        is_named = gone.name in said or gone.parent.name in ("schema", "snapshot")
        assert not said or is_named, f"{action}: {said}"
        if not gone.exists():  # the backup; a commit may have taken the number of a snapshot
            shutil.copy2(path, gone)
            damaged.forget()
            asks = asked(place)
            found = {row["k"]: row["v"] for row in asks["newest"]()}
            assert found == expected, f"{action} without {gone}"
            if gone.parent.name != "tag":  # nothing tells of a tag whose file is gone
                assert {name: asks[name]() for name in tagged} == tagged, f"{action}, {gone}"
        shutil.rmtree(place)
