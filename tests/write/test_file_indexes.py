"""Bloom filters that tables ask for: every writer of data files makes them, look-ups use them, and
they go where their files go.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from keyfold.errors import CorruptDataError, KeyfoldError, NotSupportedError, TableError
from keyfold.lookup.lookup_plan import plan_lookup
from keyfold.lookup.rows_of_keys import look_up
from keyfold.storage.metadata.entries import LiveFile
from keyfold.storage.table import Table
from keyfold.write.job import Job
from keyfold.write.writer import write
from tests.compact.harness import compact
from tests.read import harness
from tests.storage import tables

BLOOM = "file-index.bloom-filter."
SMALL = {"file_index__bloom_filter__columns": "k,s", "bucket": "1", "write_only": "true"}
SMALL |= {f"file_index__bloom_filter__{name}__items": "100" for name in "ks"}
BESIDE = {"file_index__in_manifest_threshold": "0 b"}
PLACES = [{}, BESIDE]
COLUMNS = (tables.column("k"), tables.column("s", "string"), tables.column("v"))


def indexed(folder: Path, **options: str) -> Table:
    return tables.table(folder, tables.new_table(*COLUMNS, **(SMALL | options)))


def put(found: Table, keys: Iterable[int]) -> None:
    harness.upsert(found, [{"k": key, "s": f"s{key}", "v": key} for key in keys])


def live(found: Table) -> Sequence[LiveFile]:
    return tables.reload(found).live_files()


def beside(found: Table) -> list[str]:
    """The names of the indexes that are files."""
    return sorted(path.name for path in Path(found.layout.location).glob("bucket-*/*.index"))


def asked(found: Table, *keys: int) -> list[int | None]:
    """The values of keys."""
    schema = pa.schema([found.layout.column("k").arrow_field])
    rows = pa.RecordBatch.from_pylist([{"k": key} for key in keys], schema)
    _, values = look_up(plan_lookup(tables.reload(found), ["v"]), rows)
    return [row["v"] for row in values.to_pylist()]


@pytest.mark.parametrize("place", PLACES, ids=["embedded", "beside"])
def test_look_ups_of_keys_that_are_not_there_open_no_file(
    tmp_path: Path, place: dict[str, str]
) -> None:
    found = indexed(tmp_path, **place)
    put(found, range(0, 100, 2))
    (file,) = live(found)
    assert (file.embedded_index is None, [*file.extra_files]) == (
        bool(place),
        [f"{file.name}.index"] if place else [],
    )
    assert beside(found) == [*file.extra_files]
    assert asked(found, 4, 5) == [4, None]
    path = Path(file.folder(found.layout)) / file.name
    path.rename(path.with_suffix(".away"))
    absent = [key for key in range(1, 99, 2) if not _seems_there(found, key)]
    assert len(absent) > 30
    assert asked(found, *absent) == [None] * len(absent)
    change = {"change": "set_property", "key": "file-index.read.enabled", "value": "false"}
    tables.catalog(tmp_path).alter_table(["default"], "t", [change])
    with pytest.raises(CorruptDataError, match=file.name):
        asked(found, absent[0])


def _seems_there(found: Table, key: int) -> bool:
    """Whether a look-up wants the file, which is missing."""
    try:
        asked(found, key)
    except CorruptDataError:
        return True
    return False


@pytest.mark.parametrize("place", PLACES, ids=["embedded", "beside"])
def test_compactions_make_and_keep_them(tmp_path: Path, place: dict[str, str]) -> None:
    found = indexed(tmp_path, **place)
    put(found, range(0, 100, 2))
    compact(found)  # to another level, as it is
    (moved,) = live(found)
    put(found, range(1, 100, 2))
    compact(found)
    (merged,) = live(found)
    for file in (moved, merged):
        assert bool(file.extra_files or file.embedded_index)
    assert moved.name != merged.name
    assert set(beside(found)) >= {*merged.extra_files}
    assert asked(found, *range(-1, 101)) == [None, *range(100), None]


def test_files_that_nobody_takes_over_go_with_their_indexes(tmp_path: Path) -> None:
    found = indexed(tmp_path, **BESIDE)
    spec = harness.job(found.layout)
    rows = harness.batches(found.layout, [{"k": 1, "s": "a", "v": 1}])
    messages = write(spec, rows)
    assert len(beside(found)) == 1
    Job(found.layout, messages).remove()
    assert beside(found) == []

    def broken() -> Iterable[pa.RecordBatch]:
        yield from rows
        raise OSError("broken")

    with pytest.raises(OSError, match="broken"):
        write(spec, broken())
    assert beside(found) == []


def test_changelog_files_have_none(tmp_path: Path) -> None:
    found = indexed(tmp_path, changelog_producer="input", **BESIDE)
    put(found, range(10))
    (file,) = live(found)
    assert beside(found) == [f"{file.name}.index"]


REFUSED: list[tuple[dict[str, str], type[KeyfoldError], str]] = [
    ({f"{BLOOM}columns": "x"}, TableError, "column x can not be found"),
    ({f"{BLOOM}columns": "m[a]"}, NotSupportedError, "an index of the values of a map"),
    ({f"{BLOOM}columns": "b"}, TableError, "column b is BOOLEAN; expected whole numbers"),
    ({f"{BLOOM}columns": "k", f"{BLOOM}k.fpp": "1"}, TableError, "a number between 0 and 1"),
    ({f"{BLOOM}columns": "k", f"{BLOOM}k.items": "0"}, TableError, "a whole number from 1"),
    ({f"{BLOOM}columns": "k", f"{BLOOM}k.items": "2000000000"}, TableError, "more than 128 MiB"),
    ({f"{BLOOM}columns": "k", f"{BLOOM}v.items": "5"}, TableError, "column v is not declared in"),
    ({"file-index.bitmap.columns": "k"}, NotSupportedError, "indexes of files are Bloom filters"),
    ({"file-index.bsi.columns": "k"}, NotSupportedError, "known to Paimon but not supported"),
]


@pytest.mark.parametrize(("options", "kind", "words"), REFUSED)
def test_what_a_table_can_not_ask_for(
    tmp_path: Path, options: dict[str, str], kind: type[KeyfoldError], words: str
) -> None:
    columns = (tables.column("k"), tables.column("b", "boolean"), tables.column("v"))
    new = tables.new_table(*columns)
    new = replace(new, properties={**(new.properties or {}), **options})
    with pytest.raises(kind, match=words):
        tables.table(tmp_path, new)


def test_columns_are_renamed_in_their_options(tmp_path: Path) -> None:
    found = indexed(tmp_path)
    change = {"change": "rename_column", "name": ["s"], "to": "text"}
    tables.catalog(tmp_path).alter_table(["default"], "t", [change])
    layout = tables.reload(found).layout
    assert layout.options[f"{BLOOM}columns"] == "k,text"
    assert layout.options[f"{BLOOM}text.items"] == "100"
    assert f"{BLOOM}s.items" not in layout.options
    harness.upsert(tables.reload(found), [{"k": 1, "text": "a", "v": 1}])
    assert asked(found, 1) == [1]


def test_sizes_come_from_the_options(tmp_path: Path) -> None:
    found = indexed(tmp_path, **BESIDE)
    put(found, range(3))
    (name,) = beside(found)
    size = (Path(found.layout.location) / "bucket-0" / name).stat().st_size
    assert size == 24 + 2 * (2 + 1 + 4 + 2 + len("bloom-filter") + 8 + 4 + 480 // 8)
