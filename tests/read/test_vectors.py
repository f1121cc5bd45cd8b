"""Rows that deletion vectors mark are in no answer; files whose rows are marked are not merged."""

from __future__ import annotations

import base64
import json
import os
import random
import time
from pathlib import Path
from typing import Any

import pytest

import keyfold
from keyfold.errors import CorruptDataError, NotSupportedError, TableError
from keyfold.questions.partitions import partitions
from keyfold.questions.scan import plan_scan
from keyfold.read.folds.summary import summarized
from keyfold.read.reader import read
from keyfold.read.request import ReadRequest
from keyfold.read.scan_plan import plan_read
from keyfold.storage.maintenance.orphans import remove_orphans
from keyfold.wire.specs import Aggregate, DataFile, Split
from tests.read import harness
from tests.read.harness import where
from tests.read.marked_tables import LEVELS, Marked, drawn
from tests.storage import damaged, marked, tables

Row = dict[str, Any]


def in_order(rows: list[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: int(row["k"]))


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("number", range(3))
def test_scans_and_look_ups_leave_marked_rows_out(
    tmp_path: Path, bits: int, number: int, seed: int
) -> None:
    found = drawn(tmp_path, seed + number, most=4000, bits=bits)
    rows, source = found.expected, random.Random(seed + number)
    assert in_order(harness.rows(found.table)) == rows
    assert in_order(harness.rows(found.table, ["k"])) == [{"k": row["k"]} for row in rows]
    cut = {"source__split__target_size": "2 kb", "source__split__open_file_cost": "1 b"}
    scan, splits, _ = harness.planned(found.table, **cut)
    assert any(split.after is not None for split in splits), "no file was cut"
    assert in_order(harness.rows_of(scan, splits)) == rows
    low, high = sorted(source.sample(range(3000), 2))
    limits = where(">=", "k", low, type="int"), where("<", "k", high, type="int")
    kept = in_order(harness.rows(found.table, filters=limits))  # Spark checks filters again
    assert [row for row in kept if low <= row["k"] < high] == [
        row for row in rows if low <= row["k"] < high
    ]
    assert all(row == found.rows.get(row["k"]) for row in kept)
    table = keyfold.connect(str(tmp_path)).table("t")
    asked = source.sample(range(3000), 40)
    assert [table.get({"k": k}) for k in asked] == [found.rows.get(k) for k in asked]
    many = table.get_many([{"k": k} for k in asked]).to_pylist()
    assert [row for row in many if row["k"] is not None] == [
        found.rows[k] for k in asked if k in found.rows
    ]
    assert in_order(table.scan(where=f"v >= {9000 - low}").to_pylist()) == [
        row for row in rows if row["v"] >= 9000 - low
    ]
    assert len(table.scan(limit=7).to_pylist()) == min(7, len(rows))


@pytest.mark.parametrize("number", range(2))
def test_counts_and_extremes(tmp_path: Path, number: int, seed: int) -> None:
    """Footers have the rows that are marked too."""
    found = drawn(tmp_path, seed + number, jobs=3, most=400)
    for key in (min(found.rows), max(found.rows)):
        found.delete(key)
    found.publish()
    rows = found.expected
    table = keyfold.connect(str(tmp_path)).table("t")
    assert table.scan().count() == len(rows)
    aggregate = Aggregate((), (("COUNT", None), ("MIN", "k"), ("MAX", "k"), ("MAX", "v")))
    scan, tasks, _ = harness.planned_tasks(found.table, ["k", "v"], aggregate=aggregate)
    summed = [
        list(row.values())
        for task in tasks
        for batch in summarized(scan, task)
        for row in batch.to_pylist()
    ]
    parts = [[one[at] for one in summed if one[at] is not None] for at in range(4)]
    assert [sum(parts[0]), min(parts[1]), max(parts[2]), max(parts[3])] == [
        len(rows),
        rows[0]["k"],
        rows[-1]["k"],
        max(row["v"] for row in rows),
    ]


def test_files_are_pruned_by_values_and_not_merged(tmp_path: Path) -> None:
    found = Marked(tmp_path, bucket="1")
    for number in range(3):
        rows = [{"k": k, "v": number * 1000 + k, "t": ""} for k in range(number, 900, number + 1)]
        found.add(rows, LEVELS - number)
    found.publish()
    _, splits, report = harness.planned(found.table, filters=[where(">=", "v", 2000)])
    assert (report.files_total, report.files_read) == (3, 1)
    _, splits, _ = harness.planned(found.table)
    assert [len(section) for split in splits for section in split.sections] == [1, 1, 1]
    newest = [row for row in found.expected if row["v"] >= 2000]
    assert in_order(harness.rows(found.table, filters=[where(">=", "v", 2000)])) == newest


def test_level_0_is_merged_where_that_is_asked_for(tmp_path: Path, seed: int) -> None:
    """As in Paimon: rows that no compaction has seen are left out, unless an option says not."""
    found = drawn(tmp_path, seed, jobs=2, most=300, bucket="1")
    compacted = found.expected
    newest = [{"k": k, "v": -k, "t": "new"} for k in range(0, 600, 5)]
    found.add(newest, 0)
    found.publish()
    merged = in_order(list((found.rows | {row["k"]: row for row in newest}).values()))
    table = keyfold.connect(str(tmp_path)).table("t")
    assert in_order(harness.rows(found.table)) == compacted
    assert table.get({"k": 595}) is None
    option = {"deletion_vectors__merge_on_read": "true"}
    assert in_order(harness.rows(found.table, **option)) == merged
    marked.enable(found.table, **{"deletion-vectors.merge-on-read": "true"})
    assert in_order(harness.rows(found.table)) == merged
    table = keyfold.connect(str(tmp_path)).table("t")
    assert table.get({"k": 595}) == newest[-1]
    assert table.scan().count() == len(merged)


def test_scans_of_statements_that_change_rows_see_level_0(tmp_path: Path, seed: int) -> None:
    found = drawn(tmp_path, seed, jobs=2, most=300, bucket="1")
    found.add([{"k": 3, "v": 1, "t": ""}], 0)
    found.publish()
    asked = {"table": tables.reload(found.table).handle, "catalog": {"options": {}}}
    asked |= {"columns": ["k", "v"], "filters": []}
    plain, change = (plan_scan(asked | {"is_of_change": flag}) for flag in (False, True))
    assert change["metrics"]["files"] == plain["metrics"]["files"] + 1


def test_the_first_rows_are_those_of_the_least_keys(tmp_path: Path, seed: int) -> None:
    found = drawn(tmp_path, seed, most=500, bucket="1")
    request = ReadRequest(("k", "v", "t"), limit=5, is_top=True)
    scan, tasks, _ = plan_read(tables.reload(found.table), request)
    rows = [row for task in tasks for one in task for b in read(scan, one) for row in b.to_pylist()]
    assert in_order(rows)[:5] == found.expected[:5]


def test_the_option_may_be_off_again(tmp_path: Path, seed: int) -> None:
    """Rows stay deleted. A compaction would have to keep the marks, and is refused."""
    found = drawn(tmp_path, seed, jobs=2, most=300)
    marked.enable(found.table, "false")
    assert in_order(harness.rows(found.table)) == found.expected
    with pytest.raises(NotSupportedError, match=r"though its option .* is false"):
        tables.reload(found.table).check_rewritable()
    table = keyfold.connect(str(tmp_path)).table("t")
    table.overwrite(table.scan().to_arrow())  # no file that has marks is left
    tables.reload(found.table).check_rewritable()


def test_a_connection_that_keeps_row_groups_sees_new_marks(tmp_path: Path) -> None:
    found = Marked(tmp_path, bucket="1")
    found.add([{"k": k, "v": k, "t": ""} for k in range(50)], LEVELS)
    found.delete(3)
    found.publish()
    table = keyfold.connect(str(tmp_path)).table("t")
    assert (table.get({"k": 7}), table.get({"k": 3})) == ({"k": 7, "v": 7, "t": ""}, None)
    found.add([{"k": 60, "v": 60, "t": ""}], LEVELS - 1)
    found.delete(7)
    found.publish()
    assert (table.get({"k": 7}), table.get({"k": 60})) == (None, {"k": 60, "v": 60, "t": ""})
    assert [row["k"] for row in table.get_many([{"k": 7}, {"k": 8}]).to_pylist()] == [None, 8]


def test_changes_between_tags_know_marks(tmp_path: Path) -> None:
    """A key that was deleted may be in no new file, only marked in an old one."""
    found = Marked(tmp_path, bucket="1")
    found.add([{"k": k, "v": k, "t": ""} for k in range(50)], LEVELS)
    found.publish()
    found.add([{"k": k, "v": -k, "t": ""} for k in range(10, 12)], LEVELS - 1)
    found.add([{"k": 60, "v": 60, "t": ""}], LEVELS - 2)
    found.delete(7)
    found.publish()
    Path(found.table.snapshots.path(2)).unlink()
    rows = keyfold.connect(str(tmp_path)).table("t").changes(after=1, net=True).to_pylist()
    assert sorted((row["k"], row["v"], row["_change_type"]) for row in rows) == [
        (7, 7, "delete"),
        (10, -10, "update_postimage"),
        (10, 10, "update_preimage"),
        (11, -11, "update_postimage"),
        (11, 11, "update_preimage"),
        (60, 60, "insert"),
    ]


def test_what_is_used_stays(tmp_path: Path, seed: int) -> None:
    """Orphans are removed, and index files that a snapshot names are none."""
    found = drawn(tmp_path, seed, jobs=2, most=300)
    stray = (
        Path(found.table.layout.location) / "index" / "index-00000000-0000-0000-0000-000000000000-0"
    )
    stray.write_bytes(b"\x01")
    for path in Path(found.table.layout.location).rglob("*"):
        os.utime(path, (time.time() - 200_000,) * 2)
    orphans = remove_orphans(tables.reload(found.table), None, dry_run=False)
    assert [Path(one.path) for one in orphans] == [stray]
    damaged.forget()
    assert in_order(harness.rows(found.table)) == found.expected


def test_files_travel_with_their_vectors(tmp_path: Path, seed: int) -> None:
    found = drawn(tmp_path, seed, jobs=2, most=300, bucket="1")
    found.add([{"k": 1000, "v": 0, "t": ""}], LEVELS - 2)
    found.publish()
    _, splits, _ = harness.planned(found.table)
    files = [file for split in splits for file in split.files]
    assert {len(file.to_json()) for file in files} == {8, 9}
    for file in files:
        sent = DataFile.from_json(file.to_json())
        assert (sent.name, sent.vector) == (file.name, file.vector)
    assert [Split.from_json(split.to_json()).files for split in splits]


def test_a_partition_without_rows_is_none(tmp_path: Path) -> None:
    table = keyfold.connect(str(tmp_path)).create_table(
        "t", {"p": "STRING", "k": "INT"}, ["p", "k"], ["p"], {"bucket": "1", "write-only": "true"}
    )
    table.upsert([{"p": "a", "k": 1}, {"p": "b", "k": 1}, {"p": "b", "k": 2}])
    table.compact("full")
    table.upsert([{"p": "c", "k": 1}])  # no compaction has seen it
    inner = table._load()
    files = {file.partition[0]: file for file in inner.live_files()}
    marked.enable(inner)
    marked.mark(tables.reload(inner), list(files.values()), {files["b"].name: {0, 1}})
    found = keyfold.connect(str(tmp_path)).table("t")
    assert [row["p"] for row in found.scan().to_pylist()] == ["a"]
    assert partitions(found._load(), lambda _: True).column("p").to_pylist() == ["a"]


def test_an_option_that_is_no_truth_value_is_named(tmp_path: Path, seed: int) -> None:
    found = drawn(tmp_path, seed, jobs=1, most=30)
    marked.enable(found.table, "yes")
    with pytest.raises(TableError, match=r"option deletion-vectors\.enabled of table .*yes"):
        keyfold.connect(str(tmp_path)).table("t").scan().to_arrow()


def test_partitions_count_deleted_rows(tmp_path: Path, seed: int) -> None:
    found = drawn(tmp_path, seed, jobs=2, most=300)
    shown = keyfold.connect(str(tmp_path)).table("t").metadata("partitions").to_pylist()
    assert sum(row["deleted_record_count"] for row in shown) == sum(map(len, found.marks.values()))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda data: b"\x02" + data[1:], "expected version 1, found 2"),
        (lambda data: data[:-5] + bytes([data[-5] ^ 1]) + data[-4:], "its checksum differs"),
        (lambda data: data[:5] + b"\x00" + data[6:], "expected magic number"),
        (lambda data: data[:4] + bytes([data[4] ^ 1]) + data[5:], "bytes, found"),
        (lambda data: data[:-3], "it is cut short"),
        (lambda data: b"", "it is cut short|expected version"),
    ],
)
def test_damaged_index_files_are_named(tmp_path: Path, change: Any, words: str, seed: int) -> None:
    found = drawn(tmp_path, seed, jobs=2, most=300, bucket="1")
    (path,) = found.publish()
    path.write_bytes(change(path.read_bytes()))
    damaged.forget()
    with pytest.raises(CorruptDataError, match=rf"{path.name}, which marks .*({words})"):
        harness.rows(found.table)


@pytest.mark.parametrize("count", [100_000, 1])
def test_marks_beyond_the_file_are_named(tmp_path: Path, seed: int, count: int) -> None:
    """A bitmap of few bytes may hold 2^32 numbers; or the one just behind the last row."""
    found = drawn(tmp_path, seed, jobs=1, most=300, bucket="1")
    file = found.files[0]
    last = max(count - 1, file.rows)
    found.marks[file.name] = set(range(last + 1 - count, last + 1))
    found.publish()
    with pytest.raises(CorruptDataError, match=rf"it marks row {last} of {file.rows}"):
        harness.rows(found.table)


def _another(**fields: Any) -> Any:
    def change(entry: Row) -> None:
        entry["_DELETIONS_VECTORS_RANGES"][0].update(fields)

    return change


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"_CARDINALITY": 3}, "expected 3 positions, found"),
        ({"f1": 0}, "is not in its"),
        ({"f1": -5}, "is not in its"),
        ({"f2": 1 << 30}, "bytes, found"),
        ({"f2": 9}, "bytes, found"),
        ({"f1": 1 << 30}, "is not in its"),
        ({"f0": "../x"}, "expected a name in the table's own folder"),
    ],
)
def test_hostile_entries_are_named(tmp_path: Path, fields: Row, words: str, seed: int) -> None:
    found = drawn(tmp_path, seed, jobs=2, most=300, bucket="1")
    found.publish(change=_another(**fields))
    with pytest.raises(CorruptDataError, match=words):
        harness.rows(found.table)


def test_index_files_elsewhere_are_refused(tmp_path: Path, seed: int) -> None:
    found = drawn(tmp_path, seed, jobs=2, most=300, bucket="1")
    found.publish(change=lambda entry: entry.update(_EXTERNAL_PATH="s3://else/where"))
    with pytest.raises(NotSupportedError, match=r"lies outside the table \(s3://else/where\)"):
        harness.rows(found.table)


@pytest.mark.parametrize("bits", ["32", "64"])
def test_the_bytes_that_java_writes(tmp_path: Path, bits: str) -> None:
    """Made by Paimon 1.4.2, of a file of the keys 0 to 4999."""
    path = Path(__file__).parent.parent / "vectors" / "deletion_vectors.json"
    told = json.loads(path.read_text())[bits]
    found = Marked(tmp_path, bucket="1")
    found.add([{"k": k, "v": k, "t": ""} for k in range(told["file_rows"])], LEVELS)
    data = base64.b64decode(told["file"])
    (file,) = found.files
    part = {"f0": file.name, "f1": told["offset"], "f2": told["length"]}
    ranges = [{**part, "_CARDINALITY": told["rows"]}]
    (path,) = found.publish(
        change=lambda entry: entry.update(_DELETIONS_VECTORS_RANGES=ranges, _FILE_SIZE=len(data))
    )
    path.write_bytes(data)
    damaged.forget()
    gone = set(told["deleted"])
    assert [row["k"] for row in harness.rows(found.table)] == [
        k for k in range(told["file_rows"]) if k not in gone
    ]
