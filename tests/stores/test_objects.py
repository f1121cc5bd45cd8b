"""Files of a bucket: of many processes that publish one name exactly one wins; what is not known
stays; no text holds a credential.
"""

import os
import random
import re
import struct
import time
from collections import Counter
from collections.abc import Mapping
from typing import Any

import pytest

from keyfold.errors import TableError
from keyfold.files.indexes.file_indexes import BLOOM_KIND, BloomFilter, ColumnIndex
from keyfold.files.indexes.making import index_bytes
from keyfold.files.indexes.reading import stored_indexes
from keyfold.stores import objects, settings
from keyfold.stores.objects import ObjectFiles
from tests.concurrency.processes import CONTEXT
from tests.stores import kinds

PROCESSES = 5
NAMES = 12
# More than a store tells at once, which is 1,000. Azure's tells 5,000, and takes them one by one:
# KEYFOLD_TEST_NAMES=10000 is more than that.
MANY = {"s3": 2_600, "google": 2_600, "azure": 600}


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
        time.sleep(random.random() / 100)  # on a busy machine the last that came goes on alone
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


def test_all_files_are_listed_and_removed_together(
    files: ObjectFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(objects, "_PAGE", 2)
    root = f"{files.root}/below"
    names = ["one", "b=x%2Fy z/two", "b=x%2Fy z/bucket-0/three", ".hidden/four", "b=c/five"]
    for name in names:
        files.write(f"{root}/{name}", name.encode())
    files.write(f"{root}-beside/six", b"")
    found = {f"{folder}/{entry.name}": entry.size for folder, entry in files.all_below(root)}
    assert found == {f"{root}/{name}": len(name) for name in names}
    assert list(files.all_below(f"{files.root}/nothing")) == []
    files.remove_all([f"{root}/{name}" for name in (*names[:4], "missing", names[4])])
    assert list(files.all_below(root)) == []
    assert files.exists(f"{root}-beside/six")
    files.remove_all([])


@pytest.mark.parametrize("kind", kinds.KINDS)
def test_more_names_than_an_answer_holds(kind: str) -> None:
    """On a server of its own, which later tests need not look through."""
    each = int(os.environ.get("KEYFOLD_TEST_NAMES", MANY[kind])) // 2
    names = [f"{number:04}" for number in range(each)]
    folders = [f"p={name}" for name in names]
    with kinds.running(kind) as options:
        files = files_of(options)
        kinds.fill(files, [*names, *(f"{folder}/file" for folder in folders)])
        assert sorted(files.names(files.root)) == sorted([*names, *folders])
        assert sorted(files.folders(files.root)) == folders
        if kind == "s3":  # which removes a thousand at once
            assert files.remove_folder(files.root)
            assert files.names(files.root) == []


def test_an_index_that_ends_too_early_decides_nothing(files: ObjectFiles) -> None:
    """No bytes behind its end are asked for, which each store answers in another way."""
    body = struct.pack(">i", 3) + random.randbytes(200_000)
    whole = index_bytes({name: {BLOOM_KIND: body} for name in ("v", "k")})

    def found(size: int) -> Mapping[str, ColumnIndex]:
        files.write(f"{files.root}/cut-{size}.index", whole[:size])
        return stored_indexes(files, files.root, f"cut-{size}.index", ("k",))

    assert found(len(whole)) == {"k": ColumnIndex(BloomFilter(body[4:], 3))}
    assert [found(size) for size in (len(whole) - 1, 100_000, 1 << 16, 50, 0)] == [{}] * 5
    assert stored_indexes(files, files.root, "missing.index", ("k",)) == {}


def test_published_once_and_replaced(files: ObjectFiles) -> None:
    path = f"{files.root}/name"
    assert files.publish(path, b"one")
    assert not files.publish(path, b"one")
    assert not files.publish(path, b"two")
    before = files.stamp(path)
    files.replace(path, b"three")
    assert files.stamp(path) != before
    assert files.read(path) == b"three"


def test_only_what_was_there_is_exchanged(files: ObjectFiles) -> None:
    path = f"{files.root}/name"
    assert not files.exchange(path, b"one", b"two")
    files.write(path, b"one")
    assert not files.exchange(path, b"other", b"two")
    assert files.read(path) == b"one"
    assert files.exchange(path, b"one", b"two")
    assert files.read(path) == b"two"


def test_errors_name_the_place_and_no_credential(options: dict[str, str]) -> None:
    (bucket,) = (name for name in kinds.BUCKETS if name in options["warehouse"])
    elsewhere = options["warehouse"].replace(bucket, "no-such-bucket-of-ours", 1)
    absent = files_of(options | {"warehouse": elsewhere})
    for ask in (absent.is_folder, lambda path: absent.publish(f"{path}/name", b"")):
        with pytest.raises(TableError, match=r"bucket no-such-bucket-of-ours.* not exist at http"):
            ask(absent.root)
    for secret in kinds.SECRETS:
        nowhere = files_of(kinds.at(options, f"http://127.0.0.1:1/{secret}"))
        with pytest.raises(OSError, match=re.escape(f"reading {nowhere.root}/x failed")) as raised:
            nowhere.read(f"{nowhere.root}/x")
        assert kinds.endpoint_of(options) in str(raised.value)
        if secret in options.values():
            assert secret not in str(raised.value)
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


SESSION = settings.OF_SESSION
HOST = "acct.dfs.core.windows.net"
AZURE = f"abfss://lake@{HOST}/w"


@pytest.mark.parametrize(
    ("place", "given", "expected"),
    [
        ("gs://b/w", {"gcs.access-token": "t"}, {"token": "t"}),
        (
            "gs://b/w",
            {
                "fs.gs.auth.service.account.json.keyfile": "/key",
                "fs.gs.storage.root.url": "http://there/",
            },
            {"service_account": "/key", "endpoint": "http://there"},
        ),
        (
            "gs://b/w",
            {"google.cloud.auth.service.account.json.keyfile": "/key"},
            {"service_account": "/key"},
        ),
        (AZURE, {}, {"account_name": "acct"}),
        (
            AZURE,
            {"fs.azure.account.key": "any", f"fs.azure.account.key.{HOST}": "its"},
            {"account_name": "acct", "account_key": "its"},
        ),
        (
            AZURE,
            {"fs.azure.account.key.other.dfs.core.windows.net": "b"},
            {"account_name": "acct"},
        ),
        (
            "az://lake/w",
            {"fs.azure.account.key.acct.blob.core.windows.net": "k"},
            {"account_name": "acct", "account_key": "k"},
        ),
        (
            "az://lake/w",
            {"azure.account-name": "acct", "azure.sas-token": "s"},
            {"account_name": "acct", "sas_token": "s"},
        ),
        (
            AZURE,
            {"fs.azure.sas.lake.acct.blob.core.windows.net": "s"},
            {"account_name": "acct", "sas_token": "s"},
        ),
        (
            "abfss://lake@acct.blob.core.windows.net/w",
            {f"fs.azure.account.key.{HOST}": "k"},
            {"account_name": "acct", "account_key": "k"},
        ),
        (
            AZURE,
            {
                f"fs.azure.account.auth.type.{HOST}": "OAuth",
                f"fs.azure.account.key.{HOST}": "unused",
                f"fs.azure.account.oauth2.client.id.{HOST}": "id",
                "fs.azure.account.oauth2.client.secret": "hush",
                "fs.azure.account.oauth2.client.endpoint": "https://login/tenant/oauth2/token",
            },
            {
                "account_name": "acct",
                "client_id": "id",
                "client_secret": "hush",
                "authority_host": "https://login",
                "tenant_id": "tenant",
            },
        ),
        (
            AZURE,
            {f"{SESSION}fs.azure.account.key.{HOST}": "theirs", "azure.access-token": "ours\n"},
            {"account_name": "acct", "token": "ours"},
        ),
        (
            AZURE,
            {
                f"{SESSION}fs.azure.account.auth.type.{HOST}": "SharedKey",
                f"{SESSION}fs.azure.account.key.{HOST}": "theirs",
                "fs.azure.sas.fixed.token": "ours",
            },
            {"account_name": "acct", "sas_token": "ours"},
        ),
        (
            AZURE,
            {
                f"{SESSION}fs.azure.account.key.{HOST}": "theirs",
                f"{SESSION}fs.azure.account.oauth2.client.secret.{HOST}": "hush",
                "fs.azure.account.oauth2.client.id": "ours",
            },
            {"account_name": "acct", "client_id": "ours", "client_secret": "hush"},
        ),
        (
            AZURE,
            {f"{SESSION}fs.azure.account.key.{HOST}": "its", "fs.azure.account.key": "ours"},
            {"account_name": "acct", "account_key": "ours"},
        ),
        (
            AZURE,
            {f"{SESSION}fs.azure.account.key.{HOST}": "theirs", "azure.endpoint": "http://there"},
            {"account_name": "acct", "account_key": "theirs", "endpoint": "http://there"},
        ),
        (
            AZURE,
            {"fs.azure.account.auth.type": "SAS", "azure.account-key": "k", "azure.sas-token": "s"},
            {"account_name": "acct", "sas_token": "s"},
        ),
        (
            AZURE,
            {
                "fs.azure.account.auth.type": "OAuth",
                "azure.account-key": "k",
                "fs.azure.account.oauth2.client.id": "id",
            },
            {"account_name": "acct", "client_id": "id"},
        ),
        (
            "s3://b/w",
            {"s3.access-key": "a", "s3.secret-key": "b", f"{SESSION}fs.s3a.session.token": "t"},
            {"access_key_id": "a", "secret_access_key": "b"},
        ),
        (
            "gs://b/w",
            {
                f"{SESSION}fs.gs.auth.service.account.json.keyfile": "/theirs",
                "google.cloud.auth.service.account.json.keyfile": "/ours",
            },
            {"service_account": "/ours"},
        ),
        (
            "abfs://lake@acct.dfs.core.chinacloudapi.cn/w",
            {},
            {"account_name": "acct", "endpoint": "https://acct.blob.core.chinacloudapi.cn"},
        ),
    ],
)
def test_names_of_settings(
    place: str, given: dict[str, str], expected: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AZURE_STORAGE_ACCOUNT_NAME", raising=False)
    assert settings.store_options(place, given) == expected


@pytest.mark.parametrize("token", ["hush\ntoken", "hush-ä"])
@pytest.mark.parametrize("place", ["gs://b/w", AZURE])
def test_a_token_that_no_request_can_hold(place: str, token: str) -> None:
    name = {"g": "gcs.access-token", "a": "azure.access-token"}[place[0]]
    with pytest.raises(TableError, match=f"{name} holds a line break or a letter") as raised:
        settings.store_options(place, {name: token})
    assert "hush" not in str(raised.value)
