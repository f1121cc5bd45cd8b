"""mark_partition_done, and compactions of partitions that are done: idle ones."""

import json
import time
from datetime import date
from pathlib import Path

import pytest

import keyfold
from keyfold.compact import named_partitions
from keyfold.errors import NotSupportedError, TableError


def made(folder: Path, **options: str) -> keyfold.Table:
    """A table of three partitions with two runs each."""
    table = keyfold.connect(str(folder)).create_table(
        "default.t",
        {"day": "DATE", "h": "INT", "k": "BIGINT", "v": "BIGINT"},
        ["day", "h", "k"],
        ["day", "h"],
        {"bucket": "1", **options},
        if_not_exists=True,
    )
    for value in range(2):
        table.upsert([{"day": date(2024, 1, n), "h": n, "k": 1, "v": value} for n in (1, 2, 3)])
    return table


def folder_of(table: keyfold.Table, number: int) -> Path:
    """The folder of a partition, whose DATE is spelled as Paimon spells it by default."""
    (found,) = Path(table.location).glob(f"day=*/h={number}")
    return found


def test_the_file_of_a_partition_is_written(tmp_path: Path) -> None:
    table, before = made(tmp_path), int(time.time() * 1000)
    table.mark_partitions_done("day=2024-01-01,h=1; h=3,day=2024-01-03")
    first = json.loads((folder_of(table, 1) / "_SUCCESS").read_text())
    assert sorted(first) == ["creationTime", "modificationTime"]
    assert before <= first["creationTime"] == first["modificationTime"] <= time.time() * 1000
    assert (folder_of(table, 3) / "_SUCCESS").exists()
    assert not (folder_of(table, 2) / "_SUCCESS").exists()
    time.sleep(0.002)
    table.mark_partitions_done("day=2024-01-01,h=1")
    again = json.loads((folder_of(table, 1) / "_SUCCESS").read_text())
    assert again["creationTime"] == first["creationTime"] < again["modificationTime"]
    assert table.scan().count() == 3
    table.remove_orphans(older_than="2020-01-01T00:00:00+00:00")
    assert (folder_of(table, 1) / "_SUCCESS").exists()


@pytest.mark.parametrize("text", ["{", "[]", '{"creationTime": "x"}', "\udcff"])
def test_another_file_of_that_name_is_replaced(tmp_path: Path, text: str) -> None:
    table = made(tmp_path)
    path = folder_of(table, 1) / "_SUCCESS"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    table.mark_partitions_done("day=2024-01-01,h=1")
    assert json.loads(path.read_text())["creationTime"] > 0


@pytest.mark.parametrize(
    ("partitions", "said"),
    [
        ("day=2024-01-01", "expected a value of each partition column \\(day, h\\)"),
        ("", "expected a value of each partition column"),
        ("day=2024-01-01,h=one", "partition column h is of another type than 'one'"),
        (
            "day=2024-01-01,hh=1",
            "mark_partition_done of table keyfold.default.t: expected partitions",
        ),
    ],
)
def test_what_is_no_partition_is_refused(tmp_path: Path, partitions: str, said: str) -> None:
    with pytest.raises(TableError, match=said):
        made(tmp_path).mark_partitions_done(partitions)
    assert not list(tmp_path.rglob("_SUCCESS"))


def test_other_actions_are_refused(tmp_path: Path) -> None:
    table = made(tmp_path)
    schema = Path(table.location) / "schema" / "schema-0"
    stored = json.loads(schema.read_text())
    stored["options"]["partition.mark-done-action"] = "success-file,mark-event"
    schema.write_text(json.dumps(stored))
    with pytest.raises(NotSupportedError, match="mark-done-action is 'success-file,mark"):
        table.mark_partitions_done("day=2024-01-01,h=1")


def test_idle_partitions_are_compacted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def turn(hours: float) -> None:
        monkeypatch.setattr(named_partitions, "now", lambda: time.time() + hours * 3600)

    table = made(tmp_path)
    assert table.compact(partition_idle_time="1 h").num_rows == 0
    table.compact(partitions="h=2")
    turn(2)
    assert table.compact(partition_idle_time="3 h").num_rows == 0
    done = table.compact(partition_idle_time="1 h")
    assert done["partition"].to_pylist() == ["day=2024-01-01/h=1", "day=2024-01-03/h=3"]
    assert set(done["status"].to_pylist()) == {"committed"}
    table.upsert([{"day": date(2024, 1, 2), "h": 2, "k": 2, "v": 2}])
    table.upsert([{"day": date(2024, 1, 3), "h": 3, "k": 2, "v": 2}])
    named = table.compact(partitions="h=1;h=2", partition_idle_time="1 h")
    assert named["partition"].to_pylist() == ["day=2024-01-02/h=2"], "one run is left in h=1"


@pytest.mark.parametrize("text", ["soon", "", "-1 h"])
def test_a_wrong_idle_time_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(TableError, match="compact: partition_idle_time: expected a duration"):
        made(tmp_path).compact(partition_idle_time=text)
