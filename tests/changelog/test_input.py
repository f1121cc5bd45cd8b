"""Changes as they come in: each record of a job, with its kind, teed from the write."""

from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from keyfold.kernels.ops import KIND_NAMES, UPDATE_BEFORE
from keyfold.storage.commits import commit
from keyfold.testing.tables import Record
from keyfold.wire.specs import ORDINAL, WriteSpec
from keyfold.write.buffer import ORDINAL_ROW_BITS
from keyfold.write.writer import write
from tests.changelog.changelog_files import changes_of, files_of, path_of
from tests.concurrency import jobs
from tests.random_values import same
from tests.read import harness
from tests.storage import tables

COLUMNS = (
    tables.column("k"),
    tables.column("v", "string"),
    tables.column("s"),
    tables.column("kind", "string"),
)
ENGINES: dict[str, dict[str, str]] = {
    "deduplicate": {"sequence__field": "s"},
    "aggregation": {"fields__s__aggregate_function": "sum"},
    "partial-update": {"ignore_delete": "true"},
}


def made(folder: Path, engine: str, **more: str) -> Any:
    options = {"merge_engine": engine, "bucket": "2", "rowkind__field": "kind", **more}
    options |= {"changelog_producer": "input", **ENGINES[engine]}
    return tables.table(folder, tables.new_table(*COLUMNS, **options))


def some(random: Random, count: int, keys: int) -> list[dict[str, Any]]:
    return [
        {
            "k": random.randrange(keys),
            "v": random.choice((None, "a", "b")),
            "s": random.choice((None, 1, 2)),
            "kind": random.choice(KIND_NAMES),
        }
        for _ in range(count)
    ]


def batches(spec: WriteSpec, rows: list[dict[str, Any]], places: list[int] | None) -> list[Any]:
    """The rows in small batches; `places` are their ordinals."""
    found = []
    for start in range(0, len(rows), 7):
        for batch in harness.batches(spec.layout, rows[start : start + 7]):
            if places is not None:
                own = pa.array(places[start : start + 7], pa.int64())
                batch = batch.append_column(ORDINAL, own)
            found.append(batch)
    return found


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("size", ["1 b", "64 mb"], ids=["spilled", "in-memory"])
@pytest.mark.parametrize("keys", [10, 10_000])
def test_records_are_told_as_they_came(
    tmp_path: Path, engine: str, size: str, keys: int, seed: int
) -> None:
    random = Random(f"{seed} {engine} {size} {keys}")
    table = made(tmp_path, engine, write_buffer_size=size)
    rows = some(random, 400, keys)
    has_ordinal = engine != "aggregation"
    tasks = sorted(range(len(rows)), key=lambda n: (n % 3, n))  # three map tasks, one by one
    names = tuple(column.name for column in table.layout.columns)
    spec = WriteSpec(table.layout, names, has_ordinal, 7, f"job {engine} {size} {keys}")
    arriving = [rows[n] for n in tasks] if has_ordinal else rows
    places = [((n % 3) << ORDINAL_ROW_BITS) + n for n in tasks] if has_ordinal else None
    random.shuffle(order := list(range(len(rows))))
    if places is not None:
        arriving, places = [arriving[n] for n in order], [places[n] for n in order]
    messages = write(spec, batches(spec, arriving, places))
    commit.append(table, spec, messages)
    found = changes_of(tables.reload(table), 1)
    sent = [rows[n] for n in tasks] if has_ordinal else rows
    if engine == "partial-update":
        sent = [row for row in sent if row["kind"] in ("+I", "+U")]
    expected: list[Record] = [(KIND_NAMES.index(row["kind"]), row) for row in sent]
    assert len(found) == len(expected)
    for key in range(keys):
        own = [one for one in found if one[1]["k"] == key]
        theirs = [one for one in expected if one[1]["k"] == key]
        assert [kind for kind, _ in own] == [kind for kind, _ in theirs]
        assert all(same(a, b) for (_, a), (_, b) in zip(own, theirs, strict=True))


def test_keys_that_come_once_are_copied(tmp_path: Path) -> None:
    table = made(tmp_path, "deduplicate")
    rows = [{"k": n, "v": "a", "s": n, "kind": KIND_NAMES[n % 4]} for n in range(100)]
    jobs.written(str(tmp_path), rows)
    now = tables.reload(table)
    live, told = now.live_files(), files_of(now, now.snapshots.read(1))
    data = {Path(path_of(now, file)).read_bytes() for file in live}
    assert data == {Path(path_of(now, file)).read_bytes() for file in told}
    assert all(file.name.startswith("changelog-") for file in told)
    assert sum(kind == UPDATE_BEFORE for kind, _ in changes_of(now, 1)) == 25


def test_other_names_and_codec(tmp_path: Path) -> None:
    more = {"changelog_file__prefix": "told-", "changelog_file__compression": "none"}
    table = made(tmp_path, "deduplicate", **more)
    row = {"k": 1, "v": "a", "s": 1, "kind": "+I"}
    jobs.written(str(tmp_path), [row])
    now = tables.reload(table)
    assert changes_of(now, 1) == [(0, row)]
    (file,) = files_of(now, now.snapshots.read(1))
    assert file.name.startswith("told-")


def test_a_job_numbered_anew_keeps_its_changes(tmp_path: Path) -> None:
    folder = str(tmp_path)
    table = made(tmp_path, "deduplicate")
    row = {"k": 1, "v": "a", "s": 1, "kind": "+I"}
    late = jobs.Write(folder, [row | {"v": "late"}]).run()
    jobs.written(folder, [row | {"kind": "-D"}])
    jobs.compacted(folder)
    late.commit()
    now = tables.reload(table)
    assert [text["v"] for _, text in changes_of(now, now.snapshot_id)] == ["late"]
    live = {file.name for file in now.live_files()}
    data = {path.name for path in Path(now.layout.location).rglob("data-*.parquet")}
    assert live <= data
    told = list(Path(now.layout.location).rglob("changelog-*.parquet"))
    assert len(told) == 2


def test_an_aborted_job_leaves_no_changelog(tmp_path: Path) -> None:
    table = made(tmp_path, "deduplicate")
    job = jobs.Write(str(tmp_path), [{"k": 1, "v": "a", "s": 1, "kind": "+I"}]).run()
    assert list(Path(table.layout.location).rglob("changelog-*.parquet"))
    job.abort()
    assert not list(Path(table.layout.location).rglob("*.parquet"))
