"""Another number of buckets: the same rows, each in the bucket that its hash names, and what stands
in the way.
"""

from pathlib import Path
from random import Random
from typing import Any

import pyarrow.parquet as pq
import pytest

from keyfold.errors import ConflictError, KeyfoldError, NotSupportedError, TableError
from keyfold.kernels.keys.hash import bucket_hash
from keyfold.storage.commits import commit
from keyfold.storage.commits import rescale as storage
from keyfold.storage.schema import schemas
from keyfold.storage.schema.schemas import Schemas
from keyfold.storage.table import Table
from tests.compact import harness as compaction
from tests.compact import parts
from tests.compact.histories import History, rows, stored
from tests.compact.test_histories import ADDS, ANY, is_refused
from tests.concurrency import jobs
from tests.merge.random_tables import ENGINES, check_same, random_table
from tests.read import harness
from tests.storage import tables

TOP = 5
COUNTS = (1, 2, 3, 4, 6, 7)
# By a factor and by none, up and down, from one bucket and to one; each number is on both sides.
CHANGES = [(1, 2), (2, 1), (2, 4), (6, 3), (3, 7), (7, 6), (4, 3), (1, 7), (7, 1), (3, 3)]


def plan(found: Table, buckets: int, parallelism: int = 2) -> Any:
    asked = compaction.question(found, buckets=buckets, parallelism=parallelism)
    return compaction.sent(parts.plan_rescale(asked))


def finish(found: Table, planned: Any) -> Any:
    """Run and commit what was planned."""
    done = [one["files"] for one in compaction.run(planned, planned)]
    told = {"compaction": planned["compaction"], "step": planned["step"], "results": done}
    return parts.commit_rescale(compaction.question(found, **told))


def rescaled(found: Table, buckets: int, parallelism: int = 2) -> Any:
    return finish(found, plan(found, buckets, parallelism))


def content(found: Table) -> list[dict[str, Any]]:
    """The rows, by key: buckets come in no order of keys."""
    return sorted(
        harness.rows(found), key=lambda row: tuple(row[name] for name in found.layout.key)
    )


def in_order(found: Table) -> list[Any]:
    """The rows of any table, by key."""
    key = found.layout.key
    return sorted(rows(found), key=lambda row: repr([row[1][name] for name in key]))


def check_placed(found: Table, buckets: int) -> None:
    """Every row of every file is where its hash says; nothing is left to merge."""
    table = tables.reload(found)
    assert table.options.bucket == buckets
    keys = list(table.options.bucket_key)
    for file in table.live_files():
        assert (file.total_buckets, file.level) == (buckets, TOP)
        path = f"{file.folder(table.layout)}/{file.name}"
        stored_keys = pq.ParquetFile(path).read(columns=keys)
        hashes = bucket_hash([stored_keys.column(name).combine_chunks() for name in keys])
        assert {abs(int(one)) % buckets for one in hashes.tolist()} == {file.bucket}
    assert compaction.plan(table)["steps"] == []


@pytest.mark.parametrize("engine_name", ENGINES)
def test_rescaling_changes_no_row(tmp_path: Path, engine_name: str, seed: int) -> None:
    """Of every engine, by any factor, however many tasks it is cut into."""
    random = Random(f"{seed} rescale {engine_name}")
    for attempt in range(20):
        layout = random_table(random, engine_name)
        while is_refused(layout):
            layout = random_table(random, engine_name)
        size = random.choice(("1 kb", "128 mb"))
        table = stored(tmp_path, layout, f"t{attempt}", target_file_size=size)
        history = History(random, table, random.choice((ADDS, ANY)))
        try:
            history.append(4)
            before = in_order(table)
            break
        except TableError:
            continue  # records that the engine refuses to fold
    for buckets in [*random.sample(COUNTS[1:], 3), 1]:
        answer = rescaled(table, buckets, random.choice((1, 4)))
        check_same(in_order(table), before, layout.arrow_schema.names)
        check_placed_of_any_type(table, buckets)
        assert answer["rows"] >= len(before)


def check_placed_of_any_type(found: Table, buckets: int) -> None:
    """The same without a second opinion on hashes of types that files hold in another form."""
    table = tables.reload(found)
    assert {(f.total_buckets, f.level) for f in table.live_files()} <= {(buckets, TOP)}
    assert all(0 <= f.bucket < buckets for f in table.live_files())


@pytest.mark.parametrize(("before", "after"), CHANGES)
def test_every_row_is_in_its_bucket(tmp_path: Path, before: int, after: int) -> None:
    table = tables.table(tmp_path, tables.new_table(bucket=str(before)))
    for start in (0, 40, 20):
        harness.upsert(table, [{"k": k, "v": start} for k in range(start, start + 50)])
    held = content(table)
    answer = rescaled(table, after)
    assert content(table) == held
    if before == after:
        assert answer == {"snapshot": None, "files": 0, "bytes": 0, "rows": 0}
        return
    assert (answer["snapshot"], answer["rows"]) == (4, 90)
    check_placed(table, after)
    snapshot = table.snapshots.latest()
    assert (snapshot.commit_kind, snapshot.total_record_count) == ("OVERWRITE", 90)
    assert snapshot.schema_id == tables.reload(table).layout.schema_id == 1
    newest = tables.reload(table)
    harness.upsert(newest, [{"k": 7, "v": -1}, {"k": 1000, "v": -2}])
    by_key = {row["k"]: row["v"] for row in content(table)}
    assert by_key == {row["k"]: row["v"] for row in held} | {7: -1, 1000: -2}


def test_partitions_and_key_ranges(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Large buckets are cut by key among tasks; their files lie beside each other on one level."""
    monkeypatch.setattr("keyfold.compact.rescale.LEAST_PIECE", 1 << 10)
    columns = (tables.column("p", "string"), tables.column("k"), tables.column("v"))
    options = {"bucket": "2", "keyfold__row_group__rows": "1024"}
    table = tables.table(tmp_path, tables.new_table(*columns, key="p,k", by="p", **options))
    for v in range(3):
        made = [{"p": p, "k": k * 7919 % 9973, "v": v} for p in "ab" for k in range(v, 8000)]
        harness.upsert(table, made)
    held = content(table)
    planned = plan(table, 3, parallelism=64)
    assert len(planned["tasks"]) > 2 * 3 * 2
    finish(table, planned)
    assert content(table) == held
    check_placed(table, 3)


def test_an_empty_table_is_told_its_buckets(tmp_path: Path) -> None:
    table = tables.table(tmp_path)
    assert rescaled(table, 8)["snapshot"] is None
    newest = tables.reload(table)
    assert (newest.options.bucket, newest.snapshot_id) == (8, None)


def test_an_older_snapshot_reads_as_it_was(tmp_path: Path) -> None:
    table = tables.table(tmp_path)
    harness.upsert(table, [{"k": k, "v": k} for k in range(50)])
    old = tables.reload(table)
    held = jobs.rows_of(old)
    rescaled(table, 5)
    harness.upsert(tables.reload(table), [{"k": 1, "v": 100}])
    assert jobs.rows_of(old) == held
    wanted = [harness.where("=", "k", 7)]
    assert harness.rows(table, ["k", "v"], wanted) == [{"k": 7, "v": 7}]


@pytest.mark.parametrize("buckets", [0, -1, -2])
def test_counts_that_are_none(tmp_path: Path, buckets: int) -> None:
    with pytest.raises(NotSupportedError, match="expected a number from 1"):
        plan(tables.table(tmp_path), buckets)


@pytest.fixture
def folder(tmp_path: Path) -> str:
    """A warehouse with a table of two buckets."""
    tables.table(tmp_path)
    jobs.written(str(tmp_path), [{"k": k, "v": k} for k in range(20)])
    return str(tmp_path)


def state(folder: str) -> tuple[int, int | None, list[str]]:
    """Buckets, snapshot, and all data files."""
    table = jobs.table_of(folder)
    files = sorted(str(path) for path in Path(table.layout.location).rglob("data-*"))
    return table.options.bucket, table.snapshot_id, files


def schema_id(folder: str) -> int:
    return jobs.table_of(folder).layout.schema_id


def test_a_conflict_changes_nothing(folder: str) -> None:
    """The schema is not even touched where the conflict shows beforehand."""
    job = jobs.Rescale(folder, 4).run()
    jobs.written(folder, [{"k": 1, "v": 100}])
    written = Path(jobs.table_of(folder).layout.location)
    new = {str(p) for p in written.rglob("data-*")}
    with pytest.raises(ConflictError, match="of 2 buckets meanwhile; nothing has changed"):
        job.commit()
    buckets, snapshot, files = state(folder)
    assert (buckets, snapshot, schema_id(folder)) == (2, 2, 0)
    assert set(files) < new
    assert jobs.rescaled(folder, 4) == 3
    assert jobs.rows_of(jobs.table_of(folder)) == {k: k for k in range(20)} | {1: 100}


def test_a_conflict_after_the_schema_takes_it_back(
    folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An append planned before is committed between the schema and the snapshot."""
    append = jobs.Write(folder, [{"k": 1, "v": 100}]).run()
    job = jobs.Rescale(folder, 4).run()
    own = commit.rewrite

    def late(*arguments: Any) -> int | None:
        monkeypatch.setattr(commit, "check_meanwhile", lambda *_: None)  # it had looked just before
        append.commit()
        return own(*arguments)

    monkeypatch.setattr(commit, "rewrite", late)
    with pytest.raises(ConflictError, match="of 2 buckets meanwhile"):
        job.commit()
    assert state(folder)[:2] == (2, 2)
    assert schema_id(folder) == 2  # there and back
    jobs.written(folder, [{"k": 2, "v": 200}])
    assert jobs.rows_of(jobs.table_of(folder)) == {k: k for k in range(20)} | {1: 100, 2: 200}


class Killed(BaseException):
    """Stands for the end of the process."""


@pytest.mark.parametrize("healed", [2, 4])
def test_killed_between_schema_and_snapshot(
    folder: str, monkeypatch: pytest.MonkeyPatch, healed: int
) -> None:
    """Reading goes on, writing is refused with what to do, and that does it."""
    job = jobs.Rescale(folder, 4).run()

    def dead(*_: Any) -> None:
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(commit, "rewrite", dead)
        patched.setattr(storage, "take_back", dead)
        patched.setattr(parts, "abandon_compaction", dead)
        with pytest.raises(Killed):
            job.commit()
    assert state(folder)[:2] == (4, 1)
    held = {k: k for k in range(20)}
    assert jobs.rows_of(jobs.table_of(folder)) == held
    with pytest.raises(TableError, match=r"files of 2 buckets.*CALL sys.rescale\(table, 4\)"):
        jobs.written(folder, [{"k": 1, "v": 100}])
    assert jobs.compacted(folder) == ["committed"] * 2
    jobs.rescaled(folder, healed)
    jobs.written(folder, [{"k": 1, "v": 100}])
    assert state(folder)[0] == healed
    assert jobs.rows_of(jobs.table_of(folder)) == held | {1: 100}


def test_a_failed_publish_takes_the_schema_back(
    folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = jobs.Rescale(folder, 4).run()

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("keyfold.storage.metadata.manifests.Manifests.write", full)
        with pytest.raises(OSError, match="No space left"):
            job.commit()
    assert state(folder)[:2] == (2, 1)
    assert len(state(folder)[2]) == 2  # what it wrote is gone


def test_two_at_once(folder: str) -> None:
    one, other = jobs.Rescale(folder, 4).run(), jobs.Rescale(folder, 3).run()
    assert one.commit() == 2
    with pytest.raises(ConflictError, match="run the statement again"):
        other.commit()
    assert state(folder)[:2] == (4, 2)
    assert jobs.rescaled(folder, 3) == 3


def test_an_alter_meanwhile_is_built_upon(folder: str) -> None:
    job = jobs.Rescale(folder, 4).run()
    jobs.altered(folder, [{"change": "add_column", "name": ["w"], "type": "long"}])
    job.commit()
    table = jobs.table_of(folder)
    assert [column.name for column in table.layout.columns] == ["k", "v", "w"]
    assert (table.layout.schema_id, table.options.bucket) == (2, 4)
    assert content(table)[3] == {"k": 3, "v": 3, "w": None}


def test_old_schemas_are_read(folder: str) -> None:
    jobs.altered(folder, [{"change": "add_column", "name": ["w"], "type": "long"}])
    jobs.written(folder, [{"k": 3, "v": 30, "w": 300}])
    jobs.rescaled(folder, 3)
    found = content(jobs.table_of(folder))
    assert found[3] == {"k": 3, "v": 30, "w": 300}
    assert found[4] == {"k": 4, "v": 4, "w": None}


def test_an_expired_plan_is_a_conflict(folder: str) -> None:
    job = jobs.Rescale(folder, 4).run()
    jobs.written(folder, [{"k": 1, "v": 100}], "overwrite")
    jobs.expired(folder, 1)
    with pytest.raises(ConflictError, match="replaced a data file that this one wrote again"):
        job.commit()
    assert state(folder)[0] == 2


def test_a_dropped_table_stays_dropped(folder: str) -> None:
    job = jobs.Rescale(folder, 4).run()
    jobs.dropped(folder)
    with pytest.raises(ConflictError, match="dropped, renamed or replaced"):
        job.commit()
    assert not Path(job.table.layout.location).exists()


def test_schemas_of_others_are_not_lost(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where others alter the table again and again, none of their changes is overwritten."""
    job = jobs.Rescale(folder, 4).run()
    own, left = Schemas.publish, [3]

    def raced(self: Schemas, schema: schemas.StoredSchema) -> bool:
        if left[0]:
            left[0] -= 1
            name = f"c{left[0]}"
            added = {"change": "add_column", "name": [name], "type": "long"}
            rest, left[0] = left[0], 0
            jobs.altered(folder, [added])
            left[0] = rest
        return own(self, schema)

    monkeypatch.setattr(Schemas, "publish", raced)
    job.commit()
    table = jobs.table_of(folder)
    assert [column.name for column in table.layout.columns] == ["k", "v", "c2", "c1", "c0"]
    assert table.options.bucket == 4


def test_errors_are_ours(folder: str) -> None:
    with pytest.raises(KeyfoldError):
        jobs.Rescale(folder, 0)
