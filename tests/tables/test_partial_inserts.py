"""Tables with `keyfold.partial-insert`: a write of some columns leaves the others, as in Fluss."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import keyfold
from keyfold import Table, TableError

PARTIAL = {"keyfold.partial-insert": "true", "bucket": "1", "write-only": "true"}
COLUMNS = {"k": "INT", "v": "INT", "w": "STRING DEFAULT 'x'"}


def rows(table: Table) -> list[tuple[Any, ...]]:
    return sorted(tuple(row.values()) for row in table.scan().to_pylist())


@pytest.mark.parametrize("producer", ["none", "input", "lookup"])
def test_others_stay(tmp_path: Path, producer: str) -> None:
    """Also where dictionaries name different columns. NULL is a value, a whole row replaces."""
    catalog = keyfold.connect(tmp_path, threads=1)
    options = PARTIAL | {"changelog-producer": producer}
    table = catalog.create_table("t", COLUMNS, ["k"], options=options)
    table.upsert([{"k": 1, "v": 1, "w": "a"}, {"k": 2, "v": 2}])
    assert rows(table) == [(1, 1, "a"), (2, 2, None)]  # a DEFAULT is of whole rows
    table.upsert([{"k": 1, "v": None}, {"k": 2, "w": "b"}, {"k": 3, "w": "c"}])
    table.upsert(pa.table({"w": ["d"], "k": pa.array([3], pa.int32())}))
    for _ in range(2):
        assert rows(table) == [(1, None, "a"), (2, 2, "b"), (3, None, "d")]
        table.compact()
    table.upsert([{"k": 1, "v": 5, "w": None}])
    table.delete([{"k": 2}])
    table.upsert([{"k": 2, "v": 7}])
    assert rows(table) == [(1, 5, None), (2, 7, None), (3, None, "d")]
    table.alter(options={"keyfold.partial-insert": "false"})
    table.upsert([{"k": 3, "v": 8}])
    assert rows(table) == [(1, 5, None), (2, 7, None), (3, 8, "x")]


@pytest.mark.parametrize("kind", ["-U", "-D"])
@pytest.mark.parametrize(
    "others", [{}, {"deletion-vectors.enabled": "true", "write-only": "false"}]
)
@pytest.mark.parametrize("compacted", [None, 0, 1, 2])
def test_a_row_that_was_taken_back_begins_anew(
    tmp_path: Path, kind: str, others: dict[str, str], compacted: int | None
) -> None:
    """Whether the table marks replaced rows, and whatever was compacted."""
    catalog, levels = keyfold.connect(tmp_path, threads=1), {"num-levels": "5"}
    table = catalog.create_table("t", COLUMNS, ["k"], options=PARTIAL | levels | others)
    jobs: list[tuple[list[dict[str, Any]], str | None]] = [
        ([{"k": 1, "v": 1, "w": "a"}, {"k": 3, "v": 3, "w": "c"}], None),
        ([{"k": k, "v": 1, "w": "a"} for k in (1, 2)], kind),
        ([{"k": 1, "v": 5}, {"k": 2, "v": 5}], None),
    ]
    for number, (job, row_kind) in enumerate(jobs):
        table.upsert(job, row_kind=row_kind)
        if compacted == number:
            table.compact("minor" if number else "full")
    for _ in range(2):
        assert rows(table) == [(1, 5, None), (2, 5, None), (3, 3, "c")]
        table.compact()


@pytest.mark.parametrize(
    ("options", "column", "expected"),
    [
        ({"bucket.num": "1"}, "STRING", "true"),
        ({"bucket.key": "k"}, "STRING", "true"),
        ({"bucket": "1"}, "STRING", None),
        ({"bucket.num": "1", "keyfold.partial-insert": "false"}, "STRING", "false"),
        ({"bucket.num": "1", "table.merge-engine": "first_row"}, "STRING", None),
        ({"bucket.num": "1", "sequence.field": "v"}, "STRING", None),
        ({"bucket.num": "1"}, "STRING NOT NULL", None),
        ({"bucket.num": "1"}, "STRING DEFAULT 'x'", None),
    ],
)
def test_tables_in_the_words_of_fluss(
    tmp_path: Path, options: dict[str, str], column: str, expected: str | None
) -> None:
    columns = {"k": "INT", "v": "INT", "w": column}
    table = keyfold.connect(tmp_path, threads=1).create_table("t", columns, ["k"], options=options)
    assert table.options.get("keyfold.partial-insert") == expected
    table.alter(options={"num-sorted-run.stop-trigger": "9"})
    assert table.options.get("keyfold.partial-insert") == expected


def test_deletes_of_some_columns_in_the_words_of_fluss(tmp_path: Path) -> None:
    """They clear what they name, as in Fluss; `delete` removes rows. DEFAULTs are of whole rows."""
    columns, options = {"k": "INT", "v": "INT", "w": "STRING"}, {"bucket.num": "1"}
    table = keyfold.connect(tmp_path, threads=1).create_table("t", columns, ["k"], options=options)
    table.upsert([{"k": k, "v": k, "w": "a"} for k in (1, 2, 3)])
    table.alter(add={"z": "INT DEFAULT 5"})
    table.upsert([{"k": 4, "v": 4}])
    table.upsert([{"k": 1}], row_kind="-D")
    table.upsert([{"k": 2, "v": None}], row_kind="-D")
    table.delete([{"k": 3}])
    for _ in range(2):
        assert rows(table) == [(1, 1, "a", 5), (2, None, "a", 5), (4, 4, None, None)]
        table.compact()


def test_ids_of_tables_in_the_words_of_fluss(tmp_path: Path) -> None:
    catalog = keyfold.connect(tmp_path, threads=1)
    columns, options = {"k": "STRING", "id": "BIGINT", "v": "INT"}, {"auto-increment.fields": "id"}
    table = catalog.create_table("t", columns, ["k"], options=options | {"bucket.num": "1"})
    table.upsert([{"k": "a", "v": 1}])
    table.upsert([{"k": "a"}, {"k": "b"}])
    assert table.get_or_insert({"k": "c"}) == {"k": "c", "id": 3, "v": None}
    table.upsert([{"k": "c", "v": 7}])
    for _ in range(2):
        assert rows(table) == [("a", 1, 1), ("b", 2, None), ("c", 3, 7)]
        table.compact()


@pytest.mark.parametrize(
    ("options", "engine"),
    [
        ({"merge-engine": "first-row"}, "first_row"),
        (
            {
                "table.merge-engine": "versioned",
                "table.merge-engine.versioned.ver-column": "v",
            },
            "versioned",
        ),
    ],
)
def test_engines_that_take_whole_rows(tmp_path: Path, options: dict[str, str], engine: str) -> None:
    catalog = keyfold.connect(tmp_path)
    with pytest.raises(TableError, match=rf"keyfold\.partial-insert .* merge engine {engine}"):
        catalog.create_table("t", COLUMNS, ["k"], options=PARTIAL | options)
