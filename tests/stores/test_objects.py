"""Files of a bucket: of many processes that publish one name exactly one wins; what is not known
stays; no text holds a credential.
"""

import re
from collections import Counter
from typing import Any

import pytest
from obstore.exceptions import GenericError

from keyfold.errors import TableError
from keyfold.stores import objects, settings
from keyfold.stores.files import UnsettledError
from keyfold.stores.objects import ObjectFiles
from tests.concurrency.processes import CONTEXT

PROCESSES = 6
NAMES = 60


def files_of(options: dict[str, str]) -> ObjectFiles:
    root = options["warehouse"]
    return ObjectFiles(root, settings.store_options(root, options))


@pytest.fixture
def files(options: dict[str, str]) -> ObjectFiles:
    return files_of(options)


def race(options: dict[str, str], number: int, barrier: Any, won: Any) -> None:
    """Publish every name at the same time as the others; report the ones that were won."""
    ours, mine = files_of(options), []
    for name in range(NAMES):
        barrier.wait()
        if ours.publish(f"{ours.root}/name-{name}", f"{number}".encode() * 50_000):
            mine.append(name)
    won.put((number, mine))


def test_no_name_is_won_twice(options: dict[str, str], files: ObjectFiles) -> None:
    barrier, won = CONTEXT.Barrier(PROCESSES), CONTEXT.Queue()
    racers = [
        CONTEXT.Process(target=race, args=(options, n, barrier, won)) for n in range(PROCESSES)
    ]
    for racer in racers:
        racer.start()
    found = dict(won.get(timeout=600) for _ in racers)
    for racer in racers:
        racer.join()
    wins = Counter(name for names in found.values() for name in names)
    assert wins == dict.fromkeys(range(NAMES), 1)
    assert sum(1 for names in found.values() if names) > 1, (
        "one process won all: no race took place"
    )
    for number, names in found.items():
        assert {files.read(f"{files.root}/name-{name}")[:1] for name in names} <= {b"%d" % number}


def test_files_and_folders(files: ObjectFiles) -> None:
    root = files.root
    assert files.names(root) == files.folders(root) == files.entries(root) == []
    files.write(f"{root}/a/one", b"1")
    files.write(f"{root}/a/b=x%2Fy z/two", b"22")
    files.write(f"{root}/a/.hidden/three", b"")
    assert sorted(files.names(f"{root}/a")) == [".hidden", "b=x%2Fy z", "one"]
    assert files.folders(f"{root}/a") == ["b=x%2Fy z"]
    assert {(e.name, e.is_folder, e.size) for e in files.entries(f"{root}/a")} == {
        ("one", False, 1),
        ("b=x%2Fy z", True, 0),
        (".hidden", True, 0),
    }
    assert files.read(f"{root}/a/b=x%2Fy z/two") == b"22"
    assert files.exists(f"{root}/a/one")
    assert not files.exists(f"{root}/a")
    assert files.is_folder(f"{root}/a")
    assert not files.is_folder(f"{root}/a/on")
    files.remove(f"{root}/a/one")
    files.remove(f"{root}/a/one")
    with pytest.raises(FileNotFoundError):
        files.read(f"{root}/a/one")
    assert files.remove_folder(f"{root}/a")
    assert not files.remove_folder(f"{root}/a")
    assert files.names(root) == []


def test_published_once_and_replaced(files: ObjectFiles) -> None:
    path = f"{files.root}/name"
    assert files.publish(path, b"one")
    assert not files.publish(path, b"one")
    assert not files.publish(path, b"two")
    before = files.stamp(path)
    files.replace(path, b"three")
    assert files.stamp(path) != before
    assert files.read(path) == b"three"


class Deaf:
    """A client whose puts are carried out or not, and never answered."""

    def __init__(self, client: Any, arrives: bool) -> None:
        self.client, self.arrives = client, arrives

    def put(self, *args: Any, **more: Any) -> None:
        if self.arrives:
            self.client.put(*args, **more)
        raise GenericError("the connection was closed")

    def __getattr__(self, name: str) -> Any:
        return getattr(self.client, name)


def with_client(files: ObjectFiles, client: Any) -> ObjectFiles:
    files.__dict__["client"] = client
    return files


def test_a_put_without_an_answer_is_found_again(files: ObjectFiles) -> None:
    deaf = with_client(files_of_root(files), Deaf(files.client, arrives=True))
    assert deaf.publish(f"{files.root}/name", b"ours")
    assert files.read(f"{files.root}/name") == b"ours"


def test_a_put_that_never_arrives_is_not_known(
    files: ObjectFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(objects, "PAUSE", 0.001)
    deaf = with_client(files_of_root(files), Deaf(files.client, arrives=False))
    with pytest.raises(UnsettledError, match="it may still arrive"):
        deaf.publish(f"{files.root}/name", b"ours")


def files_of_root(files: ObjectFiles) -> ObjectFiles:
    return ObjectFiles(files.root, files.options)


def test_errors_name_the_place_and_no_credential(options: dict[str, str]) -> None:
    absent = files_of(options | {"warehouse": "s3://no-such-bucket-of-ours/w"})
    with pytest.raises(TableError, match="bucket no-such-bucket-of-ours does not exist at http"):
        absent.publish(f"{absent.root}/name", b"")
    secret = options["s3.secret-key"]
    nowhere = files_of(options | {"s3.endpoint": f"http://127.0.0.1:1/{secret}"})
    with pytest.raises(OSError, match=re.escape(f"reading {nowhere.root}/x failed")) as raised:
        nowhere.read(f"{nowhere.root}/x")
    assert secret not in str(raised.value)
    assert "s3.endpoint" in str(raised.value)
    assert secret not in repr(nowhere)


def test_hadoop_names_are_taken_where_paimons_are_silent() -> None:
    given = {
        "fs.s3a.endpoint": "http://there",
        "s3.endpoint": "http://here",
        "fs.s3a.access.key": "a",
        "fs.s3a.secret.key": "b",
        "s3.session.token": "",
    }
    assert settings.store_options("s3a://bucket/w", given) == {
        "endpoint": "http://here",
        "access_key_id": "a",
        "secret_access_key": "b",
    }
    assert settings.store_options("/w", given) == {}
