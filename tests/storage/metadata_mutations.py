"""Metadata of a table gone wrong in one place: bytes, JSON and Avro that say something else, files
of another kind.
"""

import contextlib
import json
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fastavro

from tests.bridge.mutations import OF_BYTES
from tests.storage.crafted import decoded, encoded

FOLDERS = ("schema", "snapshot", "manifest", "tag", "branch", "consumer", "changelog", "bucket-0")
NAMES = (
    "", ".", "..", "/", "../../victim", "../../../victim", "../../../../victim", "victim\0", "a\\b",
    "/dev/zero", "x" * 300, "../../other/manifest", "data-%2e%2e", "\u0663", "p=1", "bucket-0",
)  # fmt: skip
NUMBERS = (
    0, 1, -1, 2, 7, 1 << 31, -(1 << 31), (1 << 31) - 1, 1 << 40, (1 << 62), (1 << 63) - 1,
    -(1 << 63), 1 << 63, 1 << 70, 10**30,
)  # fmt: skip
OTHERS: tuple[Any, ...] = (None, True, 1.5, 1e300, [], {}, [[]], {"": None}, "\ud800")


def files_of(table: Path) -> list[Path]:
    """The metadata of a table, a data file now and then."""
    folders = [table / name for name in FOLDERS if not (table / name).is_symlink()]
    found = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    return sorted(path for path in found if path.stat().st_size < 1 << 30)  # not one made endless


def mutate(draw: random.Random, table: Path) -> str:
    """Let something be wrong; what was done."""
    done = []
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        path = draw.choice([p for p in files_of(table) if not p.is_symlink()])
        how = draw.choice(WAYS)
        done.append(f"{how.__name__} {path.relative_to(table)}")
        how(draw, path)
    return ", ".join(done)


def other_bytes(draw: random.Random, path: Path) -> None:
    data = bytearray(path.read_bytes())
    for _ in range(draw.choice((1, 1, 2, 8))):
        draw.choice(OF_BYTES)(draw, data)
    path.write_bytes(data)


def other_values(draw: random.Random, path: Path) -> None:
    """As a writer of the format would say them; bytes where it has none."""
    data = path.read_bytes()
    for _ in range(5):
        with contextlib.suppress(Exception):  # no such value fits there
            if data.startswith(b"Obj\x01"):
                path.write_bytes(_avro(draw, data))
            else:
                path.write_text(_json(draw, json.loads(data)), errors="surrogatepass")
            return
    other_bytes(draw, path)  # it was broken before


def _json(draw: random.Random, tree: Any) -> str:
    _change(draw, tree)
    said = json.dumps(tree)
    if draw.random() < 0.03:
        depth = draw.choice((150, 900, 50_000))
        said = said.replace("{", '{"deep": ' + "[" * depth + "]" * depth + ", ", 1)
    return said


def _change(draw: random.Random, tree: Any) -> None:
    """Something in a tree of values, somewhere down."""
    while isinstance(tree, dict | list) and tree:
        key = draw.choice(list(tree) if isinstance(tree, dict) else range(len(tree)))
        if isinstance(tree[key], dict | list) and tree[key] and draw.random() > 0.1:
            tree = tree[key]
            continue
        if draw.random() < 0.1:
            del tree[key]
        else:
            tree[key] = _other(draw, tree[key])
        return


def _other(draw: random.Random, value: Any) -> Any:
    """Most often of the same type."""
    if draw.random() < 0.15:
        return draw.choice((*OTHERS, *NAMES, *NUMBERS))
    if isinstance(value, bytes):
        data = bytearray(value)
        draw.choice(OF_BYTES)(draw, data)
        return bytes(data)
    if isinstance(value, int):
        return draw.choice((*NUMBERS, value + 1, value - 1, draw.getrandbits(63)))
    if isinstance(value, list):
        return [*value, draw.choice(NAMES)]
    return draw.choice(NAMES)


def _avro(draw: random.Random, data: bytes) -> bytes:
    schema, records = decoded(data)
    if draw.random() < 0.2:
        _retype(draw, schema, records)
    else:
        for _ in range(draw.choice((1, 1, 3))):
            _change(draw, records)
    if draw.random() < 0.05:
        records *= draw.choice((2, 50))
    return encoded(schema, records)


def _retype(draw: random.Random, schema: Any, records: list[Any]) -> None:
    """A field of another type, in all records."""
    schema.pop("__fastavro_parsed__", None)
    fields, rows = schema["fields"], records
    if draw.random() < 0.5 and any(field["name"] == "_FILE" for field in fields):
        inner = next(field["type"] for field in fields if field["name"] == "_FILE")
        fields, rows = inner["fields"], [row["_FILE"] for row in records]
    field = draw.choice(fields)
    kinds: tuple[tuple[Any, Any], ...] = (
        ("string", draw.choice(NAMES)),
        ("long", draw.choice(NUMBERS[:12])),
        ("bytes", b""),
        ("double", 1e300),
        (["null", "string"], None),
        ({"type": "array", "items": "string"}, [draw.choice(NAMES)]),
        ({"type": "map", "values": "long"}, {"a": 1}),
        ({"type": "int", "logicalType": "date"}, draw.choice((0, 1 << 30))),
        ({"type": "long", "logicalType": "timestamp-millis"}, draw.choice((0, 1 << 60))),
    )
    field["type"], value = draw.choice(kinds)
    fastavro.parse_schema(schema)
    for row in rows:
        row[field["name"]] = value


def another(draw: random.Random, path: Path) -> None:
    """The content of another file."""
    files = [p for p in path.parent.iterdir() if p.is_file() and not p.is_symlink()]
    path.write_bytes(draw.choice(files).read_bytes())


def another_name(draw: random.Random, path: Path) -> None:
    stem = path.name.rstrip("0123456789")
    number = draw.choice((0, 1, 7, 10**17, 10**18, 10**25, (1 << 63) - 1))
    target = path.with_name(f"{stem}{number}")
    target.write_bytes(path.read_bytes())
    if draw.random() < 0.5:
        path.unlink()


def another_kind(draw: random.Random, path: Path) -> None:
    path.unlink()
    kind = draw.randrange(6)
    if kind == 0:
        os.mkfifo(path)
    elif kind == 1:
        path.mkdir()
    elif kind == 2:
        path.touch()
        os.truncate(path, draw.choice((0, 1, 1 << 40)))
    elif kind == 3:
        path.symlink_to(draw.choice(("/dev/zero", "/proc/self/mem", path.name, "nowhere")))
    elif kind == 4:
        path.symlink_to("../../other/schema/schema-0")
    else:
        path.write_bytes(draw.randbytes(draw.choice((0, 1, 4, 16, 5000))))


def folder_elsewhere(draw: random.Random, path: Path) -> None:
    """The folder that it is in leads to the other table's of that name."""
    folder = path.parent
    folder.rename(folder.with_name(f"aside-{draw.getrandbits(32)}"))
    depth = len(folder.parts) - folder.parts.index("t") - 1
    folder.symlink_to("../" * depth + f"other/{folder.name}")


def gone(draw: random.Random, path: Path) -> None:
    path.unlink()


WAYS: tuple[Callable[[random.Random, Path], None], ...] = (
    other_bytes, *[other_values] * 9, another, another_name, another_kind, folder_elsewhere, gone
)  # fmt: skip
