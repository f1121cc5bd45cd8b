"""Manifests that a statement leaves unread: its answer is that of all entries, and what is wrong
with a manifest that it does not need hurts it not.
"""

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from keyfold.compact import compaction_plan, jobs
from keyfold.compact.compaction_plan import CompactionRequest
from keyfold.errors import CorruptDataError, NotSupportedError, TableError
from keyfold.lookup.lookup_plan import plan_lookup
from keyfold.options.parsing import parse
from keyfold.predicates.prune import on_partitions, pruning
from keyfold.read.plan_head import PlanHead
from keyfold.read.request import ReadRequest
from keyfold.read.scan_plan import plan_read
from keyfold.storage.commits import commit
from keyfold.storage.commits.answers import Late
from keyfold.storage.commits.attempts import CommitInfo, Entries, attempt
from keyfold.storage.commits.job_places import JobPlaces
from keyfold.storage.commits.looked_at import LookedAt
from keyfold.storage.metadata import manifests
from keyfold.storage.metadata.entries import LiveFile, Place, Record, added
from keyfold.storage.metadata.partition_bounds import PartitionBounds, SomePartitions
from keyfold.storage.metadata.snapshot_files import number_above
from keyfold.storage.table import Table
from keyfold.wire.predicates import Predicate
from keyfold.write.jobs import plan_job
from tests.predicates.test_ranges import CASES, tree
from tests.read.harness import where
from tests.storage import damaged, tables
from tests.storage.crafted import Metadata

COMMITS, PREDICATES = 12, 6
COLUMNS = [tables.column("p", "integer"), tables.column("q", "string")]
KINDS = {"p": CASES[0][:2], "q": CASES[2][:2]}


def random_predicate(draw: random.Random) -> Predicate:
    """Of one partition column or of both."""
    parts = []
    for name, (_, kind) in draw.sample(sorted(KINDS.items()), draw.randint(1, 2)):
        value = (lambda of: of.randint(-1, 12)) if name == "p" else (lambda of: of.choice("abcd"))
        parts.append(_about(tree(draw, kind, value, depth=2), name))
    return parts[0] if len(parts) == 1 else Predicate(draw.choice(["AND", "OR"]), tuple(parts))


def _about(predicate: Any, name: str) -> Any:
    """The predicate with another column."""
    if not isinstance(predicate, Predicate):
        return type(predicate)(name) if hasattr(predicate, "name") else predicate
    return Predicate(predicate.op, tuple(_about(arg, name) for arg in predicate.args))


def committed(found: Table, draw: random.Random, live: list[LiveFile]) -> None:
    """A commit of files in a few partitions, which takes some files away."""
    near, records = draw.randrange(12), []
    for _ in range(draw.randint(1, 5)):
        p = draw.choice([near, near + 1, near, None])
        partition = p, draw.choice(["a", "b", "c", None])
        one = tables.message(found, partition=partition, bucket=draw.randrange(2))
        records += added(found.shapes, [one])
    gone: list[Record] = [file.deleted() for file in draw.sample(live, min(2, len(live) // 3))]
    base = found.snapshots.latest()
    with found.held() as location:
        by = CommitInfo(f"{draw.random()}", commit.APPEND)
        assert attempt(found, by, base, Entries([*gone, *records]), location) is not None


def test_the_answer_is_that_of_all_entries(tmp_path: Path, seed: int) -> None:
    new = tables.new_table(
        *COLUMNS,
        tables.column("k"),
        key="p,q,k",
        by="p,q",
        manifest__merge_min_count="9",
        num_sorted_run__compaction_trigger="2",
    )
    table, draw, left_out = tables.table(tmp_path, new), random.Random(seed), 0
    for _ in range(COMMITS):
        committed(table, draw, tables.reload(table).live_files())
        if draw.random() < 0.4:
            Metadata(table).say(properties=draw.choice([{}, {"keyfold.highest-sequence": "0@1"}]))
        table = tables.reload(table)
        every = table.live_files()
        manifests.CACHE.clear()  # which entries are live is still known
        assert [file.name for file in table.live_files()] == [file.name for file in every]
        listed = table.manifests.listed(table.snapshots.read(table.snapshot_id or 0))
        for _ in range(PREDICATES):
            predicate = random_predicate(draw)
            chosen = pruning(table.layout, parse(table.layout), [predicate])
            damaged.forget()
            found, total = PlanHead.of(table, ReadRequest((), (predicate,))).live()
            names = [file.name for file in every if chosen.keeps_partition(file.partition)]
            assert [file.name for file in found] == names, predicate
            assert total == len(every)
            some = table.manifests.that_may_hold(
                listed, lambda bounds, by=chosen: by.keeps_partitions(bounds.columns)
            )
            left_out += len(listed) - len(some)
        check_what_commits_look_at(table, draw, every)
    assert left_out > COMMITS


def check_what_commits_look_at(table: Table, draw: random.Random, every: list[LiveFile]) -> None:
    """The files that decide about a commit are those of its buckets among all."""
    there = sorted({file.partition for file in every if file.partition[0] is not None}, key=str)
    partitions = draw.sample([*there, (98, "a"), (99, "a")], 2)
    ours = [tables.message(table, partition=one, bucket=draw.randrange(2)) for one in partitions]
    places = {(one.partition.values, one.bucket) for one in ours}
    base = table.snapshots.latest()
    assert base is not None
    damaged.forget()
    found = LookedAt.of(table, base, JobPlaces.of(ours), at_all=False)
    names = [file.name for file in every if (file.partition, file.bucket) in places]
    assert [file.name for file in found.files] == names
    totals = found.around.totals(set(partitions))  # of other buckets' files only if they differ
    inside = {file.partition: 2 for file in every if file.partition in partitions}
    near = {file.partition: 2 for file in found.files}
    assert near.items() <= totals.items() <= inside.items()
    check_compactions(table, frozenset(places))
    condition = on_partitions(table.layout, [where("=", "p", partitions[0][0], type="integer")], "")
    damaged.forget()
    taken = LookedAt.of(table, base, JobPlaces.of(ours[1:]), at_all=True, taken=condition)
    near = [f.name for f in every if condition(f.partition) or f.partition == partitions[1]]
    assert [file.name for file in taken.files] == near
    found_too = table.live_files(partition_filter=condition)
    assert [f.name for f in found_too] == [f.name for f in every if condition(f.partition)]
    highest = max(file.max_sequence for file in every)
    assert number_above(table.manifests, base, table.snapshots.find) >= highest


def check_compactions(table: Table, touched: frozenset[Place]) -> None:
    """The steps for buckets that a write touched are theirs among the steps of the whole table."""

    def steps(asked: CompactionRequest) -> list[tuple[Any, ...]]:
        damaged.forget()
        _, found = compaction_plan.plan_steps(table, asked)
        every = (one.step for one in found)
        return [(one.partition.values, one.bucket, one.merged, one.upgraded) for one in every]

    of_all = steps(CompactionRequest("minor"))
    some = steps(CompactionRequest("minor", touched=touched))
    assert sorted(map(str, some)) == sorted(str(one) for one in of_all if one[:2] in touched)


def of_two(folder: Path) -> Table:
    """A table with one file in each of two partitions, in a manifest each."""
    new = tables.new_table(tables.column("p"), tables.column("k"), key="p,k", by="p")
    found = tables.table(folder, new)
    for p in (1, 2):
        commit.append(found, tables.spec(found), [tables.message(found, partition=(p,))])
    damaged.forget()
    return tables.reload(found)


def planned(table: Table, p: int) -> int:
    """The files that a scan of one partition reads; look-ups have as many buckets."""
    predicate = where("=", "p", p, type="long")
    _, _, report = plan_read(table, ReadRequest(("k",), (predicate,)))
    assert len(plan_lookup(table, ["k"], [predicate]).places) == report.files_read
    return report.files_read


def test_a_manifest_that_nobody_needs_may_be_gone(tmp_path: Path) -> None:
    table = of_two(tmp_path)
    first, second = table.manifests.listed(table.snapshots.read(2))
    path = Path(table.manifests.path(first["_FILE_NAME"]))
    path.write_bytes(path.read_bytes()[:-1])
    assert planned(table, 2) == 1
    assert planned(table, 3) == 0
    with pytest.raises(CorruptDataError, match=first["_FILE_NAME"]):
        planned(table, 1)
    assert second["_FILE_NAME"] != first["_FILE_NAME"]
    compacted(table, 2)
    with pytest.raises(CorruptDataError, match=first["_FILE_NAME"]):
        compacted(table, 1)


@pytest.mark.parametrize("kind", ["overwrite", "dynamic", "truncate", "compact", "compact where"])
def test_what_replaces_partitions_reads_only_those(tmp_path: Path, kind: str) -> None:
    table = of_two(tmp_path)
    first, _ = table.manifests.listed(table.snapshots.read(2))
    Path(table.manifests.path(first["_FILE_NAME"])).write_bytes(b"")

    def run(p: int) -> Any:
        damaged.forget()
        by = [where("=", "p", p, type="long")]
        condition = on_partitions(table.layout, by, "the test")
        spec = replace(tables.spec(table), snapshot=2)
        one = tables.message(table, partition=(p,))
        if kind == "compact":
            return jobs.plan_job(table, "full", partitions=f"p={p}").spec
        if kind == "compact where":
            return jobs.plan_job(table, "full", where=by).spec
        if kind == "truncate":
            return commit.truncate(table, condition)
        return commit.overwrite(table, spec, [one], condition if kind == "overwrite" else "dynamic")

    with pytest.raises(CorruptDataError, match=first["_FILE_NAME"]):
        run(1)
    assert run(2) is not None
    left = tables.reload(table).live_files(partition_filter=SomePartitions([(2,)]))
    assert len(left) == (kind != "truncate")


def compacted(table: Table, p: int) -> None:
    """The compaction that follows a write to a bucket, planned."""
    damaged.forget()
    jobs.plan_job(table, "auto", touched=frozenset([((p,), 0)]))


def test_files_of_other_partitions_may_be_of_another_format(tmp_path: Path) -> None:
    table = of_two(tmp_path)

    def rename(entry: Record) -> None:
        entry["_FILE"]["_FILE_NAME"] = "data-1-0.csv"

    Metadata(table).of_manifest("deltaManifestList", 0, rename)
    table = tables.reload(table)
    table.check_format()
    assert planned(table, 1) == 1
    with pytest.raises(NotSupportedError, match=r"data-1-0\.csv is not Parquet, ORC or Avro"):
        planned(table, 2)
    with pytest.raises(NotSupportedError, match=r"data-1-0\.csv is not Parquet, ORC or Avro"):
        table.check_readable()


UNKNOWN = [
    {"_MIN_VALUES": b"", "_MAX_VALUES": b""},
    {"_MIN_VALUES": b"\0\0\0\1\xff", "_MAX_VALUES": b"\xff"},
    {"_NULL_COUNTS": None, "_MIN_VALUES": b""},
    {"_NULL_COUNTS": [0] * 9, "_MAX_VALUES": b""},
]


@pytest.mark.parametrize("said", UNKNOWN)
def test_bounds_that_say_nothing_leave_nothing_out(tmp_path: Path, said: Any) -> None:
    table = of_two(tmp_path)

    def forget_bounds(listed: Record) -> None:
        listed["_PARTITION_STATS"].update(said)

    Metadata(table).of_list("baseManifestList", forget_bounds)
    assert planned(tables.reload(table), 1) == 1


def test_nulls_are_believed_beside_values_only(tmp_path: Path) -> None:
    """A writer that counts no NULL where a column has nothing else."""
    new = tables.new_table(*COLUMNS, tables.column("k"), key="p,q,k", by="p,q")
    codec = tables.table(tmp_path, new).shapes.partition
    row = codec.encode((None, "a"))
    stats = {"_MIN_VALUES": row, "_MAX_VALUES": row, "_NULL_COUNTS": [0, 0]}
    found = PartitionBounds.of({"_PARTITION_STATS": stats}, codec)
    assert found.columns == ((None, None, None), ("a", "a", 0))
    assert found.may_hold([(None, "a")])
    assert found.may_hold([(7, "a")])
    assert not found.may_hold([(None, None)])
    assert not found.may_hold([(None, "b")])


def test_commits_conflict_where_manifests_are_left_out(tmp_path: Path) -> None:
    """Ties and other numbers of buckets in a partition are found, and what is wrong elsewhere not
    looked at.
    """
    table = of_two(tmp_path)
    first, second = table.manifests.listed(table.snapshots.read(2))
    (theirs,) = (file for file in table.live_files() if file.partition == (2,))
    path = Path(table.manifests.path(first["_FILE_NAME"]))
    path.write_bytes(path.read_bytes()[:-1])
    damaged.forget()

    def commit_to(p: int, **more: Any) -> Any:
        message = tables.message(table, partition=(p,), **more)
        return commit.append(table, replace(tables.spec(table), snapshot=2), [message])

    with pytest.raises(TableError, match="holds files of 2 buckets, the job wrote 3"):
        commit_to(2, total=3)
    with pytest.raises(CorruptDataError, match=first["_FILE_NAME"]):
        commit_to(1)
    assert table.manifests.decoded(second).partitions == ((2,),)
    assert commit_to(2) == 3
    late = commit_to(2, bucket=theirs.bucket, sequence=theirs.max_sequence)
    assert isinstance(late, Late)
    assert late.sequence > theirs.max_sequence


def test_an_insert_is_planned_without_manifests(tmp_path: Path) -> None:
    """The newest snapshot says the highest number. After another engine has committed, which does
    not say it, only its own manifests are read.
    """
    table = of_two(tmp_path)
    highest = max(file.max_sequence for file in table.live_files())
    first, second = table.manifests.listed(table.snapshots.read(2))
    Path(table.manifests.path(first["_FILE_NAME"])).write_bytes(b"")
    damaged.forget()
    assert table.highest_sequence() == highest
    for of_others in ({}, {"keyfold.highest-sequence": "7@1"}, {"keyfold.highest-sequence": "7"}):
        Metadata(table).say(properties=of_others)
        table = tables.reload(table)
        assert table.highest_sequence() == highest
        assert plan_job(table, ["p", "k"]).sequence > highest
    Path(table.manifests.path(second["_FILE_NAME"])).write_bytes(b"")
    damaged.forget()
    with pytest.raises(CorruptDataError, match=second["_FILE_NAME"]):
        table.highest_sequence()


def test_what_a_commit_does_not_need_is_not_told(tmp_path: Path) -> None:
    """A commit goes on where a manifest that it leaves unread hides the highest number."""
    table = of_two(tmp_path)
    first, _ = table.manifests.listed(table.snapshots.read(2))
    for number in (1, 2):
        path = Path(table.snapshots.path(number))
        path.write_text(path.read_text().replace("keyfold.highest-sequence", "other"))
    path = Path(table.manifests.path(first["_FILE_NAME"]))
    stored = path.read_bytes()
    path.write_bytes(b"")
    damaged.forget()
    one = tables.message(table, partition=(2,))
    assert commit.append(table, replace(tables.spec(table), snapshot=2), [one]) == 3
    assert table.snapshots.read(3).number_above is None
    path.write_bytes(stored)
    again = tables.message(table, partition=(2,))
    assert commit.append(table, replace(tables.spec(table), snapshot=3), [again]) == 4
    assert table.snapshots.read(4).number_above == again.files[0].max_sequence
