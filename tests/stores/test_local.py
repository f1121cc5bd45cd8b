"""The publishing primitive: of many processes that publish one name, exactly one wins."""

import multiprocessing
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from keyfold.stores import local
from keyfold.stores.local import LocalFiles, local_path
from tests.concurrency.processes import CONTEXT

NAMES = 10_000
PROCESSES = 4


def race(folder: str, barrier: Any) -> None:
    """Publish every name in order, recording the ones that were won."""
    local.os.fsync = lambda descriptor: None  # races, not power cuts
    ours = LocalFiles()
    barrier.wait()
    won = [n for n in range(NAMES) if ours.publish(f"{folder}/name-{n}", folder.encode())]
    Path(folder, f"won-{multiprocessing.current_process().pid}").write_text(" ".join(map(str, won)))


def test_no_name_is_won_twice(tmp_path: Path) -> None:
    barrier = CONTEXT.Barrier(PROCESSES)
    racers = [CONTEXT.Process(target=race, args=(str(tmp_path), barrier)) for _ in range(PROCESSES)]
    for racer in racers:
        racer.start()
    for racer in racers:
        racer.join()
    won = [path.read_text().split() for path in tmp_path.glob("won-*")]
    assert len(won) == PROCESSES
    wins = Counter(name for names in won for name in names)
    assert set(wins.values()) == {1}
    assert len(wins) == NAMES
    assert sum(1 for names in won if names) > 1, "one process won everything: no race took place"
    assert not list(tmp_path.glob(".tmp-*"))


def test_publish_writes_the_content_once(tmp_path: Path) -> None:
    path = str(tmp_path / "folder" / "name")
    assert LocalFiles().publish(path, b"one")
    assert not LocalFiles().publish(path, b"two")
    assert LocalFiles().read(path) == b"one"
    assert LocalFiles().names(str(tmp_path / "folder")) == ["name"]


def test_replace_is_seen_in_the_stamp(tmp_path: Path) -> None:
    path = str(tmp_path / "name")
    LocalFiles().replace(path, b"one")
    before = LocalFiles().stamp(path)
    LocalFiles().replace(path, b"two")
    assert LocalFiles().stamp(path) != before
    assert LocalFiles().read(path) == b"two"


@pytest.mark.parametrize(
    ("location", "expected"),
    [("/a/b", "/a/b"), ("file:/a/b", "/a/b"), ("file:///a%20b", "/a b"), ("s3://b/a", None)],
)
def test_local_path(location: str, expected: str | None) -> None:
    assert local_path(location) == expected


def test_a_link_that_was_asked_for_twice_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a network mount does where the first answer got lost."""
    link = local.os.link

    def twice(source: str, target: str) -> None:
        link(source, target)
        link(source, target)

    monkeypatch.setattr(local.os, "link", twice)
    path = str(tmp_path / "name")
    assert LocalFiles().publish(path, b"ours")
    assert not LocalFiles().publish(path, b"theirs")
    assert Path(path).read_bytes() == b"ours"


def test_folders_of_many_partitions_go_and_what_links_lead_to_stays(tmp_path: Path) -> None:
    table, outside = tmp_path / "table", tmp_path / "outside"
    for place in [outside, *(table / f"p={p}" / "bucket-0" for p in range(100))]:
        place.mkdir(parents=True)
        (place / "data").write_text("x")
    (table / "link").symlink_to(outside)
    (table / "p=0" / "link").symlink_to(outside)
    assert LocalFiles().remove_folder(str(table))
    assert not table.exists()
    assert (outside / "data").read_text() == "x"
    assert not LocalFiles().remove_folder(str(table))
