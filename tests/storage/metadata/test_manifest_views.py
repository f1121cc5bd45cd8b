"""The contents of manifests are kept compressed, and a few of them decompressed for a while."""

import gc
import io
import sys
import weakref
from pathlib import Path

import fastavro
import pytest

from keyfold.resources.cache import Cache
from keyfold.storage.commits import commit
from keyfold.storage.metadata import manifest_columns
from keyfold.storage.metadata.manifest_columns import VIEWS, ManifestColumns
from keyfold.storage.metadata.manifest_decoding import columns_of
from tests.storage import tables

FILES, COUNT = 300, 4


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[ManifestColumns]:
    """Manifests, of which one is decompressed at a time."""
    monkeypatch.setattr(manifest_columns, "VIEWS", Cache[memoryview](1, len))
    table = tables.table(tmp_path, tables.new_table(bucket=f"{FILES}"))
    for _ in range(COUNT):
        ours = [tables.message(table, bucket=one, total=FILES) for one in range(FILES)]
        assert commit.append(table, tables.spec(table), ours)
    newest = table.snapshots.latest()
    assert newest is not None
    return [table.manifests.decoded(one) for one in table.manifests.listed(newest)]


def is_open(one: ManifestColumns) -> bool:
    known = one.__dict__.get("_view")
    return known is not None and known() is not None


def test_they_are_opened_as_they_are_asked_for(made: list[ManifestColumns]) -> None:
    before = [[one.name(row) for row in range(FILES)] for one in made]
    for place in (0, 3, 1, 1, 2, 0):
        one = made[place]
        assert [one.name(row) for row in range(FILES)] == before[place]
        assert list(one.names_at(one.names[:, 0].argsort())) == before[place]
        assert [one.record(row)["_FILE"]["_FILE_NAME"] for row in (0, 7)] == before[place][:8:7]
        assert one.ends_in([".parquet"]).all()
        gc.collect()
        assert [is_open(other) for other in made] == [other is one for other in made]
    assert len({name for names in before for name in names}) == COUNT * FILES


def test_what_is_kept_is_less_than_their_contents(made: list[ManifestColumns]) -> None:
    for one in made:
        assert len(one.data) < one.content.size / 2
        assert one.memory < one.content.size


def test_partitions_count_among_what_is_kept(tmp_path: Path) -> None:
    columns = map(tables.column, ("p", "k", "v"))
    table = tables.table(tmp_path, tables.new_table(*columns, key="p,k", by="p"))
    ours = [tables.message(table, partition=(1000 + number,)) for number in range(FILES)]
    assert commit.append(table, tables.spec(table), ours)
    newest = table.snapshots.latest()
    assert newest is not None
    (one,) = [table.manifests.decoded(found) for found in table.manifests.listed(newest)]
    assert len(one.added) == len(one.partitions) == FILES
    values = sum(sys.getsizeof(of) + sys.getsizeof(of[0]) for of in one.partitions)
    raw = sum(map(sys.getsizeof, one.raw_partitions))
    assert one.memory > values + raw + len(one.data) + len(one.text)
    assert "added" not in vars(one)  # a list of all entries would be kept and not counted


def test_a_view_outlives_its_place(made: list[ManifestColumns]) -> None:
    view = made[0].view
    size, others = len(view), [one.view for one in made[1:]]
    assert len({id(one) for one in others}) == COUNT - 1
    assert bytes(view) == bytes(made[0].view)
    assert len(view) == size


def test_small_manifests_are_not_kept_for_their_views(
    made: list[ManifestColumns], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A view is little beside the columns that stay with it."""
    own = Cache[memoryview](1 << 20, VIEWS._weight)
    monkeypatch.setattr(manifest_columns, "VIEWS", own)
    one, buffer = made[0], io.BytesIO()
    fastavro.writer(buffer, one.schema, [one.record(0)])
    found = [
        weakref.ref(columns_of(f"small-{number}", buffer.getvalue(), one.shapes))
        for number in range(300)
    ]
    gc.collect()
    left = [kept.memory for of in found if (kept := of()) is not None]
    assert len(left) > 50
    assert sum(left) < 2 << 20
