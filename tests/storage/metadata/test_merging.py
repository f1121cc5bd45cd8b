"""Manifests that commits write anew: sorted by partition, with all that they replace, and a bounded
number of entries in each commit.
"""

import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from keyfold.storage.commits import commit
from keyfold.storage.commits.attempts import CommitInfo, Entries, attempt
from keyfold.storage.metadata import manifests, merging
from keyfold.storage.metadata.entries import Record, added, identifier
from keyfold.storage.metadata.live_files import Asked
from keyfold.storage.table import Table
from tests.storage import crafted, damaged, tables
from tests.storage.metadata.test_manifests_left_out import COLUMNS

MOST, COMMITS, PARTITIONS = 24, 90, 40
FULL_MERGE = 8 * MOST


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Manifests of few entries."""
    monkeypatch.setattr(manifests, "MOST_ENTRIES", MOST)
    monkeypatch.setattr(merging, "LEAST_DELETES", 10**6)


def new_table(folder: Path) -> Table:
    options = {"manifest__merge_min_count": "4", "bucket": "3"}
    columns = (*COLUMNS, tables.column("k"))
    return tables.table(folder, tables.new_table(*columns, key="p,q,k", by="p,q", **options))


def records_of(table: Table, listed: Record) -> list[Record]:
    """The entries of a manifest, as Avro's library reads them."""
    path = Path(table.manifests.path(listed["_FILE_NAME"]))
    assert path.stat().st_size == listed["_FILE_SIZE"]
    return crafted.decoded(path.read_bytes())[1]


def check_listed(table: Table, listed: Record, entries: Sequence[Record]) -> None:
    """What a list says of a manifest is what its entries say."""
    kinds = Counter(one["_KIND"] for one in entries)
    assert (listed["_NUM_ADDED_FILES"], listed["_NUM_DELETED_FILES"]) == (kinds[0], kinds[1])
    for name, of in (("_BUCKET", lambda e: e), ("_LEVEL", lambda e: e["_FILE"])):
        numbers = [of(one)[name] for one in entries]
        found = listed[f"_MIN{name}"], listed[f"_MAX{name}"]
        assert found == (min(numbers), max(numbers))
    totals = {one["_TOTAL_BUCKETS"] for one in entries}
    assert listed["_TOTAL_BUCKETS"] == (totals.pop() if len(totals) == 1 else None)
    assert listed["_SCHEMA_ID"] == max(one["_FILE"]["_SCHEMA_ID"] for one in entries)
    rows = [table.manifests.partition(one) for one in entries]
    stats = listed["_PARTITION_STATS"]
    sides = (("_MIN_VALUES", min), ("_MAX_VALUES", max))
    for side, pick in sides:
        known = [[row[i] for row in rows if row[i] is not None] for i in (0, 1)]
        expected = tuple(pick(column, default=None) for column in known)
        assert table.shapes.partition.decode(stats[side]) == expected
    distinct = set(rows)
    assert stats["_NULL_COUNTS"] == [sum(row[i] is None for row in distinct) for i in (0, 1)]


def test_random_commits(small: None, tmp_path: Path, seed: int) -> None:
    table, draw = new_table(tmp_path), random.Random(seed)
    live: dict[Any, Record] = {}
    known: dict[str, list[Record]] = {}
    most = 0
    for _ in range(COMMITS):
        gone = draw.sample(sorted(live, key=str), min(len(live), draw.randrange(3)))
        ours: list[Record] = []
        for _ in range(draw.randint(3, 9)):
            partition = draw.randrange(PARTITIONS) if draw.random() < 0.9 else None, "a"
            one = tables.message(table, partition=partition, bucket=draw.randrange(3), total=3)
            ours += added(table.shapes, [one])
        deleted = [{**live.pop(key), "_KIND": 1} for key in gone]
        live |= {identifier(record): record for record in ours}
        with table.held() as location:
            by, base = CommitInfo(f"{draw.random()}", commit.APPEND), table.snapshots.latest()
            assert attempt(table, by, base, Entries([*deleted, *ours]), location) is not None
        newest = table.snapshots.latest()
        assert newest is not None
        damaged.forget()
        listed = table.manifests.listed(newest)
        fresh = [one for one in listed if one["_FILE_NAME"] not in known]
        for one in fresh:
            known[one["_FILE_NAME"]] = records_of(table, one)
            check_listed(table, one, known[one["_FILE_NAME"]])
        most = max(most, sum(len(known[one["_FILE_NAME"]]) for one in fresh[:-1]))
        found = table.manifests.live(newest)
        names = {identifier(file.record): file.name for file in found}
        assert names == {key: one["_FILE"]["_FILE_NAME"] for key, one in live.items()}
        assert len(names) == len(found)
    check_clustered(table, listed)
    assert FULL_MERGE * 3 // 4 < most <= FULL_MERGE + 4 * MOST < len(live)


def check_clustered(table: Table, listed: Sequence[Record]) -> None:
    """A partition is in few of the manifests."""
    for p in range(PARTITIONS):
        some = table.manifests.that_may_hold(listed, lambda found, p=p: found.may_hold([(p, "a")]))
        assert len(some) < 0.75 * len(listed), (p, len(some), len(listed))
    whole, _ = merging.merge(table.manifests, listed, table.options, 0, whole_table=True)
    firsts = [table.manifests.decoded(one).partitions for one in whole]
    ordered = [partition for of_one in firsts for partition in of_one]
    assert ordered == sorted(ordered, key=lambda row: (row[0] is not None, row[0] or 0))


def test_deletes_are_worked_off_where_they_are(tmp_path: Path, seed: int) -> None:
    """Other manifests stay as they are, and are not read."""
    draw, options = random.Random(seed), {"manifest__merge_min_count": "90", "bucket": "3"}
    options["manifest__full_compaction_threshold_size"] = "1 b"
    new = tables.new_table(tables.column("p"), tables.column("k"), key="p,k", by="p", **options)
    table = tables.table(tmp_path, new)
    for p in (1, 2, 3, None):
        ours = [tables.message(table, partition=(p,), bucket=b, total=3) for b in (0, 1, 2)]
        assert commit.append(table, tables.spec(table), ours)
    table, expected = tables.reload(table), list[set[str]]()
    before = table.manifests.listed(table.snapshots.read(4))
    p, bucket = draw.choice([1, 2, 3]), draw.randrange(3)
    gone = [f for f in table.live_files() if (f.partition, f.bucket) == ((p,), bucket)]
    expected.append({f.name for f in table.live_files()} - {f.name for f in gone})
    _attempt(table, [file.deleted() for file in gone])
    one = tables.message(table, partition=(4,), bucket=0, total=3)
    assert commit.append(table, tables.spec(table), [one])
    table = tables.reload(table)
    assert {f.name for f in table.live_files()} == expected[0] | {one.files[0].name}
    listed = table.manifests.listed(table.snapshots.read(6))
    assert not any(found["_NUM_DELETED_FILES"] for found in listed)
    names = {found["_FILE_NAME"] for found in listed}
    stays = [found for found in before if found["_FILE_NAME"] in names]
    assert stays == [found for n, found in enumerate(before, 1) if n != p and n != 4]


def _attempt(table: Table, records: Sequence[Record]) -> None:
    with table.held() as location:
        by, base = CommitInfo(f"{records}", commit.APPEND), table.snapshots.latest()
        assert attempt(table, by, base, Entries(records), location) is not None


def test_without_partitions_a_bucket_is_in_few(small: None, tmp_path: Path, seed: int) -> None:
    buckets, draw = 40, random.Random(seed)
    new = tables.new_table(bucket=f"{buckets}", manifest__merge_min_count="4")
    table = tables.table(tmp_path, new)
    for _ in range(COMMITS):
        some = draw.choices(range(buckets), k=6)
        ours = [tables.message(table, bucket=one, total=buckets) for one in some]
        assert commit.append(table, tables.spec(table), ours)
    newest = table.snapshots.latest()
    assert newest is not None
    listed = table.manifests.listed(newest)
    for bucket in range(buckets):
        found = Asked(takes_bucket=lambda one, _, bucket=bucket: one == bucket).among(listed)
        assert 0 < len(found) < 0.6 * len(listed), (bucket, len(found), len(listed))


def test_entries_of_others_are_encoded_again(small: None, tmp_path: Path) -> None:
    """With all that their writer stored, as far as our schema has it."""
    table = new_table(tmp_path)
    one = tables.message(table, partition=(1, "a"), total=3, files=3)
    commit.append(table, tables.spec(table), [one])
    found = crafted.Metadata(tables.reload(table))

    def other(schema: Any) -> None:
        schema["fields"].append({"name": "_NEW", "type": "long", "default": 7})

    snapshot = table.snapshots.latest()
    assert snapshot is not None
    (listed,) = table.manifests.listed(snapshot)
    path = Path(table.manifests.path(listed["_FILE_NAME"]))
    schema, records = crafted.decoded(path.read_bytes())
    other(schema)
    path.write_bytes(crafted.encoded(schema, [{**record, "_NEW": 9} for record in records]))
    listed["_FILE_SIZE"] = path.stat().st_size
    assert found.path.exists()
    damaged.forget()
    (made,), _ = merging.merge(table.manifests, [listed], table.options, 0, whole_table=True)
    assert records_of(table, made) == records
