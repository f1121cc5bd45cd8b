"""Plans whose files stay entries of manifests: their tasks are those of the slow definition, which
looks at each file.
"""

import json
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from keyfold.errors import CorruptDataError
from keyfold.files.sections import packed, runs, sections
from keyfold.questions.planned import texts_of
from keyfold.read import splits
from keyfold.read.request import ReadRequest, Units
from keyfold.read.scan_plan import plan_read
from keyfold.read.splits import Task, task_size
from keyfold.storage.commits import commit
from keyfold.storage.metadata import manifest_columns
from keyfold.storage.metadata.entries import LiveFile, by_place
from keyfold.storage.table import Table
from keyfold.wire.partitions import Partition
from keyfold.wire.specs import Split
from tests.read.harness import where
from tests.storage import tables

COLUMNS = [tables.column("p", "integer"), tables.column("q", "string"), tables.column("k")]
COMMITS, TRIES = 8, 4


def filled(folder: Path, draw: random.Random, *, is_keyed: bool, **options: str) -> Table:
    """Files that were never written, in a few commits: one in most buckets, several in some. Then
    the table has no key, if that is asked for.
    """
    new = tables.new_table(*COLUMNS, key="p,q,k", by="p,q", bucket="8", **options)
    table = tables.table(folder, new)
    for _ in range(COMMITS):
        found = []
        for _ in range(draw.randint(1, 6)):
            values = draw.choice([None, 1, 2, 10]), draw.choice([None, "", "a", 'ü"\\\n'])
            low, bucket = draw.randrange(90), draw.randrange(4)
            one = tables.message(
                table, low, low + 9, bucket=bucket, partition=values, total=8,
                files=1 if is_keyed else draw.randint(1, 3),
            )  # fmt: skip
            sizes = [draw.choice([0, 900, 5_000, 40_000]) for _ in one.files]
            files = [replace(file, size=size) for file, size in zip(one.files, sizes, strict=True)]
            found.append(replace(one, files=tuple(files)))
        latest = tables.reload(table)
        assert commit.append(latest, replace(tables.spec(latest), mode="append"), found)
        table = tables.reload(table)
    return table if is_keyed else replace(table, layout=replace(table.layout, primary_key=()))


def expected(table: Table, request: ReadRequest, files: list[LiveFile]) -> Iterator[Task]:
    """The tasks by definition, where nothing is large enough to be cut."""
    units = []
    for place, held in sorted(by_place(files).items(), key=lambda item: str(item[0][0])):
        partition = Partition.of(table.layout, place[0])
        path = partition.bucket_folder(table.layout, place[1])
        held = [file.as_read(table.options) for file in held]
        found = sections(held) if table.layout.key else [(file,) for file in held]
        units += [Split(partition, place[1], path, (runs(section),)) for section in found]
    if request.only is not None:
        units = list(request.only.among(units))
    least = table.options.split_open_file_cost
    every = [file.size for unit in units for file in unit.files]
    target = task_size(table.options, every, request.cores)

    def weight(unit: Split) -> int:
        return sum(max(file.size, least) for file in unit.files)

    for held in packed(units, weight, target):
        task: list[Split] = []
        for one in held:
            if task and (task[-1].partition, task[-1].path) == (one.partition, one.path):
                task[-1] = replace(task[-1], sections=task[-1].sections + one.sections)
            else:
                task.append(one)
        yield tuple(task)


def sent(tasks: Any) -> Any:
    """Tasks as they travel."""
    return json.loads(json.dumps([[split.to_json() for split in task] for task in tasks]))


@pytest.mark.parametrize("is_keyed", [True, False])
def test_tasks_are_those_of_all_files(
    tmp_path: Path, seed: int, is_keyed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(splits, "_UNITS_AT_ONCE", 7)
    monkeypatch.setattr(splits, "_FEW_UNITS", 2)
    draw, several, lone = random.Random(seed), 0, 0
    for number in range(TRIES):
        options = {"source.split.open-file-cost": draw.choice(["1 kb", "8 kb"])}
        options["source.split.target-size"] = "400 kb"  # no section is larger
        if is_keyed and number % 2:
            options |= {"sequence.snapshot-ordering": "true", "write-only": "true"}
        table = filled(tmp_path / str(number), draw, is_keyed=is_keyed, **options)
        files = table.live_files()
        counts = list(map(len, by_place(files).values()))
        several, lone = several + sum(n > 1 for n in counts), lone + counts.count(1)
        for cores in (1, 3, 50):
            for only in (None, Units(0, 4), Units(2, 9), Units(5, None), Units(99, None)):
                request = ReadRequest(("k",), cores=cores, only=only, options={})
                if cores > 1 and is_keyed:  # a core's share may be less than a section
                    large = {"source.split.open-file-cost": "400 kb"}
                    table = replace(
                        table, layout=replace(table.layout, options=table.layout.options | large)
                    )
                scan, found, report = plan_read(table, request)
                wanted = list(expected(table, request, files))
                assert sent(found) == sent(wanted)
                assert found.count_splits() == sum(map(len, wanted))
                assert [json.loads(text) for text in found.texts()] == sent(wanted)
                assert [json.loads(text) for text in texts_of(found)] == sent(wanted)
                assert sent(found[place] for place in range(len(found))) == sent(wanted)
                read = [file for task in wanted for split in task for file in split.files]
                assert report.rows == sum(file.rows for file in read)
                assert report.bytes == sum(file.size for file in read)
                assert report.files_read == len(read)
                assert scan.snapshot == table.snapshot_id
    assert several > 3
    assert lone > 9


def test_lone_files_become_no_objects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = tables.table(tmp_path, tables.new_table(bucket="8"))
    files = [tables.message(table, bucket=bucket, total=8) for bucket in range(8)]
    assert commit.append(table, tables.spec(table), files)
    table = tables.reload(table)
    with monkeypatch.context() as patched:
        patched.setattr(manifest_columns, "ListedFile", None)
        _, found, report = plan_read(table, ReadRequest(("k",), cores=4))
        assert (len(found), report.files_read, report.rows) == (4, 8, 80)
        texts = list(found.texts())
        with pytest.raises(TypeError):
            found[0]
    assert sorted(split.bucket for task in found for split in task) == list(range(8))
    assert [json.loads(text) for text in texts] == sent(found)


def test_many_files_of_one_task_are_not_opened(tmp_path: Path) -> None:
    """Files that do not exist, each larger than a task: to cut one means to read its footer."""

    def planned(name: str, size: int, count: int, **of_request: Any) -> list[int]:
        options = {"bucket": str(count), "source.split.target-size": "100 kb"}
        options["source.split.open-file-cost"] = "1 kb"
        table = tables.table(tmp_path, tables.new_table(**options), name)
        messages = [tables.message(table, bucket=n, total=count) for n in range(count)]
        large = [
            replace(one, files=tuple(replace(file, size=size) for file in one.files))
            for one in messages
        ]
        assert commit.append(table, tables.spec(table), large)
        request = ReadRequest(("k",), cores=2, **of_request)
        _, found, _ = plan_read(tables.reload(table), request)
        return [len(task) for task in found]

    kb = 1024
    assert planned("many", 150 * kb, 11) == [1] * 11
    for name, size, count in (("few", 150 * kb, 10), ("large", 151 * kb, 40)):
        with pytest.raises(CorruptDataError, match="data file"):
            planned(name, size, count)
    with pytest.raises(CorruptDataError, match="data file"):
        planned("by_key", 150 * kb, 11, filters=(where("<", "k", 9),))
