"""Commits: what is live afterwards, who wins races, and what is left behind when one fails."""

import json
import multiprocessing
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from keyfold.errors import ConflictError, NotSupportedError, TableError, UnknownOutcomeError
from keyfold.storage.commits import answers, commit
from keyfold.storage.commits.outcomes import is_abandonable
from keyfold.storage.table import Table
from keyfold.stores.local import LocalFiles
from keyfold.wire.specs import CommitMessage
from keyfold.write.writer import write
from tests.read import harness
from tests.storage import tables

SPAWN = multiprocessing.get_context("spawn")


def names(found: Table) -> set[str]:
    return {file.name for file in tables.reload(found).live_files()}


def written(*messages: CommitMessage) -> set[str]:
    return {file.name for message in messages for file in message.files}


def append(found: Table, *messages: CommitMessage) -> int | None:
    return commit.append(found, tables.spec(found), messages)


def manifests(found: Table) -> set[str]:
    return {path.name for path in (Path(found.layout.location) / "manifest").iterdir()}


def test_appends_add_up(tmp_path: Path) -> None:
    found = tables.table(tmp_path)
    one, two = tables.message(found, 0, 9), tables.message(found, 5, 20, bucket=1)
    assert append(found, one) == 1
    assert append(found, two) == 2
    assert names(found) == written(one, two)
    snapshot = found.snapshots.latest()
    assert (snapshot.total_record_count, snapshot.delta_record_count) == (26, 16)
    assert snapshot.commit_kind == "APPEND"
    assert tables.reload(found).highest_sequence() == two.files[0].max_sequence


def test_keys_and_statistics_come_back(tmp_path: Path) -> None:
    found = tables.table(tmp_path)
    append(found, tables.message(found, -3, 12))
    (file,) = tables.reload(found).live_files()
    assert (file.min_key, file.max_key) == ((-3,), (12,))
    assert file.key_stats == ((-3, 12, 0),)
    assert file.value_stats(found.layout) == {"k": (-3, 12, 0), "v": (-3, 12, 0)}


@pytest.mark.parametrize(
    ("narrow", "wide", "value"), [("float", "double", 1.5), ("long", "decimal(38,2)", 7)]
)
def test_statistics_are_stored_by_the_schema_that_a_job_wrote_by(
    tmp_path: Path, narrow: str, wide: str, value: Any
) -> None:
    columns = tables.column("k"), tables.column("v", narrow)
    found = tables.table(tmp_path, tables.new_table(*columns, bucket="1"))
    spec = harness.job(found.layout)
    messages = write(spec, harness.batches(found.layout, [{"k": 1, "v": value}]))
    change = {"change": "update_column_type", "name": "v", "type": wide}
    tables.catalog(tmp_path).alter_table(["default"], "t", [change])
    commit.append(tables.reload(found), spec, messages)
    (file,) = tables.reload(found).live_files()
    assert file.schema_id == 0
    assert file.value_stats(found.layout)["v"] == (value, value, 0)
    assert harness.rows(found) == [{"k": 1, "v": value}]


def test_an_empty_append_makes_no_snapshot(tmp_path: Path) -> None:
    found = tables.table(tmp_path)
    assert append(found) is None
    assert found.snapshots.latest_id() is None


def test_a_job_commits_once(tmp_path: Path) -> None:
    found = tables.table(tmp_path)
    spec, message = tables.spec(found), tables.message(found)
    assert commit.append(found, spec, [message]) == 1
    assert commit.append(found, spec, [message]) == 1
    assert not is_abandonable(found, spec.job, None)


@pytest.mark.parametrize(
    ("replaced", "expected"),
    [
        ("all", {3}),
        ("dynamic", {2, 3}),
        ((lambda partition: partition[0] == 2), {1, 3}),
        ((lambda partition: partition[0] > 5), {1, 2, 3}),
    ],
)
def test_overwrite_replaces_partitions(tmp_path: Path, replaced: Any, expected: set[int]) -> None:
    new = tables.new_table(tables.column("p"), tables.column("k"), key="p,k", by="p")
    found = tables.table(tmp_path, new)
    messages = [tables.message(found, partition=(p,)) for p in (1, 2, 1)]
    append(found, *messages[:2])
    commit.overwrite(found, tables.spec(found), messages[2:], replaced)
    wanted = [message for n, message in enumerate(messages, 1) if n in expected]
    assert names(found) == written(*wanted)
    assert found.snapshots.latest().commit_kind == "OVERWRITE"


def test_truncate_empties(tmp_path: Path) -> None:
    found = tables.table(tmp_path)
    assert commit.truncate(found) is None
    append(found, tables.message(found, files=3))
    assert commit.truncate(found) == 2
    assert names(found) == set()
    assert found.snapshots.latest().total_record_count == 0


def test_bucket_counts_of_a_partition_agree(tmp_path: Path) -> None:
    found = tables.table(tmp_path)
    append(found, tables.message(found, total=2))
    with pytest.raises(TableError, match=r"files of 2 buckets, the job wrote 3"):
        append(found, tables.message(found, total=3))
    commit.overwrite(found, tables.spec(found), [tables.message(found, total=3)], "all")


def test_a_sequence_tie_asks_for_later_numbers(tmp_path: Path) -> None:
    found = tables.table(tmp_path)
    append(found, tables.message(found, sequence=77))
    answer = commit.append(found, tables.spec(found), [tables.message(found, sequence=77)])
    assert isinstance(answer, answers.Late)
    assert (answer.sequence > 77, answer.seen) == (True, 1)
    append(found, tables.message(found, sequence=77, bucket=1))
    tied = [tables.message(found, sequence=77)]
    assert tables.committed(found, tables.spec(found), tied) == 3
    numbers = [file.max_sequence for file in tables.reload(found).live_files() if file.bucket == 0]
    assert len(set(numbers)) == 2
    assert tables.reload(found).highest_sequence() > 77


def append_many(location: str, count: int) -> None:
    found = tables.catalog(Path(location)).load_table(["default"], "t")
    for number in range(count):
        message = tables.message(found, sequence=number)
        tables.committed(found, tables.spec(found), [message])


def test_appends_of_several_processes_are_all_there(tmp_path: Path) -> None:
    found = tables.table(tmp_path)
    workers, each = 3, 15
    with ProcessPoolExecutor(workers, SPAWN) as pool:
        list(pool.map(append_many, [str(tmp_path)] * workers, [each] * workers))
    assert found.snapshots.latest_id() == workers * each
    assert len(names(found)) == workers * each
    users = [found.snapshots.read(n + 1).commit_user for n in range(workers * each)]
    assert len(set(users)) == len(users)


def test_a_lost_race_is_retried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = tables.table(tmp_path)
    other = tables.message(found, bucket=1)
    original = LocalFiles.publish
    lost: list[str] = []

    def racing(self: LocalFiles, path: str, data: bytes) -> bool:
        if path.endswith("snapshot-1") and not lost:
            lost.append(path)
            append(found, other)
        return original(self, path, data)

    monkeypatch.setattr(LocalFiles, "publish", racing)
    ours = tables.message(found)
    assert append(found, ours) == 2
    assert names(found) == written(ours, other)
    assert len(manifests(found)) == 6  # two lists and a manifest each: the lost attempt's are gone


def failing(error: Exception, happens: bool) -> Any:
    original = LocalFiles.publish

    def publish(self: LocalFiles, path: str, data: bytes) -> bool:
        if happens:
            original(self, path, data)
        raise error

    return publish


def test_a_failure_before_publishing_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found, job = tables.table(tmp_path), None
    monkeypatch.setattr(LocalFiles, "publish", failing(OSError("disk full"), happens=False))
    job = tables.spec(found)
    with pytest.raises(OSError, match="disk full"):
        commit.append(found, job, [tables.message(found)])
    assert manifests(found) == set()
    assert is_abandonable(found, job.job, None)


def test_a_failure_after_publishing_is_a_success(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = tables.table(tmp_path)
    monkeypatch.setattr(LocalFiles, "publish", failing(OSError("reply lost"), happens=True))
    message = tables.message(found)
    assert append(found, message) == 1
    assert names(found) == written(message)


def test_a_request_that_was_sent_twice_commits_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By something on the way to a store or a catalog's server: the second one comes too late."""
    found = tables.table(tmp_path)
    append(found, tables.message(found))
    original = LocalFiles.publish

    def twice(self: LocalFiles, path: str, data: bytes) -> int:
        original(self, path, data)
        return original(self, path, data)

    monkeypatch.setattr(LocalFiles, "publish", twice)
    message = tables.message(found)
    assert append(found, message) == 2
    assert found.snapshots.latest_id() == 2
    assert written(message) <= names(found)


def test_an_unknown_outcome_keeps_everything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found, message = tables.table(tmp_path), None
    spec, message = tables.spec(found), tables.message(found)
    monkeypatch.setattr(LocalFiles, "publish", failing(OSError("reply lost"), happens=True))
    broken = OSError("unreachable")

    def unreadable(self: LocalFiles, path: str) -> bytes:
        if "snapshot-" in path:
            raise broken
        return Path(path).read_bytes()

    monkeypatch.setattr(LocalFiles, "read", unreadable)
    with pytest.raises(UnknownOutcomeError, match="its data files were kept: look for commit user"):
        commit.append(found, spec, [message])
    monkeypatch.undo()
    assert not is_abandonable(found, spec.job, None)
    assert names(found) == written(message)
    with pytest.raises(UnknownOutcomeError, match="is not known"):
        commit.append(found, spec, [message])


def test_a_table_replaced_meanwhile_is_not_written(tmp_path: Path) -> None:
    found = tables.table(tmp_path)
    tables.catalog(tmp_path).drop_table(["default"], "t")
    with pytest.raises(ConflictError, match="dropped, renamed or replaced"):
        append(found, tables.message(found))
    assert not Path(found.layout.location).exists()
    tables.table(tmp_path)
    with pytest.raises(ConflictError, match="dropped, renamed or replaced"):
        append(found, tables.message(found))


def test_another_engines_table_is_refused_by_option(tmp_path: Path) -> None:
    found = tables.table(tmp_path)
    path = Path(found.layout.location) / "schema" / "schema-0"
    schema = json.loads(path.read_text())
    schema["options"]["bucket-function.type"] = "mod"
    path.write_text(json.dumps(schema))
    altered = tables.reload(found)
    altered.check_readable()
    with pytest.raises(NotSupportedError, match=r"option bucket-function.type is 'mod'"):
        append(altered, tables.message(altered))


def test_many_commits_keep_few_manifests(tmp_path: Path) -> None:
    found = tables.table(tmp_path)
    messages = [tables.message(found, bucket=n % 2) for n in range(100)]
    for message in messages:
        append(found, message)
    assert names(found) == written(*messages)
    assert len(found.manifests.listed(found.snapshots.latest())) < 40


def test_deletes_are_worked_off(tmp_path: Path) -> None:
    found = tables.table(tmp_path)
    append(found, tables.message(found, files=100))
    commit.truncate(found)
    last = tables.message(found)
    append(found, last)
    snapshot = found.snapshots.latest()
    assert names(found) == written(last)
    entries = sum(
        record["_NUM_ADDED_FILES"] + record["_NUM_DELETED_FILES"]
        for record in found.manifests.listed(snapshot)
    )
    assert entries == 1


def commit_forever(location: str) -> None:
    found = tables.catalog(Path(location)).load_table(["default"], "t")
    while True:
        tables.committed(found, tables.spec(found), [tables.message(found)])


def test_a_killed_job_leaves_a_sound_table(tmp_path: Path) -> None:
    new = tables.new_table(manifest__merge_min_count="2")
    found = tables.table(tmp_path, new)
    for victims in range(1, 4):
        victim = SPAWN.Process(target=commit_forever, args=(str(tmp_path),))
        victim.start()
        while (found.snapshots.latest_id() or 0) < 15 * victims:
            assert victim.exitcode is None
            time.sleep(0.01)
        victim.kill()
        victim.join()
        assert len(names(found)) == found.snapshots.latest_id()
        appended = tables.message(found, sequence=10**9 + victims)
        append(found, appended)
        assert written(appended) <= names(found)


def test_a_job_asked_twice_at_once_commits_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who lost sight of a commit asks again while it is under way."""
    found = tables.table(tmp_path)
    spec, message = tables.spec(found), tables.message(found)
    publish, begun, may_go = LocalFiles.publish, threading.Event(), threading.Event()

    def slow(files: LocalFiles, path: str, data: bytes) -> int:
        begun.set()
        assert may_go.wait(60)
        return publish(files, path, data)

    monkeypatch.setattr(LocalFiles, "publish", slow)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(commit.append, found, spec, [message])
        assert begun.wait(60)
        second = pool.submit(commit.append, found, spec, [message])
        may_go.set()
        assert (first.result(60), second.result(60)) == (1, 1)
    assert found.snapshots.latest_id() == 1
