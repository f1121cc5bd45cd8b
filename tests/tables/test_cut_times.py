"""TIMESTAMP columns of 7 to 9 digits that other writers made: read as Spark cuts them."""

from __future__ import annotations

import contextlib
import datetime as dt
import random
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import orc

import keyfold
from keyfold.errors import NotSupportedError
from keyfold.files.column_mapping import StoredColumn, adapt, stored_columns
from keyfold.files.footers import footer_of
from keyfold.files.int96 import with_plain_bytes
from keyfold.files.leaves import leaves_of
from keyfold.predicates.statistics import ranges_of
from keyfold.read.formats.orc import _typed
from keyfold.storage.maintenance.expire import check_expirable
from keyfold.storage.support import check_readable, check_writable
from keyfold.stores.local import LocalFiles
from keyfold.types.paimon import from_paimon
from keyfold.wire.layout import Column, TableLayout
from tests import readers
from tests.storage import tables

ZONE = dt.timezone.utc
NANOS = "TIMESTAMP(9)"
SCHEMA = pa.schema(
    [
        pa.field("k", pa.int64(), False),
        ("t", pa.timestamp("ns")),
        ("z", pa.timestamp("ns", "UTC")),
    ]
)
COLUMNS = {
    "k": "BIGINT NOT NULL",
    "t": NANOS,
    "z": "TIMESTAMP(7) WITH LOCAL TIME ZONE",
}


def cut(nanos: int | None, zone: dt.tzinfo | None = None) -> dt.datetime | None:
    """The microsecond that these nanoseconds since 1970 are in."""
    if nanos is None:
        return None
    return dt.datetime(1970, 1, 1, tzinfo=zone) + dt.timedelta(microseconds=nanos // 1000)


def row(k: int, nanos: int | None) -> dict[str, Any]:
    return {"k": k, "t": cut(nanos), "z": cut(nanos, ZONE)}


def theirs(folder: Path, key: list[str], format: str, *jobs: dict[int, int | None]) -> None:
    """A table that pypaimon wrote, in one commit for each job: nanoseconds by key."""
    options = {"file.format": format, **({"bucket": "1"} if key else {})}
    readers.create(folder, "default.t", COLUMNS, key=key, **options)
    for job in jobs:
        values = {"k": [*job], "t": [*job.values()], "z": [*job.values()]}
        readers.write(folder, "default.t", pa.table(values, SCHEMA))


@pytest.mark.parametrize(
    ("key", "format"), [(["k"], "parquet"), ([], "parquet"), (["k"], "orc"), ([], "orc")]
)
def test_rows_and_conditions(tmp_path: Path, key: list[str], format: str) -> None:
    near = [-2000, -1999, -1001, -1000, -999, -1, 0, 1, 999, 1000, 1999, None]
    far = [random.randrange(-(2**62), 2**62) for _ in range(8)]
    first = dict(enumerate([*near, *far]))
    second = {100 + k: nanos for k, nanos in first.items()} | ({0: 1234, 5: -1234} if key else {})
    theirs(tmp_path, key, format, first, second)
    table = keyfold.connect(tmp_path).table("t")
    rows = [row(k, nanos) for k, nanos in (first | second).items()]
    found = table.scan().to_pylist()
    assert sorted(found, key=lambda r: r["k"]) == sorted(rows, key=lambda r: r["k"])
    for nanos in (-1, 0, -2000, 1234, far[0]):
        at = cut(nanos)
        assert at is not None
        for operator in ("=", "<", ">="):
            asked = {
                r["k"]
                for r in rows
                if r["t"] is not None
                and {"=": r["t"] == at, "<": r["t"] < at, ">=": r["t"] >= at}[operator]
            }
            for name, text in (("t", "TIMESTAMP_NTZ"), ("z", "TIMESTAMP")):
                literal = at.isoformat(" ") + ("Z" if name == "z" else "")
                got = table.scan(["k"], f"{name} {operator} {text} '{literal}'").to_pylist()
                assert {r["k"] for r in got} == asked, (name, operator, literal)
    if key:
        assert table.get({"k": 5}) == row(5, -1234)
    why = "column t holds" if format == "parquet" else "option file.format"
    with pytest.raises(NotSupportedError, match=why if key else "no primary key"):
        table.upsert([row(1, 0)])
    if key and format == "parquet":  # what only drops snapshots stores no values
        stored = tables.catalog(tmp_path).load_table(["default"], "t")
        check_expirable(stored)
        with pytest.raises(NotSupportedError, match="column t holds"):
            stored.check_rewritable()


def test_bounds_of_row_groups_are_cut_alike(tmp_path: Path) -> None:
    numbers = [-1001, -1, 0, 1999]
    kind = from_paimon(NANOS)
    source = StoredColumn(Column(0, "t", kind), "t", kind)
    rows = pa.table({"t": pa.array(numbers, pa.timestamp("ns"))})
    path = tmp_path / "of nanoseconds"
    pq.write_table(rows, path, row_group_size=1)
    file = pq.ParquetFile(path)
    leaves = leaves_of(file.metadata)
    for group, number in enumerate(numbers):
        known = ranges_of(file.metadata.row_group(group), leaves, [source])["t"]
        assert (known.low, known.high) == (number // 1000, number // 1000)


def test_files_of_int96(tmp_path: Path) -> None:
    """As Paimon's Java writes them; below lists and structs too, in a footer of many fields."""
    kind = from_paimon(NANOS)
    numbers = [-1001, None, -1, 0, 1999, *(random.randrange(-(2**62), 2**62) for _ in range(40))]
    times = pa.array(numbers, pa.timestamp("ns"))
    lists = pa.array([[n] for n in numbers], pa.list_(times.type))
    structs = pa.StructArray.from_arrays([times, times.cast(pa.int64())], ["x", "y"])
    columns = {f"c{n}": pa.array(range(len(numbers))) for n in range(20)}
    rows = pa.table({"t": times, **columns, "several": lists, "held": structs})
    path = tmp_path / "file"
    pq.write_table(rows, path, row_group_size=7, use_deprecated_int96_timestamps=True)
    metadata = footer_of(LocalFiles(), str(path), path.stat().st_size).metadata
    source = StoredColumn(Column(0, "t", kind), "t", kind)
    assert ranges_of(metadata.row_group(0), leaves_of(metadata), [source]) == {}
    found = pq.ParquetFile(path, metadata=metadata).read()
    assert found.schema.field("t").type == pa.binary(12)
    expected = [None if n is None else n // 1000 for n in numbers]
    got = adapt(found["t"].combine_chunks(), kind, kind)
    assert got.cast(pa.int64()).to_pylist() == expected
    listed = from_paimon({"type": "ARRAY", "element": NANOS})
    got = adapt(found["several"].combine_chunks(), listed, listed)
    assert got.flatten().cast(pa.int64()).to_pylist() == expected
    x = found["held"].combine_chunks().field("x")
    assert adapt(x.slice(3), kind, kind).cast(pa.int64()).to_pylist() == expected[3:]
    assert found.select([*columns]).equals(rows.select([*columns]))
    content = path.read_bytes()
    end = content[-8 - int.from_bytes(content[-8:-4], "little") :]
    assert len(with_plain_bytes(end)) > len(end)
    for stop in range(0, 400, 7):
        with contextlib.suppress(IndexError):  # and no other error
            with_plain_bytes(end[:stop])


def test_values_inside_of_others_in_orc(tmp_path: Path) -> None:
    times = pa.timestamp("ns")
    struct = pa.struct([("n", pa.int32()), ("x", times)])
    types = {"a": pa.list_(times), "m": pa.map_(pa.string(), times), "r": struct}
    numbers = [-1001, -1, None, 1999]
    values = {
        "a": [[n, 0] for n in numbers],
        "m": [[("y", n)] for n in numbers],
        "r": [{"n": 1, "x": n} for n in numbers],
    }
    fields = [{"id": 0, "name": "n", "type": "INT"}, {"id": 1, "name": "x", "type": NANOS}]
    columns: dict[str, Any] = {
        "a": {"type": "ARRAY", "element": NANOS},
        "m": {"type": "MAP", "key": "STRING", "value": NANOS},
        "r": {"type": "ROW", "fields": fields},
    }
    rows = pa.table({n: pa.array(values[n], types[n]) for n in types})
    path = tmp_path / "file"
    orc.write_table(rows, path)
    found = orc.ORCFile(path).read_stripe(0)
    expected = {
        "a": [[cut(n), cut(0)] for n in numbers],
        "m": [[("y", cut(n))] for n in numbers],
        "r": [{"n": 1, "x": cut(n)} for n in numbers],
    }
    for name, spelled in columns.items():
        kind = from_paimon(spelled)
        typed = _typed(str(path), name, found.column(name), kind)
        assert adapt(typed, kind, kind).to_pylist() == expected[name]


@pytest.mark.parametrize(
    ("today", "shown"),
    [
        ("STRING", "STRING"),
        ("TIMESTAMP(6)", "TIMESTAMP(6)"),
        ("TIMESTAMP(6) WITH LOCAL TIME ZONE", "TIMESTAMP(6) WITH LOCAL TIME ZONE"),
    ],
)
def test_another_type_of_today_that_would_store_what_was_cut(
    tmp_path: Path, today: str, shown: str
) -> None:
    """Once the table has that type, nothing else would say that its old files hold more."""
    old = layout(tmp_path)
    new = replace(layout(tmp_path / "new", today), schema_id=1)
    message = f"column t: files hold TIMESTAMP(9) where the table has {shown} now"
    with pytest.raises(NotSupportedError, match=re.escape(message)):
        stored_columns(new, old)
    stored_columns(
        replace(layout(tmp_path / "cut", "TIMESTAMP(8)"), schema_id=1),
        layout(tmp_path / "six", "TIMESTAMP(6)"),
    )


def test_values_inside_of_others() -> None:
    kind = from_paimon({"type": "ARRAY", "element": NANOS})
    array = pa.array([[-1, None], None, [1000]], pa.list_(pa.timestamp("ns")))
    assert adapt(array, kind, kind).to_pylist() == [[cut(-1), None], None, [cut(1000)]]


def layout(folder: Path, kind: Any = NANOS, **changes: Any) -> TableLayout:
    """A table of column `t` besides `k` and `v`; `options` are added to its own."""
    found = tables.table(folder).layout
    column = Column(9, "t", from_paimon(kind))
    options = {**found.options, **changes.pop("options", {})}
    return replace(found, columns=(*found.columns, column), options=options, **changes)


MAP = {"type": "MAP", "key": "TIMESTAMP(8)", "value": "INT"}
ARRAY = {"type": "ARRAY", "element": "TIMESTAMP(8)"}


@pytest.mark.parametrize(
    ("kind", "changes", "message"),
    [
        (NANOS, {"primary_key": ("k", "t")}, "keys that differ .*; column t holds TIMESTAMP.9."),
        (NANOS, {"primary_key": (), "partition_keys": ("t",)}, "partitions that differ"),
        (NANOS, {"options": {"sequence.field": "v,t"}}, "its option sequence.field says"),
        (
            NANOS,
            {"options": {"fields.t.sequence-group": "v", "merge-engine": "partial-update"}},
            "its option fields.t.sequence-group says",
        ),
        (MAP, {}, r"keys of a MAP .*column t holds TIMESTAMP\(8\), expected at most 6 digits"),
        (
            ARRAY,
            {"options": {"fields.t.aggregate-function": "collect"}},
            "its option fields.t.aggregate-function may compare",
        ),
        (
            ARRAY,
            {"options": {"fields.default-aggregate-function": "collect"}},
            "its option fields.default-aggregate-function may compare",
        ),
    ],
)
def test_digits_that_decide(
    tmp_path: Path, kind: Any, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(NotSupportedError, match=f"can't be read here: .*{message}"):
        check_readable(layout(tmp_path, kind, **changes))


def test_options_that_only_name_the_column(tmp_path: Path) -> None:
    member = {"fields.v.sequence-group": "t", "merge-engine": "partial-update"}
    check_readable(layout(tmp_path, options=member))
    ignored = {"changelog-producer.row-deduplicate-ignore-fields": "t"}
    check_readable(layout(tmp_path / "ignored", options=ignored))


@pytest.mark.parametrize("kind", [NANOS, ARRAY, "TIMESTAMP(7) WITH LOCAL TIME ZONE"])
def test_read_and_never_written(tmp_path: Path, kind: Any) -> None:
    aged = {"record-level.expire-time": "1 d", "record-level.time-field": "t"}
    found = layout(tmp_path, kind, options=aged if kind == NANOS else {})
    check_readable(found)
    with pytest.raises(NotSupportedError, match=r"written here: .*; column t holds TIMESTAMP"):
        check_writable(found, rows=True)
    check_writable(found)
