"""Bloom filters that Paimon's Java library wrote: files without a key that is asked for stay
closed.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import keyfold
from integration.paimon.library import Paimon
from integration.paimon.sides import NAMESPACE, Change, Java, Keyfold, Shape
from keyfold.errors import CorruptDataError
from keyfold.lookup.indexes import MOST_KEYS
from keyfold.lookup.lookup_plan import plan_lookup
from keyfold.lookup.rows_of_keys import look_up
from keyfold.tables.table import Table

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
