"""Bloom filters and bitmaps that Paimon's Java library wrote, and filters that it reads: files
without a key or a value that is asked for stay closed.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import keyfold
from integration.paimon.library import Paimon, RefusedByPaimon
from integration.paimon.sides import NAMESPACE, Change, Java, Keyfold, Shape
from keyfold.errors import CorruptDataError
from keyfold.files.indexes.file_indexes import Spans, indexes_of
from keyfold.lookup.indexes import MOST_KEYS
from keyfold.lookup.lookup_plan import plan_lookup
from keyfold.lookup.rows_of_keys import look_up
from keyfold.read.request import ReadRequest
from keyfold.read.scan_plan import plan_read
from keyfold.tables.table import Table
from keyfold.types.literals import Constant, manifest_values
from keyfold.types.logical import Atomic
from keyfold.wire.predicates import Named, Predicate
from tests.procedures.called import called

PLACES = {"beside": {"file-index.in-manifest-threshold": "1 b"}, "embedded": {}}
DAY, MOMENT = dt.date(1969, 6, 1), dt.datetime(1969, 6, 1, 1, 2, 3, 4_000)
KEYS: dict[str, Sequence[Any]] = {
    "TINYINT": range(-100, 100, 2),
    "INT": range(5 - (1 << 31), 1 << 31, 1 << 26),
    "BIGINT": range(-(1 << 63), 1 << 63, 1 << 58),
    "STRING": [f"{'ä' * (n % 50)}{n:03}" for n in range(0, 200, 2)],
    "BYTES": [bytes([n]) * (n % 70 + 1) for n in range(0, 200, 2)],
    "DATE": [DAY + dt.timedelta(n) for n in range(0, 400, 4)],
    "TIMESTAMP(3)": [MOMENT + dt.timedelta(hours=n) for n in range(0, 400, 4)],
    "TIMESTAMP(6)": [MOMENT + dt.timedelta(microseconds=n) for n in range(0, 400, 4)],
}


class Indexed:
    """A table of two files of one key range, whose even places the one has, the other the odd."""

    def __init__(self, folder: Path, paimon: Paimon, kind: str, options: dict[str, str]) -> None:
        own = {"bucket": "1", "file-index.bloom-filter.columns": "k"}
        own |= {"file-index.bloom-filter.k.items": "200", "file-index.bloom-filter.k.fpp": "0.001"}
        self.keyfold, self.java = Keyfold(folder), Java(folder, paimon)
        self.keys, self.folder = KEYS[kind], folder
        self.java.create(Shape("t", {"k": kind, "v": "INT"}, ("k",), (), own | options))
        layout = self.keyfold.table("t").layout
        for first in (0, 1):
            rows = [(0, {"k": key, "v": first}) for key in self.keys[first::2]]
            self.java.write(layout, "t", rows)

    @property
    def table(self) -> Table:
        """The table, whose look-ups keep what they have read."""
        return keyfold.connect(str(self.folder)).table(f"{NAMESPACE}.t")

    def looked_up(self, keys: list[dict[str, Any]]) -> list[Any]:
        """The values of keys, one by one, by look-ups that keep nothing."""
        table = self.keyfold.table("t")
        plan = plan_lookup(table, ["v"])
        schema = pa.schema([table.layout.column("k").arrow_field])
        asked = [pa.RecordBatch.from_pylist([key], schema) for key in keys]
        return [look_up(plan, one)[1].column("v")[0].as_py() for one in asked]

    def data_files(self) -> list[Path]:
        """In the order in which they were written."""
        found = [*self.java.folder("t").glob("bucket-0/data-*.parquet")]
        return sorted(found, key=lambda path: path.stat().st_mtime_ns)


@pytest.mark.parametrize("where", PLACES)
@pytest.mark.parametrize("kind", KEYS)
def test_files_without_the_key_stay_closed(
    tmp_path: Path, paimon: Paimon, kind: str, where: str
) -> None:
    made = Indexed(tmp_path, paimon, kind, PLACES[where])
    first, second = made.data_files()
    assert bool([*first.parent.glob("*.index")]) == (where == "beside")
    asked, found = [{"k": key} for key in made.keys], [n % 2 for n in range(len(made.keys))]
    assert made.table.get_many(asked[:MOST_KEYS])["v"].to_pylist() == found[:MOST_KEYS]
    assert made.table.get_many(asked)["v"].to_pylist() == found
    second.rename(second.with_suffix(".away"))
    # these are between the first and the last key of the file that is missing
    inside = asked[2:-1:2]
    assert [made.table.get(key) for key in inside] == [key | {"v": 0} for key in inside]
    assert made.looked_up(inside) == [0] * len(inside)
    for ask in (made.table.get, lambda key: made.looked_up([key])):
        with pytest.raises(CorruptDataError, match=f"{second.name} can't be read: it is missing"):
            ask(asked[3])


@pytest.mark.parametrize("where", PLACES)
def test_columns_that_are_not_what_the_index_is_of(
    tmp_path: Path, paimon: Paimon, where: str
) -> None:
    """Renamed, and of another type: a filter of the one name may be of another column's values."""
    made = Indexed(tmp_path, paimon, "INT", PLACES[where] | {"write-only": "true"})
    for change in (
        Change("rename", "k", "old"),
        Change("add", "k", "INT"),
    ):
        made.java.alter("t", change)
    found = made.table.get_many([{"old": key} for key in made.keys])["v"].to_pylist()
    assert found == [place % 2 for place in range(len(made.keys))]


def test_an_index_that_is_damaged_or_missing_decides_nothing(
    tmp_path: Path, paimon: Paimon
) -> None:
    made = Indexed(tmp_path, paimon, "INT", PLACES["beside"])
    one, other = sorted(made.java.folder("t").glob("bucket-0/*.index"))
    one.write_bytes(one.read_bytes()[:100])
    other.unlink()
    found = [made.table.get({"k": key}) for key in made.keys]
    assert [row and row["v"] for row in found] == [n % 2 for n in range(len(made.keys))]


KINDS = dict(zip("abcdefgh", KEYS, strict=True)) | {
    "x": "SMALLINT",
    "y": "FLOAT",
    "z": "DOUBLE",
}
VALUES = {name: KEYS[kind] for name, kind in KINDS.items() if kind in KEYS}
VALUES |= {
    "x": range(-100, 100, 2),
    "y": [n / 4 for n in range(100)],
    "z": [n / 3 for n in range(100)],
}


def value(name: str, place: int) -> Any:
    """A value of a column; of types with few of them they come again."""
    return VALUES[name][place % len(VALUES[name])]


def asked_for(names: Sequence[str], kind: str = "bloom-filter") -> dict[str, str]:
    """The options of a table whose files have small filters of these columns."""
    found = {f"file-index.{kind}.columns": ",".join(names), "bucket": "1"}
    found |= {f"file-index.bloom-filter.{name}.items": "200" for name in names}
    return found | {f"file-index.bloom-filter.{name}.fpp": "0.001" for name in names}


def _spans(data: bytes, spans: Spans) -> list[bytes]:
    return [data[slice(*span)] for span in spans]


def index_in(folder: Path) -> bytes:
    """The bytes of the one index file."""
    (path,) = folder.glob("bucket-0/*.index")
    return path.read_bytes()


@pytest.mark.parametrize("names", [["a"], [*KINDS]])
def test_filters_are_javas(tmp_path: Path, paimon: Paimon, names: list[str]) -> None:
    own, java = Keyfold(tmp_path), Java(tmp_path, paimon)
    rows = [
        (0, {"k": n} | {name: value(name, n) if n % 7 else None for name in KINDS})
        for n in range(100)
    ]
    found = []
    for name, side in (("ours", own), ("theirs", java)):
        options = asked_for(names) | PLACES["beside"]
        java.create(Shape(name, {"k": "INT"} | KINDS, ("k",), (), options))
        side.write(own.table(name).layout, name, rows)
        found.append(index_in(side.folder(name)))
    ours, theirs = (indexes_of(partial(_spans, data), names) for data in found)
    assert ours == theirs
    assert sorted(ours) == sorted(names)
    if len(names) == 1:  # Java's order of several is that of its hash tables
        assert found[0] == found[1]


@pytest.mark.parametrize("is_rewritten", [False, True])
@pytest.mark.parametrize("where", PLACES)
def test_java_leaves_out_files_by_our_filters(
    tmp_path: Path, paimon: Paimon, where: str, *, is_rewritten: bool
) -> None:
    own, java = Keyfold(tmp_path), Java(tmp_path, paimon)
    options = asked_for(["s"]) | (PLACES[where] or {"file-index.in-manifest-threshold": "1 mb"})
    java.create(Shape("t", {"k": "INT", "s": "STRING"}, ("k",), (), options))
    layout = own.table("t").layout
    for first in (0, 1):
        own.write(layout, "t", [(0, {"k": n, "s": f"s{2 * n}"}) for n in range(first, 100, 2)])
    own.compact("t", full=True)
    if is_rewritten:
        table = keyfold.connect(str(tmp_path)).table(f"{NAMESPACE}.t")
        table.alter(options={"file-index.bloom-filter.s.fpp": "0.0001"})
        (answer,) = called(own.table("t"), "rewrite_file_index")
        assert answer["written_indexes"] == 1
    assert [row for row in paimon.read_equal(own.folder("t"), "s", "s8") if row[1] == "s8"]
    (data,) = (
        path for path in own.folder("t").glob("bucket-0/data-*.parquet") if _is_live(own, path)
    )
    data.rename(data.with_suffix(".away"))
    assert paimon.read_equal(own.folder("t"), "s", "s9") == []
    with pytest.raises(RefusedByPaimon, match="FileNotFound"):
        paimon.read_equal(own.folder("t"), "s", "s8")


def _is_live(own: Keyfold, path: Path) -> bool:
    return path.name in {file.name for file in own.table("t").live_files()}


@pytest.mark.parametrize("version", ["1", "2"])
def test_bitmaps_leave_out_files(tmp_path: Path, paimon: Paimon, version: str) -> None:
    own, java = Keyfold(tmp_path), Java(tmp_path, paimon)
    names = [*"cdfgh", "x"]
    options = asked_for([*names, "n"], "bitmap") | {
        f"file-index.bitmap.{name}.version": version for name in [*names, "n"]
    }
    options = {name: text for name, text in options.items() if "bloom" not in name}
    columns = {"k": "INT", "n": "BOOLEAN"} | {name: KINDS[name] for name in names}
    java.create(Shape("t", columns, ("k",), (), options))
    layout = own.table("t").layout
    rows = [
        (0, {"k": n, "n": True} | {name: value(name, 2 * n) for name in names}) for n in range(50)
    ]
    java.write(layout, "t", rows)
    java.compact("t", full=True)

    def read(predicate: Predicate) -> int:
        request = ReadRequest(own.table("t").layout.arrow_schema.names, (predicate,))
        return plan_read(own.table("t"), request)[2].files_read

    for name in names:
        kind = layout.column(name)
        values = manifest_values(
            pa.array([VALUES[name][at] for at in (20, 21)], kind.arrow_field.type)
        )
        assert isinstance(kind.type, Atomic)
        spark = kind.type.spelled(kind.type.facts.spark)
        there, other = (
            Predicate("=", (Named((name,)), Constant(value, spark))) for value in values
        )
        assert (name, read(there), read(other)) == (name, 1, 0)
        assert read(Predicate("IS_NULL", (Named((name,)),))) == 0
    assert read(Predicate("=", (Named(("n",)), Constant(False, "boolean")))) == 0
    assert own.read(layout, "t").num_rows == 50


def test_bit_sliced_indexes_do_no_harm(tmp_path: Path, paimon: Paimon) -> None:
    own, java = Keyfold(tmp_path), Java(tmp_path, paimon)
    java.create(
        Shape(
            "t",
            {"k": "INT", "v": "INT"},
            ("k",),
            (),
            {"bucket": "1", "file-index.bsi.columns": "v"},
        )
    )
    layout = own.table("t").layout
    java.write(layout, "t", [(0, {"k": n, "v": n}) for n in range(9)])
    own.write(layout, "t", [(0, {"k": 3, "v": 30})])
    own.compact("t", full=True)
    assert own.read(layout, "t").column("v").to_pylist() == [0, 1, 2, 30, 4, 5, 6, 7, 8]
