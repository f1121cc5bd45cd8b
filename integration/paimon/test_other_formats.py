"""Tables whose data files Paimon's Java library wrote as ORC or Avro: keyfold reads what Java
reads.
"""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.orc
import pytest

import keyfold
from integration.paimon.bench import in_order
from integration.paimon.library import SMALL as SMALL_JVM
from integration.paimon.library import Paimon, start
from integration.paimon.sides import NAMESPACE, Change, Java, Keyfold, Shape
from keyfold.errors import CorruptDataError, NotSupportedError
from keyfold.storage.table import Table
from keyfold.testing.tables import Record

OPTIONS = {"bucket": "1", "file.format": "orc"}
AVRO = {"bucket": "1", "file.format": "avro"}
BOTH = pytest.mark.parametrize("options", [OPTIONS, AVRO], ids=["orc", "avro"])
PARQUET = {"action": "setOption", "key": "file.format", "value": "parquet"}
NTZ = "TIMESTAMP(6)"
COLUMNS: dict[str, Any] = {
    "k": "INT",
    "b": "BOOLEAN",
    "y": "TINYINT",
    "l": "BIGINT",
    "f": "FLOAT",
    "e": "DECIMAL(20, 3)",
    "s": "STRING",
    "x": "VARBINARY(10)",
    "d": "DATE",
    "t": NTZ,
    "a": {"type": "ARRAY", "element": "STRING"},
    "m": {"type": "MAP", "key": "CHAR(3)", "value": "INT"},
    "r": {
        "type": "ROW",
        "fields": [{"id": 0, "name": "p", "type": {"type": "ARRAY", "element": "CHAR(3)"}}],
    },
    "c": "CHAR(5)",
}
# What ORC has not, or not rightly.
MORE: dict[str, Any] = {
    "h": "SMALLINT",
    "g": "DOUBLE",
    "q": "DECIMAL(38, 10)",
    "o": "TIME(3)",
    "u": "TIMESTAMP(3)",
    "i": f"{NTZ} WITH LOCAL TIME ZONE",
    "j": "TIMESTAMP(3) WITH LOCAL TIME ZONE",
    "v": "BINARY(2)",
    "n": {"type": "MAP", "key": "DATE", "value": {"type": "ARRAY", "element": "TIME(0)"}},
    "w": {"type": "MAP", "key": "STRING", "value": {"type": "MAP", "key": "INT", "value": NTZ}},
    "z": {"type": "ARRAY", "element": {"type": "ARRAY", "element": "DECIMAL(4, 2)"}},
}


class Shared:
    """A table that Java made, by its name `t`."""

    def __init__(self, folder: Path, paimon: Paimon, shape: Shape) -> None:
        self.java, self.keyfold = Java(folder, paimon), Keyfold(folder)
        self.java.create(shape)
        self.folder = str(folder)

    @property
    def table(self) -> Table:
        """The table as it is now."""
        return self.keyfold.table("t")

    def write(self, rows: list[Record]) -> None:
        """One job of Java's."""
        self.java.write(self.table.layout, "t", rows)

    def check_same(self) -> pa.Table:
        """Both read the same rows, which are returned."""
        layout = self.table.layout
        found = self.keyfold.read(layout, "t")
        assert in_order(found) == in_order(self.java.read(layout, "t"))
        return found

    def formats(self) -> set[str]:
        """The suffixes of the live files."""
        return {file.name.rpartition(".")[2] for file in self.table.live_files()}


def row(number: int, text: str) -> dict[str, Any]:
    """A value of every type; every fourth row is NULL but for its key."""
    if number % 4 == 3:
        return dict.fromkeys(COLUMNS) | {"k": number}
    return {
        "k": number,
        "b": number % 2 == 0,
        "y": -number,
        "l": number << 40,
        "f": number / 4,
        "e": Decimal(number).scaleb(-3),
        "s": f"{text}{number}",
        "x": bytes([number]),
        "d": dt.date(1969, 12, 30) + dt.timedelta(number),
        "t": dt.datetime(1969, 12, 31, 23, 59, 58, 250_001) + dt.timedelta(seconds=number),
        "a": [text, None] if number % 2 else [],
        "m": [(text, number)],
        "r": {"p": [text, None]},
        "c": text,
    }


def more(number: int, text: str) -> dict[str, Any]:
    """A row with values of the types that only Avro has."""
    if number % 4 == 3:
        return row(number, text) | dict.fromkeys(MORE)
    moment = dt.datetime(1969, 12, 31, 23, 59, 58, 250_000) + dt.timedelta(hours=number)
    nines = Decimal((0, (9,) * 38, -10))
    return row(number, text) | {
        "h": -number,
        "g": -number / 3,
        "q": nines if number % 2 else -nines,
        "o": dt.time(23, 59, 59, 999_000),
        "u": moment,
        "i": moment.replace(tzinfo=dt.UTC, microsecond=250_001),
        "j": moment.replace(tzinfo=dt.UTC),
        "v": bytes([0, number]),
        "n": [(dt.date(1960, 1, 1), [dt.time(1), None]), (dt.date(2060, 1, 1), None)],
        "w": [(text, [(number, moment)]), ("", [])],
        "z": [[Decimal("-0.01"), None], [], None],
    }


def some(text: str, numbers: range, *, kind: int = 0) -> list[Record]:
    return [(kind, {"k": n, "n": n * 10, "v": f"{text}{n}"}) for n in numbers]


SMALL = {"k": "INT", "n": "INT", "v": "STRING"}


@BOTH
def test_every_type(tmp_path: Path, paimon: Paimon, options: dict[str, str]) -> None:
    is_avro = options is AVRO
    columns, made = (COLUMNS | MORE, more) if is_avro else (COLUMNS, row)
    shared = Shared(tmp_path, paimon, Shape("t", columns, ("k",), (), options))
    shared.write([(0, made(n, "a")) for n in range(24)])
    shared.write([(0, made(n, "b")) for n in range(8, 12)])
    assert shared.formats() == {options["file.format"]}
    assert shared.check_same().num_rows == 24
    table = keyfold.connect(shared.folder).table(f"{NAMESPACE}.t")
    assert table.scan(["k"], "c = 'b'").to_arrow().num_rows == 3


@BOTH
def test_pruned_looked_up_and_streamed(
    tmp_path: Path, paimon: Paimon, options: dict[str, str]
) -> None:
    options = options | {"changelog-producer": "input"}
    shared = Shared(tmp_path, paimon, Shape("t", SMALL, ("k",), (), options))
    shared.write(some("a", range(20)))
    shared.write(some("b", range(5, 8)))
    shared.write(some("b", range(3), kind=3))  # -D
    shared.write(some("z", range(100, 120)))
    shared.check_same()
    table = keyfold.connect(shared.folder).table(f"{NAMESPACE}.t")
    found = table.scan(where="k > 100 AND n < 1050").to_arrow()
    assert sorted(found["k"].to_pylist()) == [101, 102, 103, 104]
    asked = [{"k": n} for n in (0, 4, 5, 110, 999)]
    assert table.get_many(asked)["v"].to_pylist() == [None, "a4", "b5", "z110", None]
    changes = table.changes().to_arrow()
    kinds = {"insert": 43, "delete": 3}
    named = changes["_change_type"].to_pylist()
    assert {one: named.count(one) for one in named} == kinds
    assert shared.formats() == {options["file.format"]}


def test_changelogs_of_another_format(tmp_path: Path, paimon: Paimon) -> None:
    options = {"bucket": "1", "changelog-producer": "input", "changelog-file.format": "avro"}
    shared = Shared(tmp_path, paimon, Shape("t", SMALL, ("k",), (), options))
    shared.write(some("a", range(20)))
    shared.write(some("b", range(3), kind=3))  # -D
    assert shared.formats() == {"parquet"}
    (folder,) = shared.java.folder("t").glob("bucket-0")
    assert {path.suffix for path in folder.glob("changelog-*")} == {".avro"}
    table = keyfold.connect(shared.folder).table(f"{NAMESPACE}.t")
    named = table.changes().to_arrow()["_change_type"].to_pylist()
    assert {one: named.count(one) for one in named} == {"insert": 20, "delete": 3}
    with pytest.raises(NotSupportedError, match=r"its option changelog-file\.format is 'avro'"):
        shared.keyfold.write(shared.table.layout, "t", some("c", range(3)))


@BOTH
def test_another_format_during_its_life(
    tmp_path: Path, paimon: Paimon, options: dict[str, str]
) -> None:
    kind = options["file.format"]
    shared = Shared(tmp_path, paimon, Shape("t", SMALL, ("k",), (), options))
    shared.write(some("a", range(20)))
    layout = shared.table.layout
    with pytest.raises(NotSupportedError, match=rf"its option file\.format is '{kind}'"):
        shared.keyfold.write(layout, "t", some("b", range(3)))
    paimon.alter(shared.java.folder("t"), [PARQUET])
    shared.java.alter("t", Change("rename", "v", "w"))
    shared.java.alter("t", Change("add", "more", "INT"))
    new = [(0, {"k": n, "n": n, "w": "c", "more": n}) for n in range(15, 25)]
    shared.keyfold.write(shared.table.layout, "t", new)
    assert shared.formats() == {kind, "parquet"}
    assert shared.check_same().num_rows == 25
    shared.keyfold.compact("t", full=True)
    assert shared.formats() == {"parquet"}
    assert shared.check_same().num_rows == 25


@BOTH
def test_deletion_vectors_mark_rows(
    tmp_path: Path, paimon: Paimon, options: dict[str, str]
) -> None:
    options = options | {"deletion-vectors.enabled": "true"}
    shared = Shared(tmp_path, paimon, Shape("t", SMALL, ("k",), (), options))
    for text, numbers in (("a", range(5000)), ("b", range(5, 9)), ("c", range(30, 33))):
        shared.write(some(text, numbers))
        shared.java.compact("t", full=text == "a")
    assert any(file.vector for file in shared.table.live_files())
    assert shared.check_same().num_rows == 5000


def test_deletion_vectors_mark_rows_of_several_stripes(tmp_path: Path, paimon: Paimon) -> None:
    options = OPTIONS | {"deletion-vectors.enabled": "true", "orc.stripe.row.count": "1000"}
    shared = Shared(tmp_path, paimon, Shape("t", SMALL, ("k",), (), options))
    shared.write(some("a", range(5000)))
    shared.java.compact("t", full=True)
    shared.write(some("b", range(900, 4200, 100)))
    shared.java.compact("t", full=False)
    (path,) = {
        f"{file.folder(shared.table.layout)}/{file.name}"
        for file in shared.table.live_files()
        if file.vector
    }
    assert pa.orc.ORCFile(path).nstripes > 3
    assert shared.check_same().num_rows == 5000
    table = keyfold.connect(shared.folder).table(f"{NAMESPACE}.t")
    asked = [{"k": n} for n in (899, 900, 3100, 4100, 4999)]
    assert table.get_many(asked)["v"].to_pylist() == ["a899", "b900", "b3100", "b4100", "a4999"]


@pytest.mark.parametrize("legacy", ["true", "false"])
def test_a_writer_in_another_zone(tmp_path: Path, legacy: str) -> None:
    zone, columns = "America/New_York", {"k": "INT", "t": NTZ, "i": f"{NTZ} WITH LOCAL TIME ZONE"}
    days = ((2024, 1, 1), (2024, 7, 1), (1969, 12, 31))
    times = [dt.datetime(*day, 5, 30, 1, 250_001) for day in days]
    times.append(dt.datetime(2024, 11, 3, 1, 30))  # this hour comes twice on that day
    given = [
        (0, {"k": n, "t": time, "i": time.replace(tzinfo=dt.UTC)}) for n, time in enumerate(times)
    ]
    options = OPTIONS | {"orc.timestamp-ltz.legacy.type": legacy}
    with start((*SMALL_JVM, f"-Duser.timezone={zone}")) as elsewhere:
        shared = Shared(tmp_path, elsewhere, Shape("t", columns, ("k",), (), options))
        shared.write(given)
        layout = shared.table.layout
        assert shared.java.read(layout, "t").to_pylist() == [row for _, row in given]
        found = shared.keyfold.read(layout, "t")
    assert found["t"].to_pylist() == times
    # the files of Paimon's default have the instant of that time of day in the writer's zone
    written = dt.UTC if legacy == "false" else ZoneInfo(zone)
    instants = [time.replace(tzinfo=written, fold=1).astimezone(dt.UTC) for time in times]
    assert found["i"].to_pylist() == instants


def test_instants(tmp_path: Path, paimon: Paimon) -> None:
    instant = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)
    columns = {"k": "INT", "i": "TIMESTAMP(6) WITH LOCAL TIME ZONE"}
    shared = Shared(tmp_path, paimon, Shape("t", columns, ("k",), (), OPTIONS))
    shared.write([(0, {"k": 1, "i": instant})])
    assert shared.check_same()["i"].to_pylist() == [instant]


@BOTH
def test_a_damaged_file(tmp_path: Path, paimon: Paimon, options: dict[str, str]) -> None:
    shared = Shared(tmp_path, paimon, Shape("t", SMALL, ("k",), (), options))
    shared.write(some("a", range(2000)))
    table = keyfold.connect(shared.folder).table(f"{NAMESPACE}.t")
    assert table.check(pages=True) == []
    (path,) = shared.java.folder("t").rglob(f"bucket-0/*.{options['file.format']}")
    whole = path.read_bytes()
    path.write_bytes(whole[:50] + bytes(len(whole) - 80) + whole[-30:])
    with pytest.raises(CorruptDataError, match=str(path)):
        shared.keyfold.read(shared.table.layout, "t")
    path.write_bytes(whole[:-1])
    with pytest.raises(CorruptDataError, match="cut short"):
        shared.keyfold.read(shared.table.layout, "t")
    assert len(table.check(pages=True)) == 1
