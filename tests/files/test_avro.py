"""Avro data files: their columns are what was written, whatever the types, and bytes that are not
what was written are refused in little memory.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from io import BytesIO
from random import Random
from typing import Any

import fastavro
import pyarrow as pa
import pytest

from keyfold.errors import NotSupportedError
from keyfold.files.avro.columns import check_records, columns_of
from keyfold.files.avro.program import names_of, program_of
from keyfold.stores import avro_blocks
from keyfold.types.arrow import to_arrow
from keyfold.types.logical import DataType
from keyfold.types.paimon import from_paimon
from tests.files.avro_files import a_type, avro_file, some_rows
from tests.random_values import same

CODECS = ("null", "zstandard", "snappy", "deflate", "bzip2", "xz")
MOST = 1 << 20


def read(data: bytes, types: Mapping[str, DataType]) -> list[dict[str, Any]]:
    """The rows of a file, in some columns of it."""
    source = avro_blocks.opened(BytesIO(data), len(data))
    program = program_of(source.schema, tuple(types))
    schema = pa.schema([(name, to_arrow(types[name])) for name in program.columns])
    found = []
    for count, content in avro_blocks.blocks(source, MOST):
        check_records(content, count, program_of(source.schema, ()))
        batch = pa.RecordBatch.from_arrays(
            columns_of(content, count, program, types), schema=schema
        )
        batch.validate(full=True)
        found += batch.to_pylist()
    return found


@pytest.mark.parametrize("seed", range(12))
def test_columns_of_every_type(seed: int) -> None:
    random = Random(seed)
    types = {f"c{n}": a_type(random) for n in range(8)}
    rows = some_rows(types, 60, random)
    data = avro_file(types, rows, CODECS[seed % len(CODECS)])
    assert names_of(avro_blocks.opened(BytesIO(data), len(data)).schema) == tuple(types)
    assert same(read(data, types), rows)
    some = dict(random.sample(list(types.items()), 3))
    expected = [{name: row[name] for name in types if name in some} for row in rows]
    assert same(read(data, some), expected)


@pytest.mark.parametrize("seed", range(6))
def test_changed_bytes_are_refused_or_other_rows(seed: int) -> None:
    random = Random(seed)
    types = {f"c{n}": a_type(random) for n in range(5)}
    whole = avro_file(types, some_rows(types, 30, random), block=500)
    start = whole.index(b"avro.schema")
    for _ in range(150):
        data = bytearray(whole)
        data[random.randrange(start, len(data))] ^= 1 << random.randrange(8)
        with suppress(ValueError, LookupError, NotSupportedError):  # as `damage.decoding` expects
            read(bytes(data), types)


def of(schema: Any, count: int, content: bytes) -> None:
    """Decode the content of a block that claims so many records."""
    text = json.dumps({"type": "record", "name": "r", "fields": schema}).encode()
    program = program_of(text, tuple(one["name"] for one in schema))
    columns_of(content, count, program, {"a": from_paimon("INT"), "b": from_paimon("STRING")})


NUMBER, TEXT = {"name": "a", "type": "int"}, {"name": "b", "type": "string"}
REFUSED = [
    ([NUMBER], 1, b"\x80\x80\x80\x80\x80\x01", "record 1 of 1"),  # more than 32 bits
    ([NUMBER], 2, b"\x02", "record 2 of 2"),
    ([NUMBER], 1, b"\x02\x02", "1 bytes more"),
    ([TEXT], 1, b"\x7f", "record 1 of 1"),  # a length below 0
    ([TEXT], 1, b"\x08abc", "record 1 of 1"),
    ([TEXT], 1, b"\x02\xff", "record 1 of 1"),  # not UTF-8
    ([{"name": "a", "type": ["null", "int"]}], 1, b"\x04", "record 1 of 1"),  # no such branch
    ([{"name": "a", "type": "string"}], 1, b"\x02x", "column a: expected INT, found string"),
    ([{"name": "b", "type": "bytes"}], 1, b"\x02x", "column b: expected STRING, found bytes"),
    ([NUMBER, NUMBER], 1, b"\x02\x02", "two fields a"),
]


@pytest.mark.parametrize(("schema", "count", "content", "message"), REFUSED)
def test_what_is_not_as_the_schema_says(
    schema: Any, count: int, content: bytes, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        of(schema, count, content)


def test_unions_of_several_types_are_refused_where_they_are_read() -> None:
    odd = {"name": "c", "type": ["null", "int", "string"]}
    text = json.dumps({"type": "record", "name": "r", "fields": [NUMBER, odd]}).encode()
    with pytest.raises(NotSupportedError, match="column c has values of"):
        program_of(text, ("a", "c"))
    program = program_of(text, ("a",))
    content = b"\x02\x04\x02x\x04\x02\x06\x06\x00"
    (found,) = columns_of(content, 3, program, {"a": from_paimon("INT")})
    assert found.to_pylist() == [1, 2, 3]


NOTHING = {"type": "record", "name": "n", "fields": []}


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (["null", "r"], "type r holds itself"),
        ({"type": "array", "items": ["null", "r"]}, "type r holds itself"),
        ({"type": "array", "items": {"type": "fixed", "name": "f", "size": 0}}, "have no bytes"),
        ({"type": "array", "items": NOTHING}, "have no bytes"),
    ],
)
def test_values_without_an_end(kind: Any, message: str) -> None:
    text = json.dumps({"type": "record", "name": "r", "fields": [{"name": "a", "type": kind}]})
    with pytest.raises(ValueError, match=message):
        program_of(text.encode(), ("a",))


def test_a_block_that_grows_without_measure() -> None:
    out, schema = BytesIO(), {"type": "record", "name": "r", "fields": [TEXT]}
    fastavro.writer(out, fastavro.parse_schema(schema), [{"b": "a" * (8 << 20)}], codec="deflate")
    with pytest.raises(ValueError, match="a block of it holds more than 1 MiB"):
        read(out.getvalue(), {"b": from_paimon("STRING")})


def test_small_blocks_take_little_memory() -> None:
    out, schema = BytesIO(), {"type": "record", "name": "r", "fields": [TEXT]}
    rows = [{"b": "a" * 600_000}]
    fastavro.writer(out, fastavro.parse_schema(schema), rows, codec="zstandard")
    source = avro_blocks.opened(BytesIO(out.getvalue()), len(out.getvalue()))
    ((count, content),) = avro_blocks.blocks(source, 1 << 62)  # more than any machine has
    assert (count, content.count(b"a")) == (1, 600_000)


def test_times_of_other_units() -> None:
    """As writers other than Paimon's Java library name them."""
    kinds = {
        "a": ("timestamp-millis", "TIMESTAMP(6)"),
        "b": ("timestamp-micros", "TIMESTAMP(3)"),
        "c": ("time-micros", "TIME(3)"),
    }
    fields = [
        {"name": n, "type": {"type": "long", "logicalType": k}} for n, (k, _) in kinds.items()
    ]
    text = json.dumps({"type": "record", "name": "r", "fields": fields}).encode()
    program = program_of(text, tuple(kinds))
    content = BytesIO()
    for number in (1, 2_000_000, 3_000):
        fastavro.schemaless_writer(content, {"type": "long"}, number)
    types = {name: from_paimon(kind) for name, (_, kind) in kinds.items()}
    found = columns_of(content.getvalue(), 1, program, types)
    assert [str(one[0]) for one in found] == [
        "1970-01-01 00:00:00.001000",
        "1970-01-01 00:00:02",
        "00:00:00.003000",
    ]
    far = BytesIO()
    for number in (1 << 62, 0, 0):
        fastavro.schemaless_writer(far, {"type": "long"}, number)
    with pytest.raises(ValueError, match="more than 64 bits"):
        columns_of(far.getvalue(), 1, program, types)
