"""Manifests as columns beside what fastavro makes of them: in the schemas of older and newer
writers, with bytes that somebody has changed.
"""

import copy
import itertools
import random
from collections import Counter
from io import BytesIO
from typing import Any

import fastavro
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyfold.storage.metadata import documents, live_files, manifest_decoding
from keyfold.storage.metadata.avro_records import ENTRY, ENTRY_SCHEMA
from keyfold.storage.metadata.binary_row import RowCodec
from keyfold.storage.metadata.documents import AvroFile, opened
from keyfold.storage.metadata.entries import DELETE, LiveFile, RowShapes, identifier
from keyfold.storage.metadata.manifest_columns import FILES, ManifestColumns
from keyfold.storage.metadata.manifest_decoding import columns_of, columns_of_file
from keyfold.types.logical import Atomic
from tests.bridge.mutations import OF_BYTES
from tests.kernels.hostile import guard, mutated

BIGINT = Atomic("BIGINT", nullable=False)
SHAPES = RowShapes(RowCodec.of([BIGINT]), RowCodec.of([BIGINT]))
CODECS = ("null", "deflate", "zstandard")
LATER = (
    "_EMBEDDED_FILE_INDEX",
    "_FILE_SOURCE",
    "_VALUE_STATS_COLS",
    "_EXTERNAL_PATH",
    "_FIRST_ROW_ID",
    "_WRITE_COLS",
    "_WRITE_COLS_SEQUENCES",
)
OTHERS: tuple[tuple[Any, Any], ...] = (
    ({"type": "map", "values": {"type": "array", "items": "long"}}, {"a": [1, 2], "é": []}),
    ({"type": "enum", "name": "Kind", "symbols": ["A", "B"]}, "B"),
    ({"type": "fixed", "name": "Four", "size": 4}, b"1234"),
    (["double", "null", "boolean"], True),
    (
        {"type": "record", "name": "R", "fields": [{"name": "_BUCKET", "type": "float"}]},
        {"_BUCKET": 1.5},
    ),
    ({"type": "array", "items": ["null", {"type": "array", "items": "string"}]}, [None, ["x"], []]),
)
seeds = st.integers(0, 1 << 30)
TEXTS = ("", "a", "\u00e9\u20ac", "b" * 70)
NAMES = ("data-1-0.parquet", "a", "x" * 255, "\u00e4.parquet", "marked")


def number(draw: random.Random, bits: int) -> int:
    """A number of so many bits: small, any, or the first or last one."""
    last = (1 << (bits - 1)) - 1
    return draw.choice((draw.randrange(-9, 9), draw.randint(-last - 1, last), last, -last - 1))


def some(draw: random.Random, of: Any, most: int) -> Any:
    """A list of values; NULL at times."""
    found = [of() for _ in range(draw.randrange(most + 1))]
    return draw.choice((None, found, found))


def statistics(draw: random.Random) -> Any:
    return {
        "_MIN_VALUES": draw.randbytes(draw.randrange(9)),
        "_MAX_VALUES": draw.randbytes(draw.randrange(9)),
        "_NULL_COUNTS": some(draw, lambda: draw.choice((None, number(draw, 64))), 3),
    }


def entry(draw: random.Random) -> Any:
    """An entry with values of all kinds."""

    def maybe(value: Any) -> Any:
        return draw.choice((None, value))

    def text() -> str:
        return draw.choice(TEXTS)

    file = {
        "_FILE_NAME": draw.choice(NAMES),
        **{f"_{name}": number(draw, 64) for name in ("FILE_SIZE", "ROW_COUNT", "SCHEMA_ID")},
        **{f"_{name}_KEY": SHAPES.key.encode((draw.randint(-5, 5),)) for name in ("MIN", "MAX")},
        "_KEY_STATS": statistics(draw),
        "_VALUE_STATS": statistics(draw),
        "_MIN_SEQUENCE_NUMBER": number(draw, 64),
        "_MAX_SEQUENCE_NUMBER": number(draw, 64),
        "_LEVEL": draw.randint(0, 5),
        "_EXTRA_FILES": [draw.choice(NAMES) for _ in range(draw.choice((0, 0, 1, 2)))],
        "_CREATION_TIME": maybe(draw.randint(-1000, 1 << 41)),
        "_DELETE_ROW_COUNT": maybe(number(draw, 64)),
        "_EMBEDDED_FILE_INDEX": maybe(draw.randbytes(draw.randrange(4))),
        "_FILE_SOURCE": maybe(number(draw, 32)),
        "_VALUE_STATS_COLS": some(draw, text, 3),
        "_EXTERNAL_PATH": maybe(text()),
        "_FIRST_ROW_ID": maybe(number(draw, 64)),
        "_WRITE_COLS": some(draw, text, 2),
        "_WRITE_COLS_SEQUENCES": some(draw, lambda: number(draw, 64), 2),
    }
    return {
        "_VERSION": number(draw, 32),
        "_KIND": draw.choice((0, 0, 1)),
        "_PARTITION": SHAPES.partition.encode((draw.randrange(3),)),
        "_BUCKET": draw.choice((draw.randint(-3, 9), draw.randint(-3, 300))),
        "_TOTAL_BUCKETS": number(draw, 32),
        "_FILE": file,
    }


def a_manifest(draw: random.Random, most: int = 12) -> list[Any]:
    """Entries, each of which adds or deletes another file."""
    found = {}
    for _ in range(draw.randrange(most + 1)):
        record = entry(draw)
        if draw.random() < 0.5:  # as most entries are
            more = dict.fromkeys(("_EMBEDDED_FILE_INDEX", "_EXTERNAL_PATH"))
            record["_FILE"] |= {**more, "_EXTRA_FILES": []}
        found[record["_KIND"], identifier(record)] = record
    return list(found.values())


def schema_of(draw: random.Random, records: list[Any]) -> Any:
    """The schema of another version: fields that are missing, new, wider or in another order."""
    schema = copy.deepcopy(ENTRY_SCHEMA)
    inner = next(one["type"] for one in schema["fields"] if one["name"] == "_FILE")
    missing = set(draw.sample(LATER, draw.randrange(len(LATER) + 1)))
    inner["fields"] = [one for one in inner["fields"] if one["name"] not in missing]
    others = draw.sample(OTHERS, draw.randrange(3))
    for number, (kind, value) in enumerate(others):
        draw.choice((schema, inner))["fields"].append({"name": f"_NEW_{number}", "type": kind})
        for record in records:
            record[f"_NEW_{number}"] = record["_FILE"][f"_NEW_{number}"] = value
    for one in (*schema["fields"], *inner["fields"]):
        if one["type"] == "int" and draw.random() < 0.2:
            one["type"] = draw.choice(("long", ["int", "null"], ["string", "long"]))
        elif one["type"] == "long" and draw.random() < 0.2:
            one["type"] = ["null", "long"]
    for fields in (schema["fields"], inner["fields"]):
        draw.shuffle(fields)
    return schema


def encoded(schema: Any, records: list[Any], codec: str = "null", block: int = 200) -> bytes:
    out = BytesIO()
    parsed = fastavro.parse_schema(schema)
    fastavro.writer(out, parsed, records, codec=codec, sync_interval=block)
    return out.getvalue()


def columns(file: AvroFile) -> ManifestColumns:
    return columns_of_file("manifest-x", b"", file, SHAPES)


def check_equal(made: ManifestColumns, expected: list[Any]) -> None:
    assert [made.record(row) for row in range(len(made))] == expected
    assert [made.identifier(row) for row in range(len(made))] == list(map(identifier, expected))
    assert made.deleted == [i for i, one in enumerate(expected) if one["_KIND"] == DELETE]
    assert sorted(made.added + made.deleted) == list(range(len(expected)))
    for file, record in zip(made.files(range(len(made))), expected, strict=True):
        values = SHAPES.partition.decode(record["_PARTITION"])
        of = LiveFile.of(record, values, SHAPES)
        for name in (name for name in LiveFile.__dataclass_fields__ if name != "stored"):
            assert getattr(file, name) == getattr(of, name), name
        assert file.record == record


@given(seeds, st.sampled_from(CODECS))
def test_columns_are_what_fastavro_gives(seed: int, codec: str) -> None:
    FILES.clear()
    draw = random.Random(seed)
    records = a_manifest(draw)
    schema = schema_of(draw, records)
    data = encoded(schema, records, codec)
    expected: list[Any] = list(fastavro.reader(BytesIO(data)))
    assert documents.decode(data) == expected
    check_equal(columns(opened(data)), expected)


@given(seeds)
def test_what_is_accepted_passes_every_check(seed: int) -> None:
    """Nothing is taken from changed bytes that the slow way would refuse."""
    FILES.clear()
    draw = random.Random(seed)
    records = a_manifest(draw) or [entry(draw)]
    file = opened(encoded(schema_of(draw, records), records))
    changed = bytearray(file.content)
    draw.choice(OF_BYTES)(draw, changed)
    try:
        made = columns(AvroFile(file.schema, file.count, bytes(changed)))
    except Exception:  # any of the libraries' errors: `Manifests` makes one of ours of it
        return
    stream, parsed = BytesIO(bytes(changed)), fastavro.parse_schema(documents.document(file.schema))
    found: list[Any] = [fastavro.schemaless_reader(stream, parsed, None) for _ in range(file.count)]
    for record in found:
        ENTRY(record)
    assert stream.tell() == len(changed)
    check_equal(made, found)


@given(seeds)
def test_live_files_are_those_that_nothing_deletes(seed: int) -> None:
    FILES.clear()
    draw = random.Random(seed)
    parts = [a_manifest(draw) for _ in range(draw.randrange(5))]
    for one, other in itertools.pairwise(parts):  # some are deleted
        taken = [record for record in one if record["_KIND"] != DELETE and draw.random() < 0.5]
        known = {identifier(record) for record in other if record["_KIND"] == DELETE}
        other += [{**r, "_KIND": DELETE} for r in taken if identifier(r) not in known]
    made = [
        columns_of(f"manifest-{number}", encoded(ENTRY_SCHEMA, one), SHAPES)
        for number, one in enumerate(parts)
    ]
    every = [record for one in parts for record in one]
    gone = {identifier(one) for one in every if one["_KIND"] == DELETE}
    added = [identifier(one) for one in every if one["_KIND"] != DELETE]
    expected = [one for one in added if one not in gone]
    if len(set(expected)) < len(expected):
        with pytest.raises(Exception, match="is added by two manifests"):
            live_files.live_of(made)
        return
    found = live_files.live_of(made)
    assert [identifier(file.record) for file in found] == expected
    assert len(found) == len(expected)
    left = [one.identifier(row) for one, row in live_files.left_of(made)]
    assert sorted(map(repr, left)) == sorted(
        repr(identifier(one))
        for one in every
        if one["_KIND"] == DELETE and identifier(one) not in added
    )
    asked = live_files.Asked(lambda values: values[0] == 1, lambda bucket, _: bucket % 2 == 0)
    wanted = found.chosen(asked).files()
    assert wanted == [f for f in found if f.partition == (1,) and f.bucket % 2 == 0]
    places = {((1,), bucket) for bucket in range(-3, 100)} | {((2,), 7)}
    assert found.in_places(places) == [f for f in found if (f.partition, f.bucket) in places]
    counts = Counter((f.partition, f.bucket) for f in found)
    crowded = found.crowded(2).files()
    assert crowded == [f for f in found if counts[f.partition, f.bucket] >= 2]
    assert found.totals({(1,), (7,)}) == {
        f.partition: f.total_buckets for f in found if f.partition == (1,) and f.bucket >= 0
    }
    assert found.bucket_counts() == {file.total_buckets for file in found}
    highest = found.highest()
    assert (None if highest is None else highest.max_sequence) == max(
        (file.max_sequence for file in found), default=None
    )
    odd = found.without_suffix((".parquet", "marked"), or_source=True)
    assert {id(file) for file in odd} == {
        id(f)
        for f in found
        if not f.name.endswith((".parquet", "marked")) or f.source is None or _has_more(f)
    }


def _has_more(file: LiveFile) -> bool:
    stored = file.file
    has_index = stored["_EMBEDDED_FILE_INDEX"] is not None
    return bool(stored["_EXTRA_FILES"]) or has_index or stored["_EXTERNAL_PATH"] is not None


NO_NAMES = [
    "",
    ".",
    "..",
    "a/b",
    "../x",
    "a\\b",
    "a\0b",
    "\x7f",
    "x" * 256,
    "ä\u200e",
    "\udfff",
    "a\nb",
]


@pytest.mark.parametrize("name", NO_NAMES)
@pytest.mark.parametrize("field", ["_FILE_NAME", "_EXTRA_FILES"])
def test_names_that_lead_elsewhere_are_refused(name: str, field: str) -> None:
    record = copy.deepcopy(_some())
    record["_FILE"][field] = name if field == "_FILE_NAME" else ["a", name]
    raw = encoded(ENTRY_SCHEMA, [_some(), record | {"_FILE": _plain(record["_FILE"], field)}])
    file = opened(raw)
    placeholder = b"\x20" + b"PLACEHOLDER-NAME"
    stored = name.encode(errors="surrogatepass")
    length = BytesIO()
    fastavro.schemaless_writer(length, {"type": "long"}, len(stored))
    changed = file.content.replace(placeholder, length.getvalue() + stored)
    assert changed != file.content
    with pytest.raises((TypeError, ValueError), match=r"expected a|can't decode|not encoded"):
        columns(AvroFile(file.schema, file.count, changed))


def _plain(file: Any, field: str) -> Any:
    name = "PLACEHOLDER-NAME"
    return file | {field: name if field == "_FILE_NAME" else ["a", name]}


def _some() -> Any:
    empty = {"_MIN_VALUES": b"", "_MAX_VALUES": b"", "_NULL_COUNTS": None}
    key, numbers = SHAPES.key.encode((1,)), dict.fromkeys(LATER)
    file = {
        "_FILE_NAME": "f", "_FILE_SIZE": 1, "_ROW_COUNT": 1, "_MIN_KEY": key, "_MAX_KEY": key,
        "_KEY_STATS": empty, "_VALUE_STATS": empty, "_MIN_SEQUENCE_NUMBER": 1,
        "_MAX_SEQUENCE_NUMBER": 1, "_SCHEMA_ID": 0, "_LEVEL": 0, "_EXTRA_FILES": [],
        "_CREATION_TIME": 1, "_DELETE_ROW_COUNT": 0,
    }  # fmt: skip
    partition = SHAPES.partition.encode((1,))
    head = {"_VERSION": 2, "_KIND": 0, "_PARTITION": partition, "_BUCKET": 0, "_TOTAL_BUCKETS": 1}
    return {**head, "_FILE": {**file, **numbers}}


def with_bucket(kind: Any, value: Any) -> AvroFile:
    schema = copy.deepcopy(ENTRY_SCHEMA)
    next(one for one in schema["fields"] if one["name"] == "_BUCKET")["type"] = kind
    return opened(encoded(schema, [_some() | {"_BUCKET": value}]))


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("long", 1 << 31),
        ("double", 1.0),
        ("string", "1"),
        (["null", "int"], None),
        ("boolean", True),
    ],
)
def test_numbers_of_other_kinds_are_refused_by_name(kind: Any, value: Any) -> None:
    with pytest.raises(TypeError, match=r"_BUCKET is .*, expected a number of 32 bits"):
        columns(with_bucket(kind, value))


@pytest.mark.parametrize("name", ["_KIND", "_BUCKET", "_PARTITION", "_FILE"])
def test_fields_of_all_versions_are_there(name: str) -> None:
    schema = copy.deepcopy(ENTRY_SCHEMA)
    schema["fields"] = [one for one in schema["fields"] if one["name"] != name]
    with pytest.raises(ValueError, match=f"no field {name}"):
        columns(opened(encoded(schema, [_some()])))


def test_a_schema_has_an_end() -> None:
    """A type of two values of a type of two values: 2 to the power of 30 steps."""
    kind: Any = "int"
    for depth in range(30):
        both = [
            {"name": "a", "type": kind},
            {"name": "b", "type": f"T{depth - 1}" if depth else "int"},
        ]
        kind = {"type": "record", "name": f"T{depth}", "fields": both}
    schema = copy.deepcopy(ENTRY_SCHEMA)
    schema["fields"].append({"name": "_NEW", "type": kind})
    found = opened(encoded(ENTRY_SCHEMA, [_some()]))
    with pytest.raises(ValueError, match="its schema has more than"):
        columns(AvroFile(documents.text_of(schema), found.count, found.content))


def test_more_records_than_bytes_take_no_memory() -> None:
    file = opened(encoded(ENTRY_SCHEMA, [_some()]))
    with pytest.raises(ValueError, match="bytes claim"):
        columns(AvroFile(file.schema, len(file.content), file.content))


def test_bytes_after_the_last_record_are_damage() -> None:
    file = opened(encoded(ENTRY_SCHEMA, [_some()]))
    with pytest.raises(ValueError, match="1 bytes more than its 1 records"):
        columns(AvroFile(file.schema, 1, file.content + b"\0"))
    assert np.array_equal(columns(file).ends, [len(file.content)])


@pytest.mark.parametrize("is_strict", [False, True])
def test_no_place_beside_an_array_is_touched(
    is_strict: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = guard(monkeypatch, ("keyfold.kernels.avro.",), is_strict=is_strict)
    draw = random.Random(3)
    some = _some()
    some["_FILE"] |= {"_VALUE_STATS_COLS": ["a", "é"], "_EXTRA_FILES": ["x", "ä"]}
    for _ in range(20 if is_strict else 200):
        records = [copy.deepcopy(some) for _ in range(3)]
        file = opened(encoded(schema_of(draw, records), records))
        content = mutated(file.content, [file.content], draw)
        _, program = manifest_decoding._understood(file.schema)
        found = manifest_decoding._empty(file.count)
        data = np.frombuffer(bytearray(content), dtype=np.uint8)
        stack = np.zeros(manifest_decoding.DEPTH, dtype=np.int64)
        if manifest_decoding.decode_records(data, program, stack, found) == file.count:
            spans = found.spans[0].copy(), found.spans[1].copy()
            manifest_decoding.codes_of(data, spans[0], 7)
            manifest_decoding.identities_of(data, spans[1], found.numbers[0], found.numbers[1], 7)
    assert names == {"decode_records", "write_codes", "write_identities"}
