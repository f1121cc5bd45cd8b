"""What is left out before rows are compared, in which tasks changes come, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from keyfold.changelog import snapshot_ranges as ranges
from keyfold.changelog.changes_plan import plan_changes
from keyfold.changelog.snapshot_ranges import SnapshotRange
from keyfold.changelog.specs import ChangesRequest
from keyfold.changelog.views import AUDIT_LOG, BINLOG, CHANGE, CHANGES, ROWS, VERSION
from keyfold.errors import CorruptDataError, NotSupportedError, SnapshotExpiredError, TableError
from keyfold.read.request import ReadRequest
from keyfold.storage.maintenance import tagging
from keyfold.storage.table import Table
from tests.changelog.ranges_of_changes import changes, read
from tests.read import harness
from tests.read.harness import where
from tests.storage import damaged, tables
from tests.storage.snapshots import expired

ROWS_OF_BASE = 3000
UPDATED = range(0, ROWS_OF_BASE, 100)


@pytest.fixture
def table(tmp_path: Path) -> Table:
    """A large first snapshot, and a second one that changes every hundredth row."""
    columns = (tables.column("d", "string", False), tables.column("k"), tables.column("v"))
    new = tables.new_table(*columns, key="d,k", by="d", write_only="true")
    found = tables.table(tmp_path, new)
    harness.upsert(found, ({"d": "ab"[k % 2], "k": k, "v": k} for k in range(ROWS_OF_BASE)))
    harness.upsert(found, ({"d": "a", "k": k, "v": -k} for k in UPDATED))
    return tables.reload(found)


LAST = ChangesRequest(CHANGES.name, 1, 2)


def files_of(table: Table, *filters: Any) -> int:
    return plan_changes(table, LAST, ReadRequest(["k"], filters))[2].files


def test_conditions_leave_out_partitions_buckets_and_commits(table: Table) -> None:
    assert files_of(table) == 4  # two buckets of partition a, two commits
    assert files_of(table, where("=", "d", "b", type="string")) == 0
    assert files_of(table, where("=", "k", 100), where("=", "d", "a", type="string")) == 2
    assert files_of(table, where(">", VERSION, 2)) == 0
    assert files_of(table, where("=", VERSION, 2)) == 4
    only = [where("=", "k", 100), where("=", "d", "a", type="string")]
    found = read(table, LAST, ["v", CHANGE], only)
    assert found == [{"v": 100, CHANGE: "delete"}, {"v": -100, CHANGE: "insert"}]
    below = read(table, LAST, ["v"], [where("<", "v", -2000)])
    assert sorted(row["v"] for row in below) == list(range(-2900, -2000, 100))
    assert len(read(table, LAST, ["v"], limit=3)) == 3
    assert read(table, LAST, [])  # no column: rows are only counted


def test_manifests_of_other_places_are_not_read(tmp_path: Path) -> None:
    """Of other partitions, and of other buckets where each partition has as many."""
    columns = tables.column("d"), tables.column("k"), tables.column("v")
    by = tables.new_table(*columns, key="d,k", by="d", bucket="1", write_only="true")
    table = tables.table(tmp_path / "partitions", by)
    for d, v in ((1, 1), (2, 2), (2, 3)):
        harness.upsert(table, [{"d": d, "k": 0, "v": v}])
    _unlinked(table, 1)
    found = changes(table, 1, 3)
    updated = ("update_postimage", "update_preimage")
    assert [word for _, word, _ in found] == ["insert", *updated]
    table = tables.table(tmp_path / "buckets", tables.new_table(bucket="2", write_only="true"))
    for k in range(20):
        harness.upsert(table, [{"k": k, "v": k}])
    places = [file.bucket for file in tables.reload(table).live_files()]
    near = [k for k, bucket in enumerate(places) if bucket == places[19]]
    far = [k for k, bucket in enumerate(places) if bucket != places[19]]
    few, many = (near, far) if len(near) <= len(far) else (far, near)
    harness.upsert(table, [{"k": few[0], "v": -1}])
    _unlinked(table, *(k + 1 for k in many))
    assert [(word, row) for _, word, row in changes(table, 20, 21)] == [
        (updated[0], repr({"k": few[0], "v": -1})),
        (updated[1], repr({"k": few[0], "v": few[0]})),
    ]


def _unlinked(table: Table, *snapshots: int) -> None:
    """The manifests of the changes of snapshots go."""
    for number in snapshots:
        for one in table.manifests.changed(table.snapshots.read(number)):
            Path(table.manifests.path(one["_FILE_NAME"])).unlink()
    damaged.forget()
    with pytest.raises(CorruptDataError):
        tables.reload(table).live_files()


def test_a_key_that_was_not_touched_is_not_compared(table: Table) -> None:
    spec, tasks, _ = plan_changes(table, LAST, ReadRequest(["k"]))
    assert all(split.by_key for task in tasks for split in task)
    assert spec.limit is None


@pytest.mark.parametrize("net", [False, True])
def test_large_buckets_are_cut_by_key(tmp_path: Path, net: bool) -> None:
    table = tables.table(tmp_path, tables.new_table(bucket="1", write_only="true"))
    for number in (1, 2, 3):
        harness.upsert(table, ({"k": k, "v": -k % number} for k in range(1000 * number)))
    small = {"source.split.target-size": "2 kb", "source.split.open-file-cost": "1 b"}
    assert changes(table, 0, 3, net=net, options=small) == changes(table, 0, 3, net=net)
    asked = ChangesRequest(CHANGES.name, 2, 3, net)
    _, tasks, _ = plan_changes(tables.reload(table), asked, ReadRequest(["k"], options=small))
    assert len(tasks) > 1
    assert any(split.after.until is not None for task in tasks for split in task)


def test_views(table: Table) -> None:
    one = [where("=", "k", 200), where("=", "d", "a", type="string")]
    log = read(table, ChangesRequest(AUDIT_LOG.name, 1, 2), ["rowkind", "v"], one)
    assert log == [{"rowkind": "-U", "v": 200}, {"rowkind": "+U", "v": -200}]
    assert read(table, ChangesRequest(ROWS.name, 1, 2), ["v"], one) == [{"v": -200}]
    packed = read(table, ChangesRequest(BINLOG.name, 1, 2), ["rowkind", "k", "v"])
    assert {"rowkind": "+U", "k": [200, 200], "v": [200, -200]} in packed
    assert len(packed) == len(UPDATED) - 1  # the row of key 0 is as it was
    everything = read(table, ChangesRequest(AUDIT_LOG.name, 0, 2, full=True), ["rowkind", "k"])
    assert sorted(row["k"] for row in everything) == list(range(ROWS_OF_BASE))
    assert {row["rowkind"] for row in everything} == {"+I"}


def test_a_range_that_is_not_kept_names_the_earliest(table: Table) -> None:
    tagging.create(table, "first", 1)
    for number in range(3):
        harness.upsert(tables.reload(table), [{"d": "a", "k": 0, "v": number + 1}])
    tagging.create(tables.reload(table), "third", 3)
    expired(table, at_least=2)
    found = tables.reload(table)
    with pytest.raises(SnapshotExpiredError, match="earliest snapshot that is kept is 4"):
        changes(found, 2, 5)
    assert [row for number, _, row in changes(found, 4, 5)]
    between = ranges.between(found, "first", "third")
    assert between == SnapshotRange(1, 3)
    assert len(changes(found, 1, 3, net=True)) == 2 * len(UPDATED)  # tags keep both ends
    with pytest.raises(SnapshotExpiredError, match="earliest"):
        changes(found, 1, 3)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({ranges.BETWEEN: "1"}, "expected two values"),
        ({ranges.BETWEEN: "1,2", ranges.BETWEEN_TIMES: "1,2"}, "each name a range"),
        ({ranges.BETWEEN: "1,2", ranges.SCAN_MODE: "delta"}, "expected auto, diff or"),
        ({ranges.SCAN_MODE: "diff"}, "needs a range"),
        ({ranges.BETWEEN_TIMES: "noon,night"}, "expected a time such as"),
        ({ranges.TO_AUTO_TAG: "2026-01-01"}, "is no automatic tag"),
        ({ranges.BETWEEN: "2,1"}, "before it starts"),
    ],
)
def test_options_that_name_no_range(table: Table, options: dict[str, str], error: str) -> None:
    with pytest.raises((TableError, NotSupportedError), match=error):
        ranges.asked(table, ROWS.name, options, "UTC")


def test_options(table: Table) -> None:
    times = [table.snapshots.read(number).time_millis for number in (1, 2)]
    shown = {ranges.BETWEEN_TIMES: f"{times[0]},{times[1]}"}
    assert ranges.asked(table, AUDIT_LOG.name, shown, "UTC") == ChangesRequest("audit_log", 1, 2)
    assert ranges.asked(table, ROWS.name, shown, "UTC") == ChangesRequest("rows", 1, 2, net=True)
    early = {ranges.BETWEEN_TIMES: "2001-02-03 04:05:06,2001-02-04"}
    assert ranges.asked(table, ROWS.name, early, "+02:00") == ChangesRequest("rows", 0, 0, net=True)


def test_what_has_no_changes(tmp_path: Path) -> None:
    columns = (tables.column("k"), tables.column("rowKind", "string"))
    named = tables.table(tmp_path, tables.new_table(*columns), "named")
    with pytest.raises(NotSupportedError, match="RENAME COLUMN rowKind"):
        plan_changes(named, ChangesRequest(AUDIT_LOG.name, 0, 1), ReadRequest(["k"]))
    empty = tables.table(tmp_path, name="empty")
    assert ranges.whole(empty) == SnapshotRange(0, 0)
    assert changes(empty, 0, 0) == []
