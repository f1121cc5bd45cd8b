"""Rows that are too old go when they are compacted, beside a definition that looks at rows."""

import time
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import keyfold
from keyfold import ConflictError, Table, TableError
from keyfold.lifetime import row_times
from keyfold.lifetime.row_times import are_old
from keyfold.options.parsing import parse
from keyfold.types import paimon
from keyfold.wire.layout import Column, TableLayout
from tests.draws import times
from tests.option_names import option_names

NOW = int(time.time())
DAY = 86_400
COLUMNS = {"k": "INT", "at": "INT", "v": "INT"}
ENGINES: dict[str, dict[str, str]] = {
    "deduplicate": {},
    "partial-update": {},
    "aggregation": {
        "fields__at__aggregate_function": "max",
        "fields__v__aggregate_function": "sum",
    },
    "first-row": {},
    "versioned": {"table__merge_engine__versioned__ver_column": "v"},
}
Row = tuple[Any, ...]


def made(folder: Path, columns: dict[str, str] = COLUMNS, **options: str) -> Table:
    named = {"bucket": "1", "record-level.expire-time": "1 d", "record-level.time-field": "at"}
    catalog = keyfold.connect(folder, threads=1)
    return catalog.create_table("t", columns, ["k"], options=named | option_names(options))


def rows(table: Table) -> set[Row]:
    return {tuple(row.values()) for row in table.scan().to_pylist()}


def put(table: Table, *found: Row) -> int | None:
    return table.upsert([dict(zip(COLUMNS, row, strict=True)) for row in found])


def shown(table: Table, after: int = 0, **asked: Any) -> list[Row]:
    names = ("_change_type", *COLUMNS)
    return [tuple(row[name] for name in names) for row in table.changes(after, **asked).to_pylist()]


def is_old(row: Row) -> bool:
    return row[1] is not None and row[1] + DAY < NOW


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("producer", ["none", "lookup"])
def test_old_rows_go_once_they_are_whole(
    tmp_path: Path, engine: str, producer: str, seed: int
) -> None:
    """By random histories: a compaction takes old rows only, and a full one takes them all."""
    random = Random(seed)
    of_engine = {} if engine == "versioned" else {"merge_engine": engine}
    if engine == "versioned":
        of_engine["table__merge_engine"] = engine
    options = {**of_engine, **ENGINES[engine], "write_only": "true", "changelog_producer": producer}
    table = made(tmp_path, **options, num_sorted_run__compaction_trigger="3")
    took = 0
    for _ in range(times(15)):
        moments = [NOW, NOW - 2 * DAY, NOW - 3 * DAY, NOW + DAY, None]
        found = {
            k: (k, random.choice(moments), random.randrange(9))
            for k in random.sample(range(30), random.randrange(1, 9))
        }
        put(table, *found.values())
        if random.random() < 0.4:
            strategy = random.choice(["full", "minor"])
            before = rows(table)
            table.compact(strategy)
            after = rows(table)
            assert after <= before
            assert all(map(is_old, before - after))
            if strategy == "full":
                assert after == {row for row in before if not is_old(row)}
            took += len(before - after)
            assert table.scan().count() == len(after)
            assert all(table.get({"k": row[0]}) is None for row in before - after)
    assert took > times(5)


def test_a_full_compaction_writes_files_with_old_rows_again(tmp_path: Path) -> None:
    """By their statistics, under other names and schemas too."""
    table = made(tmp_path)
    put(table, *((k, NOW + DAY, 1) for k in range(5)))
    table.compact()
    assert table.compact().num_rows == 0
    table.alter(options={"record-level.expire-time": "0 s"})
    put(table, (9, NOW - 5, 1))
    table.compact()
    assert table.scan().count() == 5
    table.alter(options={"record-level.expire-time": None})
    put(table, (9, NOW - 5, 1))
    table.compact()
    table.alter(options={"record-level.expire-time": "1 s"})
    table.alter(rename={"at": "since"}, add={"at": "ARRAY<INT>"}, types={"since": "BIGINT"})
    before = table.scan(snapshot=table.snapshot)
    (step,) = table.compact().to_pylist()
    assert (step["rows_before"], step["rows_after"]) == (6, 5)
    assert before.count() == 6, "time travel shows what was there"
    assert table.compact().num_rows == 0


def test_a_minor_compaction_leaves_parts_of_rows(tmp_path: Path) -> None:
    """An old part would go, and an older one of the same key be there again."""
    table = made(tmp_path, write_only="true", num_sorted_run__compaction_trigger="2")
    random = Random(1)
    put(table, *((k, NOW, random.getrandbits(31)) for k in range(5_000)))
    table.compact()
    for value in (2, 3):
        put(table, (0, NOW - 2 * DAY, value))
    table.compact("minor")
    assert table.get({"k": 0}) == {"k": 0, "at": NOW - 2 * DAY, "v": 3}
    table.compact()
    assert table.get({"k": 0}) is None
    assert table.scan().count() == 4_999


@pytest.mark.parametrize("producer", ["none", "input", "lookup", "full-compaction"])
@pytest.mark.parametrize("is_shown", [False, True])
def test_changes_show_nothing_of_it_unless_asked(
    tmp_path: Path, producer: str, is_shown: bool
) -> None:
    table = made(
        tmp_path,
        changelog_producer=producer,
        write_only="true",
        keyfold__record_level__expiration_changes=str(is_shown).lower(),
    )
    old = NOW - 2 * DAY
    table.alter(options={"record-level.expire-time": "10 d"})
    put(table, (1, NOW, 1), (2, old, 1), (3, old, 1))
    table.compact()
    told = table.snapshot or 0
    assert {kind for kind, *_ in shown(table)} == {"insert"}
    table.alter(options={"record-level.expire-time": "1 d"})
    put(table, (3, old, 2), (4, old, 1))
    table.compact()
    assert rows(table) == {(1, NOW, 1)}
    found = set(shown(table, told))
    updated = {("update_preimage", 3, old, 1), ("update_postimage", 3, old, 2)}
    if producer == "input":  # tells what was written
        updated = {("insert", 3, old, 2)}
    if not is_shown:
        assert found == updated | {("insert", 4, old, 1)}
    elif producer in ("none", "input"):
        gone = {("delete", 2, old, 1), ("delete", 3, old, 2), ("delete", 4, old, 1)}
        assert found == updated | gone | {("insert", 4, old, 1)}
    else:
        assert found == {("delete", 2, old, 1), ("delete", 3, old, 1)}
    net = set(shown(table, told, net=True))
    assert (("delete", 2, old, 1) in net) == is_shown


@pytest.mark.parametrize("producer", ["none", "input", "lookup", "full-compaction"])
@pytest.mark.parametrize("is_shown", [False, True])
def test_what_a_reader_of_changes_has(
    tmp_path: Path, producer: str, is_shown: bool, seed: int
) -> None:
    """By random histories: the rows of the table if it asks for their changes, else those of a
    table whose rows never go.
    """
    random = Random(seed)
    options = {
        "changelog_producer": producer,
        "keyfold__record_level__expiration_changes": str(is_shown).lower(),
        "write_only": "true",
        "num_sorted_run__compaction_trigger": "3",
        "compaction__max_size_amplification_percent": "100000",
    }
    table = made(tmp_path / "goes", **options)
    stays = made(tmp_path / "stays", **options, record_level__expire_time="9999 d")
    took = 0
    for turn in range(times(11)):
        count = 900 if turn == 0 else random.randrange(1, 9)
        found = [
            (k, random.choice([NOW, NOW - 2 * DAY]), random.getrandbits(31))
            for k in random.sample(range(1000), count)
        ]
        for one in (table, stays):
            put(one, *found)
            if is_shown and turn % 3 == 2:
                one.delete([{"k": k} for k, *_ in found[:2]])
        if random.random() < 0.6:
            before = rows(table)
            table.compact("minor" if random.random() < 0.7 else "full")
            took += len(before - rows(table))
    table.compact()
    assert took > 100
    state = {}
    for row in table.changes().to_pylist():
        state.pop(row["k"], None)
        if row["_change_type"] in ("insert", "update_postimage"):
            state[row["k"]] = (row["k"], row["at"], row["v"])
    assert set(state.values()) == rows(table if is_shown else stays)


def test_rows_that_go_beside_parts_of_rows(tmp_path: Path) -> None:
    """One task takes rows of which nothing is below, and others of which something stays there."""
    table = made(
        tmp_path,
        {"k": "INT", "at": "INT", "v": "STRING"},
        changelog_producer="lookup",
        write_only="true",
        num_sorted_run__compaction_trigger="2",
    )
    random = Random(1)
    below = [(k, NOW, random.randbytes(2000).hex()) for k in range(100, 140)]
    put(table, *below)
    table.compact()
    told = table.snapshot or 0
    new = [(k, NOW - 2 * DAY, "old") for k in range(5)], [(k, NOW, "new") for k in range(110, 120)]
    for found in new:
        put(table, *found)
    table.compact("minor")
    assert table.scan().count() == 40
    replaced = [("update_preimage", *row) for row in below[10:20]]
    assert set(shown(table, told)) == {
        *(("insert", *row) for row in new[0]),
        *(("update_postimage", *row) for row in new[1]),
        *replaced,
    }


def test_rows_that_are_told_already_are_deleted_when_asked(tmp_path: Path) -> None:
    """Nothing new is in their file, whose changes were written long ago."""
    for producer in ("lookup", "full-compaction"):
        table = made(
            tmp_path / producer,
            changelog_producer=producer,
            record_level__expire_time="9 d",
            keyfold__record_level__expiration_changes="true",
        )
        put(table, (1, NOW, 1), (2, NOW - 2 * DAY, 1))
        table.compact()
        told = table.snapshot or 0
        table.alter(options={"record-level.expire-time": "1 d"})
        table.compact()
        assert shown(table, told) == [("delete", 2, NOW - 2 * DAY, 1)]


def test_kept_deletes_stay(tmp_path: Path) -> None:
    """A delete that hides a late row has an old time too, and is no row."""
    table = made(tmp_path, sequence__field="v")
    put(table, (1, NOW - 2 * DAY, 5))
    table.delete([{"k": 1}])
    table.compact()
    put(table, (1, NOW, 3))
    assert rows(table) == set()


def test_a_statement_with_parts_of_rows_that_went_is_refused(tmp_path: Path) -> None:
    table = made(tmp_path, merge_engine="partial-update", write_only="true")
    put(table, (1, NOW - 2 * DAY, 1), (2, NOW, 1))

    def change() -> None:
        with table.transaction() as job:
            job.update("k = 1", {"v": 7})
            table.compact()

    with pytest.raises(ConflictError, match="went for their age"):
        change()
    assert rows(table) == {(2, NOW, 1)}


def seconds(kind: str, unit: str | None, value: Any) -> int:
    """The definition, in Java's integers."""
    if kind == "BIGINT" and (value >= 10**12 if unit is None else unit == "millis-long"):
        return int(value / 1000) if abs(value) < 2**53 else int(str(value)[:-3])
    if kind.startswith("TIMESTAMP"):
        zone = timezone.utc
        millis = (value.replace(tzinfo=zone) - datetime(1970, 1, 1, tzinfo=zone)) // timedelta(
            milliseconds=1
        )
        return abs(millis) // 1000 * (1 if millis > 0 else -1)
    return int(value)


@given(st.data())
def test_the_age_of_a_row(data: st.DataObject) -> None:
    kind, unit = data.draw(
        st.sampled_from(
            [
                *(("INT", unit) for unit in (None, "seconds-int")),
                *(("BIGINT", unit) for unit in (None, "seconds-long", "millis-long")),
                *(("TIMESTAMP(6)", unit) for unit in (None, "timestamp")),
                ("TIMESTAMP(6) WITH LOCAL TIME ZONE", None),
            ]
        )
    )
    bits = 31 if kind == "INT" else 63
    numbers = st.one_of(
        st.integers(-(2**bits), 2**bits - 1), st.integers(-5, 5).map(lambda n: n + 2 * 10**9)
    ).filter(lambda n: -(2**bits) <= n < 2**bits)
    if kind == "BIGINT":
        numbers |= st.integers(-3, 3).map(lambda n: n + 10**12)
    near = st.datetimes(datetime(1969, 12, 31), datetime(1970, 1, 2)) | st.datetimes()
    given_values = data.draw(st.lists(st.none() | (near if "TIME" in kind else numbers)))
    options = {"record-level.expire-time": "1 s", "record-level.time-field": "t"}
    options |= {} if unit is None else {"record-level.time-field-type": unit}
    columns = tuple(
        Column(place, name, paimon.from_paimon(of))
        for place, (name, of) in enumerate({"k": "INT NOT NULL", "t": kind}.items())
    )
    of_table = TableLayout("db.t", "/x", 0, columns, ("k",), (), options)
    arrow = of_table.column("t").arrow_field.type
    batch = pa.record_batch([pa.array(given_values, arrow)], names=["t"])
    known = [seconds(kind, unit, v) for v in given_values if v is not None]
    earliest = data.draw(st.sampled_from([*known, 0, *(n + 1 for n in known)]))
    found = are_old(of_table, parse(of_table), batch, earliest).to_pylist()
    assert found == [v is not None and seconds(kind, unit, v) < earliest for v in given_values]


def test_the_clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A row is too old when more than the time has passed; a clock set back ages nothing."""
    table = made(tmp_path)
    put(table, (1, NOW, 1))
    for later, count in ((-99 * DAY, 1), (DAY, 1), (DAY + 1, 0)):
        monkeypatch.setattr(row_times.time, "time", lambda at=NOW + later: at + 0.5)
        table.compact()
        assert table.scan().count() == count


def refused(write: Callable[[], Any]) -> str:
    with pytest.raises(TableError) as caught:
        write()
    return str(caught.value)


def test_options(tmp_path: Path) -> None:
    assert "You should set time field" in refused(
        lambda: keyfold.connect(tmp_path).create_table(
            "t", COLUMNS, ["k"], options={"record-level.expire-time": "1 d"}
        )
    )
    said = refused(lambda: made(tmp_path, record_level__time_field="z"))
    assert "Can not find time field z for record level expire." in said
    said = refused(lambda: made(tmp_path, {"k": "INT", "at": "STRING"}))
    assert "one of INT, BIGINT, or TIMESTAMP, but field type is STRING" in said
    said = refused(lambda: made(tmp_path, record_level__time_field_type="millis-long"))
    assert "millis-long is for a column of type BIGINT, but at is INT" in said
    both = {
        "keyfold__record_level__expiration_changes": "true",
        "changelog_producer__row_deduplicate": "false",
        "changelog_producer": "lookup",
    }
    assert "is not possible with" in refused(lambda: made(tmp_path, **both))
    table = made(tmp_path)
    put(table, (1, NOW - 2 * DAY, 1), (2, NOW, 1))
    table.alter(options={"record-level.expire-time": None})
    table.compact()
    assert table.scan().count() == 2
    other = {"record-level.expire-time": "1 d", "record-level.time-field": "z"}
    assert "time field z" in refused(lambda: table.compact(options=other))
    assert "time field z" in refused(
        lambda: table.alter(
            options={"record-level.expire-time": "1 d", "record-level.time-field": "z"}
        )
    )
    table.alter(options={"record-level.expire-time": "1 d"})
    table.compact()
    assert rows(table) == {(2, NOW, 1)}
