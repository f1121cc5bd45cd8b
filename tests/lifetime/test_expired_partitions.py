"""Partitions that are too old go, beside a definition that looks at rows; what changes show."""

import time
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from random import Random
from typing import Any

import pytest

import keyfold
from keyfold import Table, TableError
from keyfold.lifetime.rules import ExpiryRule, old_by_values
from keyfold.options import checks
from keyfold.write import expired_partitions
from tests.option_names import option_names

DAY = timedelta(days=1)
COLUMNS = {"dt": "STRING", "hh": "INT", "k": "INT", "v": "STRING"}
KEY = ["dt", "hh", "k"]


def made(folder: Path, columns: dict[str, str] = COLUMNS, **options: str) -> Table:
    named = {"bucket": "1"} | option_names(options)
    by = [name for name in KEY[:2] if name in columns]
    key = [name for name in KEY if name in columns]
    return keyfold.connect(folder, threads=1).create_table("t", columns, key, by, named)


def rows(table: Table) -> set[tuple[Any, ...]]:
    return {tuple(row.values()) for row in table.scan().to_pylist()}


def day(back: float, form: str = "%Y-%m-%d") -> str:
    return (datetime.now() - back * DAY).strftime(form)


def test_compactions_let_go_what_is_too_old(tmp_path: Path) -> None:
    """Those of a write-only table are the only ones that look."""
    table = made(tmp_path, partition__expiration_time="36 h", write_only="true")
    every = {(day(back), 0, k, "x") for back in (0, 3) for k in range(5)}
    table.upsert([dict(zip(COLUMNS, row, strict=True)) for row in every])
    table.upsert([dict(zip(COLUMNS, row, strict=True)) for row in every])
    assert rows(table) == every
    steps = table.compact()
    assert rows(table) == {row for row in every if row[0] == day(0)}
    assert set(steps.column("partition").to_pylist()) == {f"dt={day(0)}/hh=0"}


def test_a_partition_that_is_just_as_old_stays(tmp_path: Path) -> None:
    """As in Paimon: the time that its values say has to be before the bound."""
    table, day_after = made(tmp_path)._load(), datetime(2024, 5, 2).astimezone()
    rule = ExpiryRule.of(table.options, seconds=DAY.total_seconds())
    for now, is_old in ((day_after, False), (day_after + timedelta(seconds=1), True)):
        assert old_by_values(table.layout, rule, now)(("2024-05-01", 0)) == is_old


def test_what_is_too_old_by_its_values_goes(tmp_path: Path, seed: int) -> None:
    """The definition parses each row's own day and hour, and knows nothing of partitions."""
    random = Random(seed)
    table = made(tmp_path)
    every = {(day(random.randrange(6)), random.randrange(24), k, "x") for k in range(60)} | {
        ("someday", 1, 99, "x"),
        ("", 1, 100, "x"),
    }
    table.upsert([dict(zip(COLUMNS, row, strict=True)) for row in every])
    for hours in (100, 60, 30):
        bound = datetime.now() - timedelta(hours=hours)
        kept = set()
        for row in every:
            try:
                at = datetime.strptime(f"{row[0]} {row[1]}", "%Y-%m-%d %H")
            except ValueError:
                at = datetime.max
            if at >= bound:
                kept.add(row)
        asked = {"expiration_time": f"{hours} h", "timestamp_pattern": "$dt $hh:00:00"}
        planned = table.expire_partitions(dry_run=True, **asked)
        assert rows(table) == every
        found = table.expire_partitions(**asked)
        assert planned == found == sorted(found)
        assert set(found) == {f"dt={row[0]}, hh={row[1]}" for row in every - kept}
        assert rows(table) == kept
        assert table.expire_partitions(**asked) == []
        every = kept


@pytest.mark.parametrize(
    ("kind", "form", "formatter"),
    [
        ("STRING", "%Y%m%d", "yyyyMMdd"),
        ("INT", "%Y%m%d", "yyyyMMdd"),
        ("DATE", "%Y-%m-%d", None),
        ("TIMESTAMP_NTZ", "%Y-%m-%d %H:%M:%S", None),
        ("STRING", "%Y/%m/%d %H", "yyyy/MM/dd HH"),
    ],
)
def test_partition_columns_of_other_types(
    tmp_path: Path, kind: str, form: str, formatter: str | None
) -> None:
    table = made(tmp_path, {"dt": f"{kind}", "k": "INT"})
    values: list[Any] = [day(back, form) for back in range(5)]
    if kind == "INT":
        values = list(map(int, values))
    if kind == "DATE":
        values = [datetime.strptime(value, form).date() for value in values]
    if kind == "TIMESTAMP_NTZ":
        values = [datetime.strptime(value, form) for value in values]
    table.upsert([{"dt": value, "k": 1} for value in values])
    found = table.expire_partitions(
        expiration_time="36 h", timestamp_formatter=formatter, expire_strategy="values-time"
    )
    assert len(found) == 3 if "H" in form else len(found) in (3, 4)
    assert {row[0] for row in rows(table)} == set(values[: 5 - len(found)])


def test_a_column_whose_name_begins_another(tmp_path: Path) -> None:
    table = keyfold.connect(tmp_path, threads=1).create_table(
        "t", {"d": "STRING", "dt": "STRING", "k": "INT"}, ["d", "dt", "k"], ["d", "dt"]
    )
    table.upsert([{"d": "$dt", "dt": day(back), "k": 1} for back in (0, 9)])
    asked = {"expiration_time": "3 d", "timestamp_pattern": "$dt"}
    assert table.expire_partitions(**asked) == [f"d=$dt, dt={day(9)}"]


def test_commits_expire_partitions_and_streams_do_not_show_it(tmp_path: Path) -> None:
    options = {"partition__expiration_time": "3 d", "partition__expiration_check_interval": "0 s"}
    table = made(tmp_path, **options)
    table.upsert([{"dt": day(back), "hh": 1, "k": 1, "v": "x"} for back in (0, 1, 9)])
    assert {row[0] for row in rows(table)} == {day(0), day(1)}
    kinds = table.snapshots().column("commit_kind").to_pylist()
    assert kinds == ["APPEND", "OVERWRITE"]
    assert table.changes(1).to_pylist() == []
    assert len(table.changes(0, net=True).to_pylist()) == 2
    assert table.changes(1, net=True).to_pylist() == []
    table.alter(options={"keyfold.partition.expiration-changes": "true"})
    table.upsert([{"dt": day(9), "hh": 1, "k": 1, "v": "y"}])
    deleted = [row["_change_type"] for row in table.changes(2).to_pylist()]
    assert deleted == ["insert", "delete"]


@pytest.mark.parametrize("shown", ["true", "false"])
def test_net_changes_over_a_partition_that_went(tmp_path: Path, shown: str) -> None:
    """Its old rows are deleted when asked; a key that was written in the range is in any case."""
    table = made(tmp_path, keyfold__partition__expiration_changes=shown)
    old = [{"dt": day(9), "hh": 1, "k": k, "v": "x"} for k in range(3)]
    table.upsert(old)
    first = table.snapshot or 0
    table.upsert([{**old[2], "v": "y"}, {"dt": day(0), "hh": 1, "k": 9, "v": "x"}])
    table.expire_partitions(expiration_time="1 d")
    found = {
        (r["_change_type"], r["k"], r["v"]) for r in table.changes(first, net=True).to_pylist()
    }
    silent = {("insert", 9, "x"), ("delete", 2, "x")}
    assert found == silent | (
        {("delete", 0, "x"), ("delete", 1, "x")} if shown == "true" else set()
    )


@pytest.mark.parametrize("producer", ["input", "lookup", "full-compaction"])
@pytest.mark.parametrize("shown", ["true", "false"])
def test_changelogs(tmp_path: Path, producer: str, shown: str) -> None:
    table = made(
        tmp_path,
        changelog_producer=producer,
        partition__expiration_time="3 d",
        partition__expiration_check_interval="0 s",
        keyfold__partition__expiration_changes=shown,
    )
    first = table.upsert([{"dt": day(0), "hh": 1, "k": 1, "v": "x"}])
    assert first is not None
    table.upsert([{"dt": day(9), "hh": 1, "k": 1, "v": "x"}])
    table.compact()
    assert {row[0] for row in rows(table)} == {day(0)}
    found = [(row["_change_type"], row["dt"]) for row in table.changes().to_pylist()]
    assert ("insert", day(0)) in found
    assert (("delete", day(9)) in found) == (shown == "true" and ("insert", day(9)) in found)


def test_the_last_write_counts_and_not_the_values(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = made(tmp_path)
    clock = Clock(monkeypatch)
    for name in ("a", "b", "c"):
        table.upsert([{"dt": name, "hh": 1, "k": 1, "v": "x"}])
        clock.on(3600)
    table.upsert([{"dt": "a", "hh": 1, "k": 2, "v": "x"}])
    asked = {"expiration_time": "90 min", "expire_strategy": "update-time"}
    assert table.expire_partitions(**asked) == ["dt=b, hh=1"]
    assert {row[0] for row in rows(table)} == {"a", "c"}


class Clock:
    """The clock of this process, which a test moves."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._real, self._moved = time.time, 0.0
        monkeypatch.setattr(time, "time", lambda: self._real() + self._moved)
        monkeypatch.setattr(expired_partitions, "now", self.now)

    def now(self) -> datetime:
        return datetime.fromtimestamp(time.time(), timezone.utc)

    def on(self, seconds: float) -> None:
        self._moved += seconds


def test_a_clock_that_is_set_back_ages_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = made(tmp_path)
    clock = Clock(monkeypatch)
    table.upsert([{"dt": "a", "hh": 1, "k": 1, "v": "x"}])
    clock.on(-7200)
    table.upsert([{"dt": "b", "hh": 1, "k": 1, "v": "x"}])
    asked = {"expiration_time": "1 h", "expire_strategy": "update-time"}
    assert table.expire_partitions(**asked) == []
    clock.on(7200 + 60)  # b was written a minute ago, whatever its files say
    assert table.expire_partitions(**asked) == []
    clock.on(3600)
    assert table.expire_partitions(**asked) == ["dt=a, hh=1", "dt=b, hh=1"]


def test_a_partition_that_is_written_meanwhile_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = made(tmp_path)
    clock = Clock(monkeypatch)
    table.upsert([{"dt": name, "hh": 1, "k": 1, "v": "x"} for name in ("a", "b")])
    clock.on(7200)
    once, real = [True], expired_partitions._removed

    def late(*given: Any) -> Any:
        if once.pop() if once else False:
            table.upsert([{"dt": "a", "hh": 1, "k": 2, "v": "x"}])
        return real(*given)

    monkeypatch.setattr(expired_partitions, "_removed", late)
    asked = {"expiration_time": "1 h", "expire_strategy": "update-time"}
    assert table.expire_partitions(**asked) == ["dt=b, hh=1"]
    assert {row[0] for row in rows(table)} == {"a"}


def test_at_most_so_many_go_in_batches(tmp_path: Path) -> None:
    table = made(tmp_path, partition__expiration_batch_size="2")
    table.upsert([{"dt": day(9), "hh": hour, "k": 1, "v": "x"} for hour in range(8)])
    before = table.snapshot or 0
    found = table.expire_partitions(expiration_time="1 d", max_expires=5)
    assert found == [f"dt={day(9)}, hh={hour}" for hour in range(5)]
    assert (table.snapshot or 0) - before == 3
    assert {row[1] for row in rows(table)} == {5, 6, 7}


def refused(table: Table, write: Callable[[], Any]) -> str:
    before = rows(table)
    with pytest.raises(TableError) as caught:
        write()
    assert rows(table) == before
    return str(caught.value)


def test_writes_into_what_is_too_old(tmp_path: Path) -> None:
    table = made(
        tmp_path,
        partition__expiration_time="3 d",
        partition__expiration_check_interval="1 d",
        keyfold__partition__old_writes="refuse",
    )
    fresh = {"dt": day(1), "hh": 1, "k": 1, "v": "x"}
    old = fresh | {"dt": day(9)}
    said = refused(table, lambda: table.upsert([old, fresh]))
    assert f"Partition value 'dt={day(9)}/hh=1' is out-of-date" in said
    table.alter(options={"keyfold.partition.old-writes": "drop"})
    assert table.upsert([old, fresh]) == 1
    assert table.upsert([old]) is None
    assert {row[0] for row in rows(table)} == {day(1)}
    assert all(day(9) not in str(path) for path in Path(table.location).rglob("data-*"))
    table.alter(options={"keyfold.partition.old-writes": "accept"})
    table.upsert([old])
    assert {row[0] for row in rows(table)} == {day(1), day(9)}
    table.alter(options={"keyfold.partition.old-writes": "refuse"})
    assert table.delete(where=f"dt = '{day(9)}'")


def test_auto_partitions_of_fluss(tmp_path: Path) -> None:
    form = "%Y%m%d"
    table = made(
        tmp_path,
        table__auto_partition__enabled="true",
        table__auto_partition__key="dt",
        table__auto_partition__num_retention="2",
        table__auto_partition__num_precreate="4",
        keyfold__partition__old_writes="accept",
        partition__expiration_check_interval="0 s",
    )
    kept = {day(back, form) for back in (-3, 0, 1, 2)} | {"other"}
    table.upsert(
        [{"dt": one, "hh": 1, "k": 1, "v": "x"} for one in {*kept, day(3, form), "20200101"}]
    )
    assert {row[0] for row in rows(table)} == kept
    table.alter(options={"keyfold.partition.old-writes": None})
    said = refused(table, lambda: table.upsert([{"dt": day(3, form), "hh": 1, "k": 1, "v": "x"}]))
    assert f"The earliest retained partition is '{day(2, form)}'" in said


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"partition__timestamp_formatter": "yyyy MMM"}, "not MMM, found 'yyyy MMM'"),
        ({"partition__expiration_strategy": "soon"}, "values-time or update-time"),
        ({"partition__timestamp_pattern": "$DT"}, r"behind a \$, of dt, hh, found '\$DT'"),
        ({"partition__timestamp_pattern": "$dt $hour:00"}, r"found '\$dt \$hour:00'"),
        ({"partition__timestamp_pattern": "2020-01-01"}, "found '2020-01-01'"),
        ({"table__auto_partition__enabled": "true"}, "table.auto-partition.key"),
        (
            {"table__auto_partition__enabled": "true", "table__auto_partition__key": "k"},
            "partition column",
        ),
        ({"table__auto_partition__time_format": "ddMMyyyy"}, "longest period first"),
        ({"table__auto_partition__time_zone": "Mars/North"}, "time zone"),
    ],
)
def test_wrong_options_are_refused(tmp_path: Path, options: dict[str, str], said: str) -> None:
    with pytest.raises(TableError, match=said):
        made(tmp_path, **options)


def test_a_table_without_partitions_has_none_to_expire(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="non-partitioned table"):
        made(tmp_path, {"k": "INT"}, partition__expiration_time="1 d")
    table = made(tmp_path, {"k": "INT"})
    with pytest.raises(TableError, match="not partitioned"):
        table.expire_partitions(expiration_time="1 d")
    with pytest.raises(TableError, match="expiration_time"):
        made(tmp_path / "more").expire_partitions()
    with pytest.raises(TableError, match=r"timestamp_pattern of table .*found '\$day'"):
        made(tmp_path / "other").expire_partitions(expiration_time="1 d", timestamp_pattern="$day")


def test_a_pattern_of_another_writer_that_names_no_column(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Paimon's Java takes it. Whoever asks for old partitions to go learns why none does."""
    monkeypatch.setattr(checks, "check_partition_pattern", lambda *_: None)
    table = made(tmp_path, partition__timestamp_pattern="$DT", partition__expiration_time="1 d")
    monkeypatch.undo()
    table.upsert([{"dt": "2020-01-01", "hh": 1, "k": 1, "v": "x"}])
    with pytest.raises(TableError, match=r"option partition.timestamp-pattern .*found '\$DT'"):
        table.expire_partitions()
    assert table.expire_partitions(expire_strategy="update-time") == []
    assert len(table.expire_partitions(timestamp_pattern="$dt")) == 1
    assert rows(table) == set()
