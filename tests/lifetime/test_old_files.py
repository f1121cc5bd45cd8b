"""Files with rows that are too old: which are written again for it, and when rows wait."""

import json
from datetime import date
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pytest

import keyfold
from keyfold.compact.groups import Rewriting, Sorter
from keyfold.compact.pick import Intervals
from tests.files.keyed import KeyedFile
from tests.lifetime.test_old_rows import DAY, NOW, made, put, rows, shown


@pytest.mark.parametrize("is_shown", [False, True])
def test_a_minor_compaction_below_told_files_leaves_rows(tmp_path: Path, is_shown: bool) -> None:
    """Their inserts are not in the changelog yet: only a full compaction writes these."""
    table = made(
        tmp_path,
        {"k": "INT", "at": "INT", "v": "STRING"},
        changelog_producer="full-compaction",
        write_only="true",
        num_sorted_run__compaction_trigger="2",
        keyfold__record_level__expiration_changes=str(is_shown).lower(),
    )
    random = Random(1)
    put(table, *((k, NOW, random.randbytes(500).hex()) for k in range(500)))
    table.compact()
    told, old = table.snapshot or 0, NOW - 2 * DAY
    for value in ("1", "2"):
        put(table, (1000, old, value), (1001, NOW, value))
    (minor,) = table.compact("minor").to_pylist()
    assert minor["level"] < 5
    assert table.get({"k": 1000}) == {"k": 1000, "at": old, "v": "2"}
    assert table.compact("minor").num_rows == 0
    table.compact()
    assert table.get({"k": 1000}) is None
    inserts = [("insert", 1000, old, "2"), ("insert", 1001, NOW, "2")]
    assert shown(table, told) == inserts[is_shown:]


def test_files_are_not_written_again_for_kept_deletes(tmp_path: Path) -> None:
    """Their times are old, and the deletes stay."""
    table = made(tmp_path, sequence__field="v", write_only="true")
    old = NOW - 2 * DAY
    put(table, (1, old, 5), (2, NOW, 5), (3, NOW - DAY // 2, 5))
    table.upsert([{"k": 1, "at": old, "v": 6}], row_kind="-D")
    (first,) = table.compact().to_pylist()
    assert first["rows_after"] == 3
    assert table.compact().num_rows == 0
    table.alter(options={"record-level.expire-time": "6 h"})
    (again,) = table.compact().to_pylist()
    assert (again["rows_before"], again["rows_after"]) == (3, 2)
    assert table.compact().num_rows == 0
    put(table, (1, NOW, 3))
    assert rows(table) == {(2, NOW, 5)}


@pytest.mark.parametrize(
    ("first", "then", "value"),
    [
        ("DECIMAL(20,0)", "BIGINT", Decimal(10) ** 19),
        ("DATE", "TIMESTAMP(6)", date(2020, 1, 1)),
        ("INT", "BIGINT", 5),
    ],
)
def test_statistics_of_another_type(tmp_path: Path, first: str, then: str, value: Any) -> None:
    """They are those of the values that were written, which another engine's ALTER converts."""
    catalog = keyfold.connect(tmp_path, threads=1)
    table = catalog.create_table("t", {"k": "INT", "at": first}, ["k"], options={"bucket": "1"})
    table.upsert([{"k": 1, "at": value}])
    table.compact()
    options = {"record-level.expire-time": "1 d", "record-level.time-field": "at"}
    table.alter(add={"b": "INT"})
    newest = max(tmp_path.rglob("schema-*"))
    schema = json.loads(newest.read_text())
    schema["fields"][1]["type"] = then
    newest.write_text(json.dumps(schema | {"options": schema["options"] | options}))
    found = keyfold.connect(tmp_path, threads=1).table("t")
    assert found.compact().num_rows == (first == "INT")


@pytest.mark.parametrize(("level", "ends"), [(4, False), (5, True)])
def test_files_with_old_rows_wait_for_the_level_of_the_changelog(level: int, ends: bool) -> None:
    """Below it their rows would only be written again."""
    file = KeyedFile("a", 100, 1, 0, 1, 1, 0, level, (1,), (1,))
    rules = Rewriting(50, changelog_level=5, may_hold_old=lambda _: True)
    assert Sorter(level, Intervals([]), rules).ends_here(file) == ends
