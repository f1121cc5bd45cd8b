"""Plans in ranges of partitions: together they have the tasks of one plan of everything."""

import random
from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from keyfold.errors import TableError
from keyfold.read import plan_ranges
from keyfold.read.plan_ranges import PartitionRange, cut, of_range, ranges
from keyfold.read.request import ReadRequest, Units
from keyfold.read.scan_plan import plan_read
from keyfold.storage.commits import commit
from keyfold.storage.table import Table
from keyfold.wire.specs import Split
from tests.read.harness import where
from tests.read.test_plan_by_columns import filled, sent
from tests.storage import tables

ALWAYS = {"keyfold.plan-in-tasks.files": "1"}
TRIES = 6


def in_tasks(**asked: Any) -> ReadRequest:
    return ReadRequest(("k",), options=ALWAYS, **asked)


def days(folder: Path, count: int) -> Table:
    """A commit for each of so many partitions."""
    columns = [tables.column("p"), tables.column("k")]
    table = tables.table(folder, tables.new_table(*columns, key="p,k", by="p"))
    for day in range(count):
        made = [tables.message(table, partition=(day,), sequence=10 * day)]
        assert commit.append(table, tables.spec(table, 10 * day), made)
        table = tables.reload(table)
    return table


def splits(tasks: Iterable[tuple[Split, ...]]) -> list[str]:
    """The sections of all tasks, each with its place: where tasks end does not count."""
    return sorted(
        str(sent([[replace(split, sections=(section,))]]))
        for task in tasks
        for split in task
        for section in split.sections
    )


def test_ranges_are_together_one_plan(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan_ranges, "MOST_WORK", 100)
    draw, most = random.Random(seed), 0
    for number in range(TRIES):
        monkeypatch.setattr(plan_ranges, "FILES_OF_RANGE", draw.choice([1, 4, 9]))
        table = filled(tmp_path / str(number), draw, is_keyed=number % 3 < 2)
        for filters in ((), (where("<", "p", 2),), (where(">=", "p", 2),)):
            request = in_tasks(filters=filters, cores=3)
            count = len(ranges(table, request))
            most = max(most, count)
            whole, found, report = plan_read(table, request)
            parts = [plan_read(table, of_range(table, request, at)) for at in range(count)]
            if not count:
                continue
            assert splits(task for _, tasks, _ in parts for task in tasks) == splits(found)
            for field in ("rows", "bytes", "files_read"):
                of_parts = [getattr(one, field) for _, _, one in parts]
                assert sum(of_parts) == getattr(report, field)
            assert all(replace(scan, schemas=whole.schemas) == whole for scan, _, _ in parts)
    assert most > 1


def test_each_partition_is_in_one_range(seed: int) -> None:
    draw = random.Random(seed)
    for _ in range(200):
        manifests = []
        for _ in range(draw.randrange(12)):
            held = [draw.choice([None, *range(9)]) for _ in range(draw.randint(1, 4))]
            known = [value for value in held if value is not None]
            low, high = min(known, default=None), max(known, default=None)
            nulls = draw.choice([None, held.count(None)])
            manifests.append(([(low, high, nulls)], draw.randint(1, 9), held))
        found = cut([one[:2] for one in manifests], draw.randint(1, 12))
        for bounds, _, held in manifests:
            for value in held:
                (taking,) = [one for one in found if one((value, "other"))]
                assert taking.may_hold(bounds)
    assert len(cut([([(n, n, 0)], 5) for n in range(8)], 10)) == 4


def test_few_files_and_first_rows_are_planned_at_once(tmp_path: Path) -> None:
    table = days(tmp_path, 8)
    request = in_tasks(cores=8)
    begins = [None, *range(1, 8), None]
    assert ranges(table, request) == [PartitionRange(*one) for one in pairwise(begins)]
    for other in (
        replace(request, options={}),
        replace(request, options={"keyfold.plan-in-tasks.files": "9"}),
        replace(request, limit=3),
        replace(request, only=Units(0, 1)),
        replace(request, cores=3),  # too few to share the work with
        replace(request, filters=(where("=", "p", 3),)),
    ):
        assert ranges(table, other) == [], other
    wrong = replace(request, options={"keyfold.plan-in-tasks.files": "5 lightyears"})
    with pytest.raises(TableError, match=r"plan-in-tasks.files.*whole number.*5 lightyears"):
        ranges(table, wrong)


def test_manifests_of_any_partition_are_read_once(tmp_path: Path) -> None:
    """Each range would read all of them."""
    columns = [tables.column("p"), tables.column("k")]
    table = tables.table(tmp_path, tables.new_table(*columns, key="p,k", by="p"))
    for number in range(8):
        made = [tables.message(table, partition=(p,), sequence=number) for p in range(9)]
        assert commit.append(table, tables.spec(table, number), made)
        table = tables.reload(table)
    assert ranges(table, in_tasks(cores=50)) == []
