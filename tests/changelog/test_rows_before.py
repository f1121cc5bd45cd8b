"""Under `changelog-producer` = `input`, what statements that change rows tell: each old row, then
the new one, so that a consumer has the table.
"""

from __future__ import annotations

import itertools
from pathlib import Path
from random import Random
from typing import Any

import pytest

import keyfold
from keyfold import ConflictError, Table
from keyfold.kernels.ops import DELETE, INSERT, KIND_NAMES, UPDATE_AFTER, UPDATE_BEFORE
from keyfold.storage.table import Table as StoredTable
from keyfold.wire.specs import WriteSpec
from keyfold.write.row_changes import MOVED
from tests.changelog.changelog_files import changes_of, check_rows, folded, key_of
from tests.changelog.consumer import ADDED, Consuming
from tests.concurrency import jobs
from tests.concurrency.jobs import Changes
from tests.draws import times
from tests.machine.direct import Direct
from tests.machine.model import ENGINES
from tests.machine.steps import Machine
from tests.read import harness
from tests.storage import tables

MIXED = [one for one in ENGINES if one != "first-row"]  # which takes no `input`
OLDER = ("branch", "unbranch", "forward", "rollback", "expire")
FOLDING = {"merge_engine": "aggregation", "fields__v__aggregate_function": "sum"}


class Consumed(Consuming, Direct):
    """The table of a warehouse."""

    @property
    def now(self) -> StoredTable:
        return jobs.table_of(self.place)


@pytest.mark.parametrize("engine", MIXED)
def test_random_statements_tell_what_a_consumer_needs(
    tmp_path: Path, engine: str, seed: int
) -> None:
    told = f"consumed {engine} {seed}"
    driver = Consumed(str(tmp_path), engine, {"changelog-producer": "input"})
    machine = Machine(driver, engine, Random(told), without=OLDER)
    try:
        machine.run(times(12))
    except Exception as error:
        error.add_note(f"seed {told}:\n" + "\n".join(machine.log))
        raise


def made(folder: str, **options: str) -> None:
    jobs.made(folder, changelog_producer="input", **options)


def told(folder: str) -> list[tuple[str, int, Any]]:
    """The changes of the newest snapshot."""
    table = jobs.table_of(folder)
    found = changes_of(table, table.snapshot_id or 0)
    return [(KIND_NAMES[kind], row["k"], row["v"]) for kind, row in found]


def test_records_of_each_kind(tmp_path: Path) -> None:
    """Also of keys that nobody has looked at before: a moved row may replace one."""
    folder = str(tmp_path)
    made(folder)
    jobs.written(folder, [{"k": key, "v": key} for key in range(1, 6)])
    records = [
        (DELETE, {"k": 1}),
        (UPDATE_AFTER, {"k": 2, "v": 2}),  # to an equal value
        (DELETE, {"k": 3}),
        (MOVED, {"k": 4, "v": 3}),
        (INSERT, {"k": 5, "v": 50}),
        (INSERT, {"k": 6, "v": 60}),
    ]
    Changes(folder, records).run().commit()
    assert told(folder) == [
        ("-D", 1, 1),
        ("-U", 2, 2),
        ("+U", 2, 2),
        ("-D", 3, 3),
        ("-U", 4, 4),
        ("+U", 4, 3),
        ("-U", 5, 5),
        ("+U", 5, 50),
        ("+I", 6, 60),
    ]


def test_inserted_rows_that_fold_stay_as_they_came(tmp_path: Path) -> None:
    """Unless the statement has deleted the row that they would fold with."""
    folder = str(tmp_path)
    made(folder, **FOLDING)
    jobs.written(folder, [{"k": key, "v": key} for key in (1, 2)])
    records = [(INSERT, {"k": 1, "v": 5}), (DELETE, {"k": 2}), (INSERT, {"k": 2, "v": 5})]
    Changes(folder, records).run().commit()
    assert told(folder) == [("+I", 1, 5), ("-U", 2, 2), ("+U", 2, 5)]
    assert jobs.rows_of(jobs.table_of(folder)) == {1: 6, 2: 5}


@pytest.mark.parametrize("options", [{}, FOLDING], ids=["deduplicate", "aggregation"])
def test_statements_that_read_nothing_tell_old_rows_too(
    tmp_path: Path, options: dict[str, str]
) -> None:
    """They have then read the rows, so another job may not change these meanwhile."""
    folder = str(tmp_path)
    made(folder, **options)
    jobs.written(folder, [{"k": 1, "v": 1}, {"k": 2, "v": 2}])
    records = [(UPDATE_AFTER, {"k": 1, "v": 10}), (UPDATE_AFTER, {"k": 3, "v": 30})]
    records += [(DELETE, {"k": 2}), (DELETE, {"k": 4})]
    Changes(folder, records, reads=False).run().commit()
    assert told(folder) == [("-U", 1, 1), ("+U", 1, 10), ("-D", 2, 2), ("+I", 3, 30)]
    late = Changes(folder, [(DELETE, {"k": 1})], reads=False).run()
    jobs.updated(folder, 1, 11)
    with pytest.raises(ConflictError, match="changed rows"):
        late.commit()


def test_many_keys_in_spilled_pieces(tmp_path: Path) -> None:
    """Rounds of the look-up end inside batches, and keys come twice around their ends."""
    folder = str(tmp_path)
    made(folder, write_buffer_size="1 b", keyfold__row_group__rows="1024")
    count = 100_000
    jobs.written(folder, [{"k": key, "v": key} for key in range(0, count, 2)])
    records: list[tuple[int, dict[str, Any]]] = [(DELETE, {"k": key}) for key in range(0, count, 2)]
    records += [(MOVED, {"k": key + 2, "v": key}) for key in range(0, count, 2)]
    Random(7).shuffle(records)
    table = jobs.table_of(folder)
    before = {key_of(table, row): row for row in harness.rows(table)}
    Changes(folder, records, assigned=("k",)).run().commit()
    table = tables.reload(table)
    found = changes_of(table, table.snapshot_id or 0)
    assert {kind for kind, _ in found} == {UPDATE_BEFORE, UPDATE_AFTER, DELETE, INSERT}
    rows = [(INSERT, row) for row in harness.rows(table)]
    check_rows(table, folded(table, before, found), rows)


@pytest.mark.parametrize("producer", ["none", "lookup", "full-compaction"])
def test_other_producers_look_nothing_up(tmp_path: Path, producer: str) -> None:
    folder = str(tmp_path)
    jobs.made(folder, changelog_producer=producer)
    jobs.written(folder, [{"k": 1, "v": 1}])
    for reads in (True, False):
        planned = Changes(folder, [(DELETE, {"k": 1})], reads=reads).planned
        assert "before" not in planned
        assert (WriteSpec.from_json(planned).changes.reads is not None) == reads  # type: ignore


@pytest.mark.parametrize("engine", ["deduplicate", "partial-update", "aggregation"])
def test_sums_over_changes_of_the_python_door(tmp_path: Path, engine: str, seed: int) -> None:
    """Rows of new keys, or such as add up, are inserted; rows are deleted by keys and conditions.
    Sums over the changes are those over the table.
    """
    draw, fresh = Random(f"{engine} {seed}"), itertools.count()
    options = {"bucket": "2", "merge-engine": engine, "changelog-producer": "input"}
    if engine == "aggregation":
        options |= {f"fields.{n}.aggregate-function": "sum" for n in ("v", "w")}
    columns = {"p": "INT", "k": "BIGINT", "v": "BIGINT", "w": "DECIMAL(10, 2)"}
    catalog = keyfold.connect(tmp_path, threads=2)
    table = catalog.create_table("t", columns, ["p", "k"], ["p"], options=options)
    for _ in range(12):
        what = draw.choice(["upsert", "upsert", "keys", "where", "compact"])
        here = table.scan().to_pylist()
        if what == "upsert":
            keys = [{"p": draw.randrange(3), "k": next(fresh)} for _ in range(20)]
            if engine == "aggregation":
                keys += [{"p": row["p"], "k": row["k"]} for row in here[:10]]
            table.upsert([row | {"v": draw.randrange(9), "w": draw.randrange(9)} for row in keys])
        elif what == "keys" and here:
            some = draw.sample(here, min(7, len(here)))
            given = [{"p": row["p"], "k": row["k"]} for row in some]
            table.delete([*given, {"p": 7, "k": -1}])
        elif what == "where":
            table.delete(where=draw.choice(["v > 6", "k > 30 AND p = 1", "w IS NULL"]))
        else:
            table.compact("full")
        assert summed(table) == sums(table)


def test_a_key_may_be_null(tmp_path: Path) -> None:
    catalog = keyfold.connect(tmp_path, threads=1)
    options = {"changelog-producer": "input", "primary-key.nullable": "true", "bucket": "2"}
    table = catalog.create_table("t", {"k": "INT", "v": "INT"}, ["k"], options=options)
    table.upsert([{"k": key, "v": 7} for key in (None, 1, 2)])
    table.delete([{"k": None}, {"k": 2}, {"k": 3}])
    found = table.changes(1, view="audit_log").to_pylist()
    assert sorted(found, key=str) == [
        {"rowkind": "-D", "k": 2, "v": 7},
        {"rowkind": "-D", "k": None, "v": 7},
    ]


def sums(table: Table) -> list[Any]:
    rows = table.scan().to_pylist()
    return [sum(row[name] for row in rows) for name in ("v", "w")]


def summed(table: Table) -> list[Any]:
    """The same by what the table's changes add and take away."""
    rows = table.changes(0, view="audit_log").to_pylist()
    return [sum(ADDED[row["rowkind"]] * row[name] for row in rows) for name in ("v", "w")]
