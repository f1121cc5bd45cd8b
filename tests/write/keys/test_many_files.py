"""Writes that look keys up in a table of many files: tasks read the manifests of their keys'
partitions, and nobody reads others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import keyfold
from keyfold import Table
from keyfold.lookup import of_keys, of_table
from keyfold.storage.metadata import manifests
from tests.storage import damaged

COLUMNS = {"p": "INT", "k": "INT", "id": "BIGINT", "v": "INT"}
IDS = {"auto-increment.fields": "id"}
INPUT = {"changelog-producer": "input"}
PARTITIONS = 3
Row = dict[str, Any]


def table(folder: Path, **options: str) -> Table:
    """A commit for each partition, of some buckets."""
    given = {"bucket": "2", "write-only": "true", **options}
    own = keyfold.connect(folder, threads=1).create_table(
        "t", COLUMNS, ["p", "k"], partitions=["p"], options=given
    )
    for p in range(PARTITIONS):
        own.upsert([{"p": p, "k": k, "v": k} for k in range(6)])
    return own


@contextmanager
def cut_short(own: Table) -> Iterator[None]:
    """Within its block, the manifests of all partitions but the last are empty."""
    stored = own._load()
    assert stored.snapshot_id is not None
    listed = stored.manifests.listed(stored.snapshots.read(stored.snapshot_id))
    paths = [Path(stored.manifests.path(one["_FILE_NAME"])) for one in listed[:-1]]
    assert len(paths) == PARTITIONS - 1
    whole = [path.read_bytes() for path in paths]
    for path in paths:
        path.write_bytes(b"")
    damaged.forget()
    yield
    for path, data in zip(paths, whole, strict=True):
        path.write_bytes(data)


def numbered(own: Table) -> None:
    """Stored keys keep their numbers."""
    own.upsert([{"p": 2, "k": k, "v": -k} for k in (1, 7)])


def inserted(own: Table) -> None:
    """Only new keys are written."""
    own.get_or_insert_many([{"p": 2, "k": k} for k in (1, 7)])


def updated(own: Table) -> None:
    """The changelog tells the rows before."""
    own.update("p = 2 AND k = 1", {"v": -1})


@pytest.mark.parametrize(
    ("options", "write"),
    [(IDS, numbered), ({}, inserted), (INPUT, updated)],
    ids=["ids", "new keys", "rows before"],
)
def test_only_manifests_of_the_keys(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    options: dict[str, str],
    write: Callable[[Table], None],
) -> None:
    for module in (of_keys, of_table):
        monkeypatch.setattr(module, "MANY_FILES", 0)
    own = table(tmp_path, **options)
    before = {row["k"]: row for row in own.scan(where="p = 2").to_pylist()}
    with cut_short(own):
        write(own)
        after = {row["k"]: row for row in own.scan(where="p = 2").to_pylist()}
    assert after[1] == {**before[1], "v": 1 if write is inserted else -1}
    assert {k: row for k, row in after.items() if k not in (1, 7)} == {
        k: row for k, row in before.items() if k != 1
    }
    if write is numbered:
        assert after[7]["id"] not in {0, None, *(row["id"] for row in before.values())}
    if write is updated:
        told = own.changes(view="audit_log").to_arrow().to_pylist()
        changed = [(row["rowkind"], row["v"]) for row in told if row["rowkind"] != "+I"]
        assert changed == [("-U", 1), ("+U", -1)]
    assert manifests.CACHE._most == manifests.KEPT_BYTES  # only workers keep less
