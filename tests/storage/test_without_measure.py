"""Files of a table that have no end, claim any number of values, or nest without measure: each is
refused by name, at once and in little memory.
"""

import json
import os
import resource
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import fastavro
import pytest

import keyfold
from keyfold.errors import CorruptDataError
from keyfold.storage.metadata import documents
from keyfold.storage.table import Table
from tests.concurrency import jobs
from tests.concurrency.processes import elsewhere
from tests.storage import damaged, snapshots, tables
from tests.storage.crafted import Metadata

NEW = [{"k": 1, "v": 7}]
KINDS = (*damaged.KINDS, "LATEST")
HEADER: Any = {
    "type": "record",
    "name": "Header",
    "fields": [
        {"name": "magic", "type": {"type": "fixed", "name": "Magic", "size": 4}},
        {"name": "meta", "type": {"type": "map", "values": "bytes"}},
        {"name": "sync", "type": {"type": "fixed", "name": "Sync", "size": 16}},
        {"name": "count", "type": "long"},
        {"name": "data", "type": "bytes"},
        {"name": "end", "type": "Sync"},
    ],
}


@pytest.fixture
def folder(tmp_path: Path) -> str:
    tables.table(tmp_path, tables.new_table(bucket="1"))
    jobs.written(str(tmp_path), [{"k": k, "v": k} for k in range(9)])
    return str(tmp_path)


def path_of(found: Table, kind: str) -> Path:
    if kind == "LATEST":
        return Path(found.layout.location) / "snapshot" / "LATEST"
    return damaged.path_of(found, kind)


def pipe(path: Path) -> None:
    os.mkfifo(path)


def endless(path: Path) -> None:
    path.symlink_to("/dev/zero")


def large(path: Path) -> None:
    path.touch()
    os.truncate(path, 1 << 40)


@pytest.mark.parametrize("lay", [pipe, endless, large, Path.mkdir])
@pytest.mark.parametrize("kind", KINDS)
def test_a_file_of_another_kind(folder: str, kind: str, lay: Callable[[Path], None]) -> None:
    path = path_of(jobs.table_of(folder), kind)
    path.unlink()
    lay(path)
    damaged.forget()
    with pytest.raises(CorruptDataError, match=str(path)):
        jobs.rows_of(jobs.table_of(folder))
    if kind != "data file":
        with pytest.raises(CorruptDataError, match=str(path)):
            jobs.written(folder, NEW)
    assert jobs.dropped(folder)


def avro(schema: Any, count: int, data: bytes, codec: str = "null") -> bytes:
    """A file of one block that claims so many records."""
    out = BytesIO()
    meta = {"avro.schema": json.dumps(schema).encode(), "avro.codec": codec.encode()}
    one = {"magic": b"Obj\x01", "meta": meta, "sync": bytes(16), "end": bytes(16)}
    header = fastavro.parse_schema(HEADER)
    fastavro.schemaless_writer(out, header, one | {"count": count, "data": data})
    return out.getvalue()


def record(name: str, *types: Any) -> dict[str, Any]:
    fields = [{"name": f"f{place}", "type": kind} for place, kind in enumerate(types)]
    return {"type": "record", "name": name, "fields": fields}


def chain(length: int) -> list[Any]:
    """Types of which each holds the one before: no nesting in JSON, and any depth of values."""
    links = [record("r0", "int")]
    return [*links, *(record(f"r{n}", f"r{n - 1}") for n in range(1, length))]


def nested(depth: int) -> Any:
    found: Any = "int"
    for _ in range(depth):
        found = {"type": "array", "items": found}
    return found


ITSELF = record("r", ["null", "r"])
WITHOUT_END = {
    "a number of nothing": avro(record("r"), 1 << 40, b""),
    "a number of nulls": avro("null", 1 << 40, b"12345678"),
    "a list of nothing": avro(
        record("r", {"type": "array", "items": record("n")}), 1, b"\x80\x80\x80\x80\x80\x40\x00"
    ),
    "fixed values without bytes": avro(
        record("r", {"type": "fixed", "name": "f", "size": 0}), 1 << 30, b"1"
    ),
    "more than there are": avro(record("r", "int"), 1 << 40, bytes(100)),
    "more than follow": avro(record("r", "string"), 50, bytes(4) + b"\x7f" * 60),
    "fewer than none": avro(record("r", "int"), -1, bytes(100)),
    "a type that holds itself": avro(ITSELF, 1, b"\x02" * 2_000_000 + b"\x00"),
    "types that hold each other": avro(record("a", record("b", ["null", "a"])), 1, b"\x02" * 99),
    "a long chain of types": avro(record("top", chain(20_000)), 1, bytes(9)),
    "deep lists": avro(nested(60), 1, b"\x02" * 60),
    "a deep schema": avro(nested(900), 1, b"\x02" * 60),
    "an unknown codec": avro(record("r", "int"), 1, bytes(9), "sesame"),
}


@pytest.mark.parametrize("what", WITHOUT_END)
def test_avro_without_measure(folder: str, what: str) -> None:
    found = Metadata(jobs.table_of(folder))
    path = found.location / "manifest" / found.snapshot["deltaManifestList"]
    path.write_bytes(WITHOUT_END[what])
    found.say(deltaManifestListSize=path.stat().st_size)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for ask in (lambda: jobs.rows_of(jobs.table_of(folder)), lambda: jobs.written(folder, NEW)):
        with pytest.raises(CorruptDataError, match=str(path)):
            ask()  # type: ignore[no-untyped-call]
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200 << 10


@pytest.mark.parametrize("codec", ["zstandard", "deflate", "bzip2", "xz"])
def test_what_grows_when_it_is_decompressed(codec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert documents.MOST_BYTES == 256 << 20
    monkeypatch.setattr(documents, "MOST_BYTES", 16 << 20)
    out, schema = BytesIO(), fastavro.parse_schema(record("r", "bytes"))
    fastavro.writer(out, schema, [{"f0": bytes(20 << 20)}], codec=codec, sync_interval=1)
    with pytest.raises(ValueError, match="holds more than 16 MiB"):
        documents.decode(out.getvalue())


def data_bytes() -> int:
    """What a worker's cap counts."""
    return int(Path("/proc/self/statm").read_text().split()[5]) * resource.getpagesize()


@pytest.mark.parametrize("codec", ["zstandard", "deflate", "snappy", "bzip2", "xz"])
def test_what_can_not_be_decompressed_leaves_no_memory(codec: str) -> None:
    bad, before = avro(record("r", "int"), 1, b"abc" * 9, codec), data_bytes()
    for _ in range(3):
        with pytest.raises(Exception):  # noqa: B017,PT011 - each codec has its own
            documents.decode(bad)
    assert data_bytes() - before < 200 << 20


def failure_without_memory(folder: str) -> type[BaseException] | None:
    found = jobs.table_of(folder)
    limit = data_bytes() + (32 << 20)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    try:
        jobs.rows_of(found)
    except BaseException as error:
        return type(error)
    return None


def test_memory_that_ends_is_no_damage(tmp_path: Path) -> None:
    """Advice to go back to another snapshot would lose what is whole."""
    folder = str(tmp_path)
    table = keyfold.connect(folder).create_table("t", {"k": "INT", "v": "STRING"}, ["k"])
    table.upsert([{"k": 1, "v": "long" * (16 << 20)}])
    assert issubclass(elsewhere(failure_without_memory, folder), MemoryError)


@pytest.mark.parametrize("codec", ["null", "zstandard", "deflate", "snappy", "bzip2", "xz"])
def test_codecs_and_blocks(codec: str) -> None:
    """Several blocks, types that are named twice, and a schema with a namespace."""
    inner = record("x.y.Inner", "int", ["null", "string"])
    schema = record("x.Outer", inner, "x.y.Inner", {"type": "map", "values": "long"})
    one = {"f0": 1, "f1": "a" * 99}
    rows = [{"f0": one, "f1": {"f0": n, "f1": None}, "f2": {"n": n}} for n in range(5000)]
    out = BytesIO()
    fastavro.writer(out, fastavro.parse_schema(schema), rows, codec=codec, sync_interval=999)
    assert documents.decode(out.getvalue()) == rows
    out = BytesIO()
    fastavro.writer(out, fastavro.parse_schema(schema), [], codec=codec)
    assert documents.decode(out.getvalue()) == []


@pytest.mark.parametrize("depth", [150, 100_000])
@pytest.mark.parametrize("kind", ["snapshot", "schema"])
def test_json_without_measure(folder: str, kind: str, depth: int) -> None:
    path = damaged.path_of(jobs.table_of(folder), kind)
    deep = '{"a":[' * (depth + 1) + "]}" * (depth + 1)
    path.write_text(path.read_text().replace("{", f'{{"deep": {deep}, ', 1))
    damaged.forget()
    with pytest.raises(CorruptDataError, match=f"{path}.*nested deeper than 200"):
        jobs.rows_of(jobs.table_of(folder))


@pytest.mark.parametrize("name", ["tag/tag-a", "consumer/consumer-a", "changelog/changelog-1"])
def test_json_of_others_without_measure(folder: str, name: str) -> None:
    jobs.written(folder, NEW, "overwrite")
    path = Path(jobs.table_of(folder).layout.location) / name
    path.parent.mkdir()
    path.write_text("[" * 100_000 + "]" * 100_000)
    with pytest.raises(CorruptDataError, match=f"{path}.*nested deeper than 200"):
        snapshots.expired(jobs.table_of(folder))


def test_a_sequence_number_after_which_none_comes(folder: str) -> None:
    """The table is read, and can be emptied; no row can be added."""
    before = jobs.rows_of(jobs.table_of(folder))
    Metadata(jobs.table_of(folder)).of_manifest(
        "deltaManifestList",
        0,
        lambda entry: entry["_FILE"].update(_MAX_SEQUENCE_NUMBER=(1 << 63) - 1),
    )
    (file,) = jobs.table_of(folder).live_files()
    assert jobs.rows_of(jobs.table_of(folder)) == before
    with pytest.raises(CorruptDataError, match=f"{file.name} has sequence number .*TRUNCATE"):
        jobs.written(folder, NEW)
    jobs.truncated(folder)
    jobs.written(folder, NEW)
    assert jobs.rows_of(jobs.table_of(folder)) == {1: 7}


def test_numbers_without_measure(folder: str) -> None:
    """Avro's and JSON's have no end, and names of files may hold any."""
    found = Metadata(jobs.table_of(folder))
    for name in ("snapshot/snapshot-" + "9" * 40, "schema/schema-" + "9" * 40, "tag-\u0663"):
        (found.location / name).touch()
    (found.location / "snapshot" / "LATEST").write_text("9" * 400)
    assert len(jobs.rows_of(jobs.table_of(folder))) == 9
    found.say(totalRecordCount=1 << 64)
    with pytest.raises(CorruptDataError, match="total_record_count is 18446744073709551616"):
        jobs.rows_of(jobs.table_of(folder))
