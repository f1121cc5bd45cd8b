"""Tables that mark replaced rows, written beside tables of the same jobs that do not: both have the
same rows, changes and history.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pytest

import keyfold
from tests.storage import tables

Row = dict[str, Any]
KEYS, JOBS = 240, 5
# Levels that stay where they are, as those of large tables do.
LEVELS = {
    "compaction.max-size-amplification-percent": "100000",
    "num-sorted-run.compaction-trigger": "3",
    "num-levels": "5",
}
SUMS = {"merge-engine": "aggregation", "fields.n.aggregate-function": "sum"}
PARTIAL = {"merge-engine": "partial-update", "partial-update.remove-record-on-delete": "true"}
TABLES: tuple[dict[str, str], ...] = (
    {},
    {"changelog-producer": "lookup", "deletion-vectors.bitmap64": "true", "bucket": "2"},
    {"changelog-producer": "input"},
    {"bucket": "-1", "changelog-producer": "lookup"},
    {"sequence.field": "n"},
    PARTIAL | {"changelog-producer": "lookup"},
    SUMS | {"changelog-producer": "lookup"},
)


class Twins:
    """A table that marks rows and one that does not."""

    def __init__(self, folder: Path, options: Mapping[str, str]) -> None:
        self.folder = folder
        self.connection = keyfold.connect(str(folder))
        self.options, self.is_write_only = options, False
        shape = {"p": "INT", "k": "INT", "n": "BIGINT", "v": "STRING"}
        for name, enabled in (("marked", "true"), ("plain", "false")):
            given = {"bucket": "1"} | LEVELS | {"deletion-vectors.enabled": enabled} | options
            self.connection.create_table(name, shape, ["p", "k"], ["p"], options=given)
        self.marked, self.plain = map(self.connection.table, ("marked", "plain"))

    @property
    def both(self) -> tuple[Any, Any]:
        return self.marked, self.plain

    def write_only(self, *, on: bool) -> None:
        for table in self.both:
            table.alter(options={"write-only": str(on).lower()})
        self.is_write_only = on

    def job(self, source: random.Random, number: int) -> None:
        """Rows of some keys, then perhaps a statement that reads rows."""
        count = KEYS if not number else source.choice((1, 5, 40, KEYS // 3))
        rows = [
            {"p": k % 2, "k": k, "n": number * KEYS + k, "v": f"{number}/{k}"}
            for k in source.sample(range(KEYS), count)
        ]
        low, high = sorted(source.sample(range(KEYS), 2))
        where = f"k BETWEEN {low} AND {high}"
        what = source.random()
        for table in self.both:
            table.upsert(rows)
            if what < 0.25 and self.options.get("merge-engine") != "aggregation":
                table.delete(where=where)
            elif what < 0.5:
                table.update(where, {"v": pc.binary_join_element_wise(pc.field("v"), "x", "")})
            elif what < 0.6:
                table.overwrite([row for row in rows if row["p"]], "p = 1")
            elif what < 0.7:
                merge = table.merge([{"p": row["p"], "k": row["k"]} for row in rows[:5]])
                merge.when_matched_update({"v": f"merged by {number}"}).execute()

    def rows(self, table: Any, **how: Any) -> list[Row]:
        return sorted(table.scan(**how).to_pylist(), key=lambda row: row["k"])

    def check(self, source: random.Random) -> None:
        """Whatever is asked has the same answer. Level 0 is merged while nobody compacts."""
        rows = self.rows(self.plain)
        merged = {"deletion-vectors.merge-on-read": "true"}
        assert self.rows(self.marked, options=merged) == rows
        if self.is_write_only:
            return
        assert self.rows(self.marked) == rows
        levels = self.marked.metadata("files").to_pylist()
        assert min(file["level"] for file in levels) > 0
        assert self.marked.scan().count() == len(rows)
        least = source.randrange(JOBS * KEYS)
        for where in (f"n > {least}", f"k <= {least % KEYS} AND p = 0"):
            assert self.rows(self.marked, where=where) == self.rows(self.plain, where=where)
        keys = [{"p": k % 2, "k": k} for k in source.sample(range(KEYS), 9)]
        assert self.marked.get_many(keys) == self.plain.get_many(keys)

    def changes(self) -> tuple[list[str], list[str]]:
        """The changes of both, in no order."""
        marked, plain = (
            sorted(
                repr({name: value for name, value in row.items() if name[:8] != "_commit_"})
                for row in table.changes().to_pylist()
            )
            for table in self.both
        )
        return marked, plain

    @property
    def vectors(self) -> int:
        """The number of data files of which rows are marked."""
        found = tables.catalog(self.folder).load_table(["default"], "marked")
        return sum(file.vector is not None for file in found.live_files())


@pytest.mark.parametrize(
    "options", TABLES, ids=lambda options: ",".join(options.values()) or "deduplicate"
)
def test_the_same_rows(tmp_path: Path, options: dict[str, str], seed: int) -> None:
    source, twins = random.Random(f"{seed} {options}"), Twins(tmp_path, options)
    for number in range(JOBS):
        twins.job(source, number)
        twins.check(source)
        what = source.random()
        if number and what < 0.2:
            twins.write_only(on=not twins.is_write_only)
            if not twins.is_write_only:
                for table in twins.both:
                    table.compact(strategy="minor")
                twins.check(source)
        elif what < 0.4:
            for table in twins.both:  # changes are those of compactions, if these look them up
                table.compact()
            assert not twins.vectors
    twins.write_only(on=False)
    for table in twins.both:
        table.upsert([{"p": 1, "k": 3, "n": JOBS * KEYS, "v": "there, whatever was deleted"}])
        table.compact()
        table.upsert([{"p": 1, "k": 3, "n": JOBS * KEYS + 1, "v": "last"}])
    twins.check(source)
    assert twins.vectors == 1
    first, second = twins.changes()
    assert first == second


def test_look_ups_keep_no_row_that_is_marked_since(tmp_path: Path) -> None:
    """Its file stays as it is, and what was read of it is kept: a deletion vector is new."""
    options = {"bucket": "1", "deletion-vectors.enabled": "true"} | LEVELS
    table = keyfold.connect(tmp_path, threads=1).create_table(
        "t", {"k": "INT", "n": "INT"}, ["k"], options=options
    )
    table.upsert([{"k": k, "n": k} for k in range(100)])
    table.compact()
    assert table.get({"k": 5}) == {"k": 5, "n": 5}
    table.delete([{"k": 5}])
    (file,) = (file for file in table._load().live_files() if file.rows == 100)
    assert file.vector is not None
    assert table.get({"k": 5}) is None
    assert table.get_many([{"k": k} for k in (4, 5, 6)]).column("n").to_pylist() == [4, None, 6]
